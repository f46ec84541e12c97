//! Neither loses nor doubles a record who is killed in the middle of a dispatch, be it the client or the server.

use super::{DAY, Desk};
use crate::cli::{eventually, unread};
use crate::guard::server::signal;
use evenkeel_core::random::{Random, Seed};
use evenkeel_os::clock::Clock;
use std::time::Duration;

/// Records of a wave: so many that a dispatch takes a while.
const RECORDS: u64 = 12_000;

/// A wave with records of three days: of one whose table is large already, some are like records in it.
fn wave(desk: &Desk, number: u64) {
    let first = number * RECORDS / 2;
    let started = "IF(seq % 1000 = 0, NULL, '2026-08-01' + INTERVAL (seq % 86400) SECOND + INTERVAL (CAST(seq DIV 300 % 3 AS SIGNED) - 1) DAY)";
    desk.load(first + 1, first + RECORDS, started);
}

/// Starts a dispatch and ends `pid`, or the dispatch itself, after a while; whether it had ended by itself before.
fn killed_after(desk: &Desk, after: Duration, server: bool) -> bool {
    let url = desk.url();
    let words = [&desk.words(&url)[..], &["--batch", "2000"]].concat();
    let mut child = unread(&desk.home, &words);
    std::thread::sleep(after);
    let ended = child.try_wait().expect("a child").is_some();
    if server {
        signal("-KILL", desk.server.sandbox.pid());
    } else {
        child.kill().expect("a signal");
    }
    child.wait().expect("an end");
    ended
}

/// The server ends the statement of a client that is gone; it takes a moment.
fn await_no_client(desk: &Desk) {
    eventually("the end of the statement of a client that was killed", || {
        desk.sql("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'app'") == "0"
    });
}

/// Times as many kills as are asked for at most, until one has met a dispatch in its middle.
const PATIENCE: u64 = 8;

/// Kills a dispatch at random moments and audits, so often, and on until a kill has met it in its middle: it had not ended by itself,
/// and the rerun found work that was cut.
fn trial(desk: &mut Desk, kills: u64, server: bool) -> u64 {
    desk.fresh("");
    desk.load(1, RECORDS, DAY);
    desk.dispatch(&[]);
    wave(desk, 1);
    let clock = Clock::start();
    desk.dispatch(&[]);
    // The first wave makes tables, so that later ones may take far less.
    let mut whole = clock.now().as_secs_f64();
    let (mut random, mut in_middle) = (Random::new(Seed(16)), 0);
    for number in 0..kills * PATIENCE {
        if number >= kills && in_middle > 0 {
            break;
        }
        wave(desk, 2 + number);
        let mut was_cut = false;
        for left in (0..=number % 2).rev() {
            let after = Duration::from_secs_f64(whole * random.unit());
            let when = format!("killed after {after:?}, server {server}");
            let had_ended = killed_after(desk, after, server);
            was_cut |= !had_ended;
            whole = if had_ended { whole.min(after.as_secs_f64()) } else { whole };
            if server {
                let up = desk.server.sandbox.restart(&Default::default(), &Default::default(), &mut |_| {});
                up.expect("a server");
            } else {
                await_no_client(desk);
            }
            desk.audit(&when);
            if left == 0 {
                let done = desk.dispatch(&[]);
                let met = was_cut && done["resumed"] == true;
                in_middle += u64::from(met);
                // Kills that come before the middle come later from then on.
                whole *= if was_cut && !met { 1.2 } else { 1.0 };
                desk.audit(&format!("{when}, then run again"));
                assert_eq!(desk.dispatch(&[])["records"], 0, "{when}: nothing is left to do");
            }
        }
    }
    in_middle
}

#[test]
fn a_dispatch_that_is_killed_at_any_moment_neither_loses_nor_doubles() {
    assert!(trial(&mut Desk::up(), 12, false) > 0, "no kill met a dispatch in its middle");
}

#[test]
fn a_dispatch_that_is_interrupted_ends_soon_and_goes_on_when_it_is_run_again() {
    let desk = Desk::up();
    desk.fresh("");
    desk.load(1, RECORDS, DAY);
    // Somebody reads from the source for long, so that nothing is moved before the signal comes.
    let (child, holder) = desk.waiting();
    signal("-INT", child.id() as i32);
    let output = child.wait_with_output().expect("an end");
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    drop(holder);
    await_no_client(&desk);
    desk.dispatch(&[]);
    desk.audit("interrupted");
    let counts = ["calls_20260731", "calls_20260801", "calls"].map(|table| desk.count(table));
    assert_eq!(counts.iter().sum::<u64>(), RECORDS);
}

#[test]
fn a_server_that_is_killed_at_any_moment_neither_loses_nor_doubles() {
    trial(&mut Desk::up(), 6, true);
}
