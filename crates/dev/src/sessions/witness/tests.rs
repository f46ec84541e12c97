//! The rule about checks of accounts: what keeps it and what breaks it, as the witness sees it.

use super::*;
use evenkeel_guard::proxy::Plan;
use evenkeel_os::address::Address;
use evenkeel_os::tls::TlsMode;
use evenkeel_wire::{command, packet};
use std::path::PathBuf;

const OK: &[u8] = b"\x07\0\0\x02\0\0\0\x02\0\0\0";
const CHANGE_TO_ROOT: &[u8] = b"\x11root\0\0shop\0\x2d\0mysql_native_password\0";

fn packet(number: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    packet::put(&mut out, &mut number.clone(), |out| out.extend_from_slice(payload));
    out
}

fn question() -> Vec<u8> {
    let mut out = Vec::new();
    command::query(&mut out, QUESTION);
    out
}

fn account(how: &str) -> Vec<u8> {
    let row = format!("CREATE USER `app`@`%` {how}");
    let row = [&[row.len() as u8][..], row.as_bytes()].concat();
    let end = b"\xfe\0\0\x02\0";
    let packets: [&[u8]; 5] =
        [b"\x01", b"\x03def\0\0\0\x01a\0\x0c\x3f\0\x0b\0\0\0\xfd\0\0\0\0\0", end, &row, end];
    (1..).zip(packets).flat_map(|(number, payload)| packet(number, payload)).collect()
}

/// A witness of a login over a unix socket, up to the server's OK.
fn let_in() -> Witness {
    let plan = Plan::new(Address::Unix(PathBuf::from("/guard")), Address::Unix(PathBuf::from("/model")));
    let mut witness = Witness::new(Terms { plan, tls_offered: false, backend_tls: TlsMode::Disabled });
    let greeting = [
        &b"\x0a10.11.6-model\0\x07\0\0\0abcdefgh\0"[..],
        &[0xfe, 0xf7, 45, 2, 0, 0xff, 0x80, 21, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        b"ijklmnopqrst\0mysql_native_password\0",
    ];
    let capabilities = (1_u32 << 9 | 1 << 15 | 1 << 19).to_le_bytes();
    let hello = [&capabilities[..], &[0, 0, 0, 64, 45], &[0; 23], b"app\0\0mysql_native_password\0"];
    assert_eq!(witness.server_says(&packet(0, &greeting.concat())), 0..0);
    assert_eq!(witness.goes_to_server(&packet(1, &hello.concat())), Ok(()));
    witness.server_says(OK);
    witness
}

/// The same, when the account was looked at.
fn checked() -> Witness {
    let mut witness = let_in();
    assert_eq!(witness.goes_to_server(&question()), Ok(()));
    let answer = account("IDENTIFIED BY ''");
    assert_eq!(witness.server_says(&answer), 0..answer.len());
    assert_eq!(witness.guard_says(OK), Ok(()));
    witness
}

#[test]
fn who_was_checked_is_in() {
    let mut witness = checked();
    assert_eq!(witness.goes_to_server(&packet(0, b"\x03SELECT 1")), Ok(()));
    assert_eq!(witness.server_says(OK), 0..0);
}

#[test]
fn nobody_is_in_before_the_answer() {
    let mut witness = let_in();
    assert!(witness.guard_says(OK).is_err() && witness.guard_says(b"\x03\0\0\x02\xff\x15\x04").is_ok());
    assert!(witness.goes_to_server(&packet(0, b"\x03SELECT 1")).is_err());
    assert_eq!(witness.goes_to_server(&question()), Ok(()));
    assert!(witness.goes_to_server(&question()).is_err());
}

#[test]
fn only_the_server_lets_in() {
    let plan = Plan::new(Address::Unix(PathBuf::from("/guard")), Address::Unix(PathBuf::from("/model")));
    let mut refused = Witness::new(Terms { plan, tls_offered: false, backend_tls: TlsMode::Disabled });
    refused.server_says(&packet(2, b"\xff\x15\x04#28000denied"));
    assert!(refused.guard_says(OK).is_err());
    assert_eq!(refused.guard_says(b"\x03\0\0\x02\xff\x15\x04"), Ok(()));
    // What the server said once, the client hears once.
    assert!(checked().guard_says(OK).is_err());
}

#[test]
fn an_account_of_the_system_is_never_in() {
    let mut witness = let_in();
    assert_eq!(witness.goes_to_server(&question()), Ok(()));
    let answer = account("VIA unix_socket");
    assert_eq!(witness.server_says(&answer), 0..answer.len());
    assert!(witness.guard_says(OK).is_err());
    assert!(witness.goes_to_server(&packet(0, b"\x0e")).is_err());
    assert_eq!(witness.server_says(OK), 0..OK.len());
}

/// What a guard would do that takes the first answer for the one to the change of user: it never asks.
#[test]
fn a_change_of_user_behind_another_command_is_checked_too() {
    let mut witness = checked();
    let pipelined = [packet(0, b"\x02nowhere"), packet(0, CHANGE_TO_ROOT)].concat();
    assert_eq!(witness.goes_to_server(&pipelined), Ok(()));
    assert_eq!(witness.server_says(&packet(1, b"\xff\x19\x04#42000unknown database")), 0..0);
    assert_eq!(witness.goes_to_server(&packet(1, b"junk")), Ok(()));
    // All but its last byte may be out before the rest of it has come.
    assert_eq!(witness.server_says(&OK[..4]), 0..0);
    assert_eq!(witness.server_says(&OK[4..]), OK.len() - 5..OK.len() - 4);
    assert!(witness.goes_to_server(&packet(0, b"\x03SELECT 1")).is_err());
}

#[test]
fn no_command_goes_to_a_server_that_looks_at_a_login() {
    let mut witness = checked();
    let behind = [packet(0, CHANGE_TO_ROOT), packet(0, b"\x03SELECT 1")].concat();
    assert!(witness.goes_to_server(&behind).is_err());
}
