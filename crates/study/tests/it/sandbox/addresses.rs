//! A server whose memory lies at the same addresses at each start.

use super::{spec, up};
use crate::left_out::left_out;
use evenkeel_site::sandbox::{SandboxSpec, Start};
use std::fs;

/// Flags of a process, and where its stack begins.
fn told(pid: i32) -> (String, String) {
    let read = |name: &str| fs::read_to_string(format!("/proc/{pid}/{name}")).unwrap();
    let stack = read("maps").lines().find(|line| line.ends_with("[stack]")).unwrap().to_owned();
    (read("personality").trim().to_owned(), stack.split(' ').next().unwrap().to_owned())
}

#[test]
fn a_server_without_randomised_addresses_has_its_stack_where_it_was() {
    if let Err(why) = Start::NoAslr.check() {
        return left_out(why);
    }
    let home = tempfile::tempdir().unwrap();
    let fixed = SandboxSpec { start: Start::NoAslr, ..spec(home.path(), "a") };
    let first = up(&fixed).unwrap();
    let (flags, stack) = told(first.pid());
    assert_eq!(flags, "00040000");
    first.down(&mut |_| {}).unwrap();
    let second = up(&fixed).unwrap();
    let end = |stack: &str| stack.split('-').nth(1).map(str::to_owned);
    assert_eq!(end(&told(second.pid()).1), end(&stack));
    second.down(&mut |_| {}).unwrap();
    let plain = up(&spec(home.path(), "a")).unwrap();
    assert_eq!(told(plain.pid()).0, "00000000", "what asked whether it may changed nothing here");
}
