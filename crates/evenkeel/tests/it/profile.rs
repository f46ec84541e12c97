//! What a profile does to a server, by what the server counts itself: every request leaves a row. And that a profile ends though its
//! server stands still.

use crate::cli::{ended, piped, words};
use crate::elsewhere::runs;
use crate::guard::proxy::signal;
use crate::guard::server::Server;
use crate::patience::found;
use crate::sandbox::measured;
use serde_json::Value;
use std::thread;
use std::time::Duration;

fn sum(counts: &[Value], name: &str) -> u64 {
    counts.iter().map(|counts| counts[name].as_u64().expect("a count")).sum()
}

fn asking(server: &Server, sql: &str, flags: &str) -> String {
    let file = server.workload("ask", &[("one", sql)]);
    format!("profile {} --workload {file} {flags}", server.url())
}

#[test]
fn a_server_counts_as_many_requests_as_a_profile_says_that_it_answered() {
    let server = Server::up(&[]);
    server.sql("CREATE TABLE shop.asked (id BIGINT PRIMARY KEY AUTO_INCREMENT)");
    let home = server.file("home");
    let flags = "--rate 50,100 --whole-sweep --repeats 2 --duration 2s --warm-up 0s --allow-writes";
    // Too short to be valid on a busy machine, and told in its counts all the same.
    measured(&home, &words(&asking(&server, "INSERT INTO asked (id) VALUES (NULL)", flags)));

    // Also of runs that were set aside.
    let counts: Vec<Value> = runs(&home).iter().map(|run| run["counts"].clone()).collect();
    assert!(counts.len() >= 4, "two rates, two repeats: {counts:?}");
    let (arrivals, completed) = (sum(&counts, "arrivals"), sum(&counts, "completed"));
    assert!(counts.iter().all(|counts| counts["failed"] == Value::Object(Default::default())), "{counts:?}");
    // The server may have done what was given up; what was never sent it has not.
    let given_up = sum(&counts, "timed_out");
    assert_eq!(arrivals, completed + given_up + sum(&counts, "unsent"), "{counts:?}");
    let rows: u64 = server.sql("SELECT COUNT(*) FROM shop.asked").parse().expect("a count");
    assert!(rows >= completed && rows <= completed + given_up, "{rows} rows: {counts:?}");
    assert!(completed > 0, "{counts:?}");
}

#[test]
fn a_signal_ends_a_profile_whose_server_stands_still_before_it_was_asked_anything() {
    let server = Server::up(&[]);
    signal("-STOP", server.sandbox.pid());
    let flags = "--rate 50 --repeats 2 --duration 10m --no-reset --json";
    let line = asking(&server, "SELECT 1", flags);
    // One beside the other: each waits for the same server.
    let both = [("-TERM", 143), ("-INT", 130)];
    let both = both.map(|(sent, code)| (piped(&server.file("home"), &words(&line)), sent, code));
    thread::sleep(Duration::from_secs(2));
    for (mut profile, sent, expected) in both {
        signal(sent, profile.id() as i32);
        found("the end of the profile", || profile.try_wait().expect("a child"));
        let (_, told) = ended(&profile.wait_with_output().expect("an end"), expected);
        assert!(told.contains("stopped"), "{sent}: {told}");
    }
    signal("-CONT", server.sandbox.pid());
    assert_eq!(server.sql("SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'app'"), "0");
}
