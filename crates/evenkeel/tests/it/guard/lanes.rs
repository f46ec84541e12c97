//! Lanes that somebody has chosen, and statements that run away.

use super::client::{Client, MODERN};
use super::operation::{Process, evenkeel};
use super::server::{Proxy, Server, eventually};
use evenkeel_core::Nanos;
use evenkeel_core::gate::Lane;
use std::thread;

const SLOW: &str = "SELECT COUNT(*) FROM item WHERE id = 1 AND SLEEP(0.6) = 0";

/// A guard with these rules, in which nothing moves to the long lane by itself.
fn guard(server: &Server, rules: &str) -> Proxy {
    Proxy::start(server, |plan| {
        plan.lanes = rules.parse().expect("rules");
        plan.runaway_max = Some(Nanos::from_millis(100));
        plan.options.long_min = Nanos::from_secs(3_600);
    })
}

/// The lane in which the last of these statements runs, and its digest.
fn lane(server: &Server, rules: &str, statements: &[&str]) -> (Lane, u64) {
    let proxy = guard(server, rules);
    let found = thread::scope(|scope| {
        let work = scope.spawn(|| {
            let mut client = Client::connect(&proxy.address, MODERN);
            statements.iter().for_each(|sql| drop(client.query(sql)));
        });
        eventually("the statement to be told of", || proxy.guard.stats().runaways.get() == 1);
        let census = proxy.guard.census();
        let running = Lane::ALL.map(|lane| census.lanes[lane as usize].running);
        work.join().expect("it ends");
        if running == [0, 1] { Lane::Long } else { Lane::Short }
    });
    let last = proxy.guard.stats().last_runaway().expect("one was told of");
    assert_eq!((last.user.as_str(), proxy.guard.stats().runaways.get()), ("app", 1));
    assert!(last.thread > 0 && last.lasted >= Nanos::from_millis(100), "{last:?}");
    proxy.stop();
    (found, last.digest)
}

#[test]
fn a_rule_by_user_database_or_digest_or_a_comment_chooses_the_lane() {
    let server = Server::up(&[]);
    let (unruled, digest) = lane(&server, "", &[SLOW]);
    assert_eq!(unruled, Lane::Short);
    let by_digest = format!("digest={digest:016x} long");
    let (long, short) =
        (format!("/* evenkeel: lane=long */ {SLOW}"), format!("{SLOW} /* evenkeel: lane=short */"));
    for (rules, statements, chosen) in [
        ("user=app long", vec![SLOW], Lane::Long),
        ("user=other long, database=other long", vec![SLOW], Lane::Short),
        ("database=shop long", vec!["BEGIN", SLOW], Lane::Long),
        (by_digest.as_str(), vec![SLOW], Lane::Long),
        (by_digest.as_str(), vec!["BEGIN", SLOW], Lane::Long),
        ("", vec![long.as_str()], Lane::Long),
        ("user=app long", vec![short.as_str()], Lane::Short),
    ] {
        assert_eq!(lane(&server, rules, &statements).0, chosen, "{rules}: {statements:?}");
    }
}

#[test]
fn a_runaway_is_told_of_once_also_where_it_only_sleeps() {
    let server = Server::up(&[]);
    let process = Process::start_with(&server, "runaway_max = '300ms'", "", evenkeel);
    let mut client = Client::connect(&process.address, MODERN);
    client.query("SELECT SLEEP(3)");
    eventually("a line of the log", || process.log().contains("event=runaway"));
    client.query("BEGIN");
    thread::sleep(std::time::Duration::from_millis(1_500));
    assert_eq!(process.log().matches("event=runaway").count(), 1, "who is idle is none: {}", process.log());
    let line = process.log().lines().find(|line| line.contains("event=runaway")).map(str::to_owned);
    assert!(line.is_some_and(|line| line.contains("level=warn") && line.contains("user=app")));
}
