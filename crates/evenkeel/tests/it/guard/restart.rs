//! What a guard has found is there after a restart; and what a pool does to see whether it is up waits for nobody.

use super::client::{Client, MODERN, packets};
use super::faults::one;
use super::operation::Process;
use super::server::{Proxy, Server, eventually};
use crate::cli::found;
use evenkeel_wire::relay::Reply;
use std::fs;

/// The number behind `"key":` of a line of JSON.
fn number(text: &str, key: &str) -> Option<u64> {
    let rest = text.split(&format!("\"{key}\":")).nth(1)?;
    rest.split(|sign: char| !sign.is_ascii_digit()).next()?.parse().ok()
}

#[test]
fn the_best_limit_is_kept_across_restarts_and_a_broken_file_is_told_and_left_out() {
    let server = Server::up(&[]);
    let state = server.file("state");
    let keys = format!("state = '{}'\ninitial_limit = 5", state.display());
    let start = || Process::start(&server, &keys);
    let stop = |mut process: Process| {
        process.signal(libc::SIGTERM);
        let status = found("its end", || process.ended());
        assert!(status.success(), "{}", process.log());
        process.log()
    };
    let log = stop(start());
    assert!(log.contains("event=start limit=5") && log.contains("No such file"), "{log}");
    assert!(!state.exists(), "nothing was proven without work");

    let process = start();
    let mut client = Client::connect(&process.address, MODERN);
    client.query("UPDATE item SET stock = 0 WHERE id = 1");
    process.shows("/metrics", "transactions_total{outcome=\"success\"} 1\n");
    drop(client);
    stop(process);
    let kept = fs::read_to_string(&state).expect("a limit was proven");
    assert_eq!(number(&kept, "limit"), Some(5), "{kept}");

    fs::write(&state, kept.replace("\"limit\":5", "\"limit\":37")).unwrap();
    let process = start();
    assert_eq!(process.limit(), 37);
    let log = stop(process);
    assert!(log.contains("event=start limit=37 why=\"it was the best"), "{log}");
    assert!(fs::read_to_string(&state).unwrap().contains("\"limit\":37"), "what was not proven anew stays");

    fs::write(&state, "no such thing").unwrap();
    let process = start();
    assert_eq!(process.limit(), 5);
    let log = stop(process);
    assert_eq!(log.matches("event=start").count(), 1, "{log}");
}

#[test]
fn statements_without_a_table_wait_for_nobody() {
    let server = Server::up(&[]);
    let proxy = Proxy::start(&server, one);
    let mut holder = Client::connect(&proxy.address, MODERN);
    holder.query("BEGIN; SELECT * FROM item WHERE id = 1 FOR UPDATE");
    let mut waiting = Client::connect(&proxy.address, MODERN);
    waiting.send(&packets(0, b"\x03UPDATE item SET stock = 7 WHERE id = 2"));
    eventually("one in the queue", || proxy.guard.census().waiting() == 1);
    let mut pool = Client::connect(&proxy.address, MODERN);
    for text in ["SELECT 1", "SELECT @@version", "SET NAMES utf8mb4", "SET autocommit = 0", "SELECT 2"] {
        assert!(matches!(pool.query(text)[..], [Reply::Result { .. }]), "{text}");
    }
    let census = proxy.guard.census();
    assert_eq!((census.running(), census.waiting()), (1, 1), "they took no place");
    holder.query("COMMIT");
    assert!(matches!(waiting.replies()[..], [Reply::Result { affected: 1, .. }]));
    drop((holder, waiting, pool));
    proxy.becomes_empty();
    proxy.stop();
}
