//! Who waits, and how a wait ends.

use std::io::Write;
use std::process::{Child, Stdio};

use crate::server::{LONG, Server, said, timed};
use std::time::Duration;

#[test]
fn a_killed_wait_ends_with_1317_and_nothing_was_read_or_changed() {
    let server = Server::start("kill");
    server.root("CREATE PROCEDURE d.p() UPDATE d.t SET v = 99 WHERE id = 3");
    let before = server.root("SELECT GROUP_CONCAT(v ORDER BY id) FROM d.t");
    let busy = server.occupied();
    let waiters: Vec<_> = [
        "UPDATE t SET v = 99 WHERE id = 1",
        "CREATE TABLE made (a INT)",
        "ALTER TABLE t ADD COLUMN more INT",
        "SET @a = (SELECT v FROM t WHERE id = 1)",
        "CALL p()",
        "INSERT INTO t VALUES (9, 9)",
        "DELETE FROM t",
        "TRUNCATE t",
        "SELECT SUM(v) FROM t",
        "EXECUTE IMMEDIATE 'UPDATE t SET v = 98 WHERE id = 2'",
        "PREPARE s FROM 'UPDATE t SET v = 97'",
    ]
    .into_iter()
    .map(|sql| (sql, server.app(&format!("{LONG}{sql}"))))
    .collect();
    server.until("all to wait", || server.waiting().len() == waiters.len());
    let ids = server.waiting();
    ids.iter().for_each(|id| drop(server.root(&format!("KILL QUERY {id}"))));
    let (ended, lasted) =
        timed(|| waiters.into_iter().map(|(sql, child)| (sql, said(child))).collect::<Vec<_>>());
    for (sql, (out, error)) in ended {
        assert!(error.contains("ERROR 1317") && out.is_empty(), "{sql}: {out} {error}");
    }
    assert!(lasted < Duration::from_secs(5));
    assert_eq!(server.root("SELECT GROUP_CONCAT(v ORDER BY id) FROM d.t"), before);
    assert_eq!(server.root("SHOW TABLES FROM d"), "other\nt");
    server.clear();
    said(busy);
}

#[test]
fn a_crowd_of_what_turns_out_to_be_long_while_it_waits_does_not_run_all_at_once() {
    let server = Server::start("crowd");
    server.root("SET GLOBAL evenkeel_mode = '2'; SET GLOBAL evenkeel_long_limit = 2");
    let crowd: Vec<_> =
        (0..16).map(|_| server.app("SELECT BENCHMARK(1000000000, MD5(v)) FROM t WHERE id = 1")).collect();
    // Two began unknown, and some more came in before these had proved to be long.
    server.until("most of the crowd to wait for the long lane", || {
        server.status("long_waiting").parse::<u32>().is_ok_and(|waiting| waiting >= 8)
    });
    server.clear();
    crowd.into_iter().for_each(|client| drop(said(client)));
}

#[test]
fn who_waits_longer_than_allowed_is_refused_with_the_code_of_the_users_choice() {
    let server = Server::start("refuse");
    let busy = server.occupied();
    server.root("SET GLOBAL evenkeel_max_wait_ms = 100; SET GLOBAL evenkeel_refusal = 1226");
    let (out, error) = said(server.app(&format!("{LONG}UPDATE t SET v = 99")));
    assert!(error.contains("ERROR 1226") && error.contains("evenkeel: waited"), "{out} {error}");
    assert_eq!(server.root("SELECT MAX(v) FROM d.t"), "3");
    assert_eq!(server.status("refused"), "1");
    server.clear();
    said(busy);
}

#[test]
fn administrators_and_what_reads_no_table_do_not_wait() {
    let server = Server::start("pass");
    let busy = server.occupied();
    assert_eq!(server.root(&format!("{LONG}SELECT v FROM d.t WHERE id = 1")), "1");
    for sql in ["SELECT 1", "SET NAMES utf8mb4", "USE d", "SHOW STATUS LIKE 'Uptime'", "SELECT NOW()"] {
        let (_, error) = said(server.app(&format!("{LONG}{sql}")));
        assert_eq!(error, "", "{sql}");
    }
    let waiter = server.app(&format!("{LONG}SELECT v FROM t"));
    server.until("it to wait", || server.waiting().len() == 1);
    server.root("SET GLOBAL evenkeel_administrators = 'root,app'");
    assert_eq!(said(server.app(&format!("{LONG}SELECT v FROM t WHERE id = 2"))).0, "2");
    server.clear();
    said(waiter);
    said(busy);
}

