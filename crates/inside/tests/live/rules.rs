//! Rules that choose a lane, and statements that run away.

use crate::server::{Server, pause, said};
use std::io::Write;
use std::process::Stdio;

const READ: &str = "SELECT v FROM t WHERE id = 1";
/// Lasts for as many seconds.
fn sleeps(seconds: &str) -> String {
    format!("SELECT COUNT(*) FROM t WHERE id = 1 AND SLEEP({seconds}) = 0")
}

fn set_rules(server: &Server, rules: &str) {
    server.root(&format!("SET GLOBAL evenkeel_lanes = '{rules}'"));
}

/// With these rules, and the only long place taken: whether the statement waits for it.
fn waits(server: &Server, rules: &str, sql: &str) -> bool {
    set_rules(server, rules);
    let mut client = server.app(sql);
    let mut ended = false;
    server.until("it to wait or end", || {
        ended = client.try_wait().expect("a child").is_some();
        ended || server.status("long_waiting") == "1"
    });
    server.waiting().iter().for_each(|id| drop(server.root(&format!("KILL QUERY {id}"))));
    let (_, error) = said(client);
    assert_eq!(error.contains("ERROR 1317"), !ended, "{rules}: {error}");
    !ended
}

/// The digest that `guard top` shows of it.
fn digest(server: &Server, sql: &str) -> String {
    let slow = server.app(sql);
    server
        .until("it to be the oldest", || server.status("oldest_ms").parse::<u64>().expect("a number") > 300);
    let digest = server.status("oldest_digest");
    said(slow);
    digest
}

/// Nobody else is at the server.
pub fn lanes(server: &Server) {
    server.clear();
    let digest = digest(server, &sleeps("1"));
    let busy = server.occupied();
    let names_databases = server.root("SELECT VERSION()").contains("MariaDB");
    for (rules, sql, long) in [
        ("", READ, false),
        ("user=app long", READ, true),
        ("user=other long, database=e long", READ, false),
        ("database=d long", READ, true),
        ("database=d short, user=app long", READ, false),
        ("user=app long", "/* evenkeel: lane=short */ SELECT v FROM t WHERE id = 1", false),
        ("user=app short", "/* evenkeel: lane=long */ SELECT v FROM t WHERE id = 1", true),
    ] {
        if rules.contains("database=") && !names_databases {
            let error = server.refused(&format!("SET GLOBAL evenkeel_lanes = '{rules}'"));
            assert!(error.contains("MySQL does not tell plugins the default database"), "{error}");
            continue;
        }
        assert_eq!(waits(server, rules, sql), long, "{rules}: {sql}");
    }
    assert!(waits(server, &format!("digest={digest} long"), &sleeps("0")));
    assert!(!waits(server, &format!("digest={digest} long"), READ));
    let error = server.refused("SET GLOBAL evenkeel_lanes = 'user=app long, host=db1 long'");
    assert!(error.contains("rule 2 is \"host=db1 long\", and must be user=NAME"), "{error}");
    let kept = server.root("SELECT @@GLOBAL.evenkeel_lanes");
    assert_eq!(kept, format!("digest={digest} long"), "the rules from before hold on");
    set_rules(server, "");
    server.clear();
    said(busy);
}

fn bound(server: &Server, act: &str, milliseconds: u32) {
    server.root(&format!(
        "SET GLOBAL evenkeel_runaway = '{act}'; SET GLOBAL evenkeel_runaway_ms = {milliseconds}"
    ));
}

/// Nobody else is at the server.
pub fn runaways(server: &Server) {
    let count = || server.status("runaways").parse::<u64>().expect("a number");
    let before = count();
    bound(server, "warn", 300);
    assert_eq!(said(server.app(&format!("{}; {READ}", sleeps("1")))), ("1\n1".to_owned(), String::new()));
    assert_eq!(count(), before + 1);
    let line = server.log().pop().expect("a line");
    assert!(line.contains("user \"app\", thread ") && line.contains(", runs for 0.3 s"), "{line}");
    if server.mysql {
        let error = server.refused("SET GLOBAL evenkeel_runaway = 'kill'");
        assert!(error.contains("use max_execution_time"), "{error}");
    } else {
        pause(1_000);
        bound(server, "kill", 300);
        let mut client = server.client("app").arg("--force").stdin(Stdio::piped()).spawn().expect("a client");
        let input = client.stdin.as_mut().expect("its input");
        input.write_all(format!("{};\n{READ};\n", sleeps("30")).as_bytes()).expect("it reads");
        let (out, error) = said(client);
        assert!(error.contains("ERROR 1317") && out == "1", "the session goes on: {out} {error}");
        assert_eq!(count(), before + 2);
        let line = server.log().pop().expect("a line");
        assert!(line.contains("was killed by KILL QUERY, having run for 0.3 s"), "{line}");
    }
    bound(server, "warn", 0);
    said(server.app(&sleeps("1")));
    assert_eq!(count(), before + 1 + u64::from(!server.mysql), "0 is no bound");
}

