//! A table that others have locked: whoever waits for it is told so.

use super::server::{Server, borrowed};
use crate::cli::command;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

#[test]
fn a_load_that_waits_for_somebody_elses_lock_says_so_and_goes_on_once_that_is_gone() {
    let server = Server::up(&[]);
    server.generate("calls", 1_000, "none");
    server.load("calls", &["calls"], &[]);
    server.generate_from("more", 1_000, 2_001);
    let mut other = server.control();
    other.exec("LOCK TABLES calls READ").expect("a lock");
    let words = server.words("calls", &["more"], &[]);
    let mut load = command(server.home(), &borrowed(&words));
    let mut load = load.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
    let told = BufReader::new(load.stderr.take().expect("a pipe")).lines().map_while(Result::ok);
    let mut told = told.skip_while(|line| !line.contains("waits for another client"));
    let waits = told.next().expect("a word about the lock");
    assert!(waits.contains("metadata lock") && waits.contains("SHOW FULL PROCESSLIST"), "{waits}");
    other.exec("UNLOCK TABLES").expect("no lock any more");
    let rest: Vec<String> = told.collect();
    assert!(load.wait().expect("an end").success(), "{rest:?}");
    assert_eq!(server.count("calls"), 2_000);
}