#[test]
fn statements_of_routines_triggers_and_events_do_not_wait() {
    let server = Server::start("routines");
    // It has the only place, for which its own statements would wait.
    let inner = "/* evenkeel: lane=long */ UPDATE d.t SET v = 20 WHERE id = 2";
    server.root(&format!(
        "CREATE TABLE d.seen (a INT); CREATE PROCEDURE d.p() {inner}; CREATE TRIGGER d.r AFTER UPDATE ON d.t FOR EACH ROW \
         INSERT INTO d.seen VALUES (NEW.v)"
    ));
    assert_eq!(said(server.app(&format!("{LONG}CALL p()"))).1, "");
    assert_eq!(server.root("SELECT a FROM d.seen"), "20");
    let busy = server.occupied();
    // The event's statements come in the account of its definer, and by no client.
    server.root("CREATE DEFINER = app@localhost EVENT d.e ON SCHEDULE AT NOW() DO /* evenkeel: lane=long */ INSERT INTO d.seen VALUES (1)");
    server.until("the event", || server.root("SELECT COUNT(*) FROM d.seen") == "2");
    server.clear();
    said(busy);
}

/// One statement is counted, though its trigger has as many as rows, and none of these waits while it holds rows.
pub fn triggers(server: &Server) {
    server.clear();
    server.root(
        "CREATE TABLE d.log (a INT); CREATE TRIGGER d.l AFTER UPDATE ON d.t FOR EACH ROW INSERT INTO d.log VALUES (NEW.v); \
         CREATE PROCEDURE d.once() UPDATE d.t SET v = v + 1",
    );
    let statements = ["UPDATE t SET v = v + 1", "CALL once()", "EXECUTE IMMEDIATE 'UPDATE t SET v = v + 1'"];
    let known = if server.root("SELECT VERSION()").contains("MariaDB") { 3 } else { 2 };
    for sql in &statements[..known] {
        server.root("TRUNCATE d.log");
        let count = || server.status("completed").parse::<u64>().expect("a number");
        let before = count();
        assert_eq!(said(server.app(sql)).1, "");
        server.until("it to be counted", || count() > before);
        crate::server::pause(200);
        assert_eq!((count() - before, server.root("SELECT COUNT(*) FROM d.log").as_str()), (1, "3"), "{sql}");
    }
    server.root("DROP TRIGGER d.l; DROP PROCEDURE d.once; DROP TABLE d.log; UPDATE d.t SET v = id");
}

#[test]
fn triggers_and_routines_belong_to_the_statement_that_they_run_in() {
    triggers(&Server::start("triggers"));
}

#[test]
fn a_watching_gate_counts_who_would_wait_and_off_does_nothing() {
    let server = Server::start("watch");
    server.root("SET GLOBAL evenkeel_mode = 'watch'");
    let busy = server.occupied();
    assert_eq!(said(server.app(&format!("{LONG}SELECT v FROM t WHERE id = 1"))).0, "1");
    server.until("the count", || server.status("would_wait") != "0");
    server.root("SET GLOBAL evenkeel_mode = 'off'");
    let count = server.status("completed");
    assert_eq!(said(server.app(&format!("{LONG}SELECT v FROM t WHERE id = 1"))).0, "1");
    assert_eq!(server.status("completed"), count);
    server.clear();
    said(busy);
}

/// A client that counts up a row of its own until it is killed.
fn counts(server: &Server, row: u32) -> Child {
    let mut client = server.client("app").stdin(Stdio::piped()).spawn().expect("a client");
    let mut input = client.stdin.take().expect("its input");
    let line = format!("UPDATE own SET v = v + 1 WHERE id = {row};\n").repeat(100);
    std::thread::spawn(move || while input.write_all(line.as_bytes()).is_ok() {});
    client
}

#[test]
fn busy_sessions_go_on_for_a_quantum_and_nobody_is_left_out() {
    let server = Server::start("quantum");
    server.root(
        "CREATE TABLE d.own (id INT PRIMARY KEY, v INT); INSERT INTO d.own SELECT seq, 0 FROM d.seq_1_to_8",
    );
    server.root("SET GLOBAL evenkeel_mode = '1'");
    let clients: Vec<_> = (1..=8).map(|row| counts(&server, row)).collect();
    let least = || server.root("SELECT MIN(v) FROM d.own").parse::<u64>().unwrap();
    server.until("all to count", || least() >= 1_000);
    let number = |name: &str| server.status(name).parse::<u64>().unwrap();
    let (completed, waits) = (number("completed"), number("waits"));
    server.clear();
    clients.into_iter().for_each(|mut client| drop(client.wait()));
    assert!(
        waits * 3 < completed * 2,
        "{waits} waits for {completed} transactions: places were handed on each time"
    );
}