#[test]
fn a_rule_by_user_database_or_digest_chooses_the_lane() {
    lanes(&Server::start("lanes"));
}

#[test]
fn rules_reach_sessions_that_are_connected_already() {
    let server = Server::start("connected");
    let mut client = server.client("app").stdin(Stdio::piped()).spawn().expect("a client");
    let mut say = |sql: &str| {
        let input = client.stdin.as_mut().expect("its input");
        input.write_all(format!("{sql};\n").as_bytes()).expect("it reads");
    };
    say("UPDATE t SET v = 9 WHERE id = 2");
    server.until("it to be done", || server.root("SELECT v FROM d.t WHERE id = 2") == "9");
    let busy = server.occupied();
    set_rules(&server, "user=app long");
    say("UPDATE t SET v = 10 WHERE id = 2");
    server.until("it to wait", || server.status("long_waiting") == "1");
    server.clear();
    said(client);
    said(busy);
}

#[test]
fn a_rule_for_the_first_statement_behind_begin_moves_the_transaction() {
    let server = Server::start("begun");
    let digest = digest(&server, &sleeps("1"));
    let transactions = format!("BEGIN; {}; COMMIT; ", sleeps("0.15")).repeat(20);
    for (rules, long) in [(String::new(), "0"), (format!("digest={digest} long"), "1")] {
        set_rules(&server, &rules);
        let mut client = server.app(&transactions);
        let mut seen = "0".to_owned();
        while client.try_wait().expect("a child").is_none() {
            seen = seen.max(server.status("long_running"));
        }
        assert_eq!((seen.as_str(), said(client).1.as_str()), (long, ""), "{rules}");
    }
}

#[test]
fn a_runaway_is_told_or_killed_and_its_session_goes_on() {
    runaways(&Server::start("runaways"));
}

#[test]
fn a_wait_for_a_lock_counts_and_the_lock_is_given_back() {
    let server = Server::start("locked");
    bound(&server, "kill", 500);
    let mut holder = server.client("app").stdin(Stdio::piped()).spawn().expect("a client");
    let input = holder.stdin.as_mut().expect("its input");
    input.write_all(b"BEGIN; UPDATE t SET v = 9 WHERE id = 1;\n").expect("it reads");
    server.until("it to be idle", || server.status("aside") == "1");
    let (_, error) = said(server.app("UPDATE t SET v = 8 WHERE id = 1"));
    assert!(error.contains("ERROR 1317"), "{error}");
    assert_eq!(server.status("runaways"), "1", "who is idle is none");
    drop(holder.stdin.take());
    said(holder);
    assert_eq!(said(server.app("UPDATE t SET v = 7 WHERE id = 1")).1, "");
}

#[test]
fn administrators_events_and_those_who_wait_are_no_runaways() {
    let server = Server::start("spared");
    let busy = server.occupied();
    bound(&server, "kill", 300);
    server.until("the one that is busy to be killed", || server.status("runaways") == "1");
    said(busy);
    server.root("CREATE TABLE d.seen (a INT)");
    server.root("CREATE DEFINER = app@localhost EVENT d.e ON SCHEDULE AT NOW() DO INSERT INTO d.seen SELECT SLEEP(1) FROM d.other RIGHT JOIN d.t ON 1 WHERE id = 1");
    assert_eq!(server.root("SELECT COUNT(*) FROM d.t WHERE id = 1 AND SLEEP(1) = 0"), "1");
    server.until("the event", || server.root("SELECT COUNT(*) FROM d.seen") == "1");
    assert_eq!(server.status("runaways"), "1");
    bound(&server, "kill", 60_000);
    let busy = server.occupied();
    let waiter = server.app("/* evenkeel: lane=long */ UPDATE t SET v = v WHERE id = 1");
    server.until("it to wait", || server.waiting().len() == 1);
    pause(1_000);
    bound(&server, "kill", 900);
    server.until("only the one that is busy to be killed", || server.status("runaways") == "2");
    assert_eq!(said(waiter).1, "");
    said(busy);
}
