//! A recorded load is sent again, as a user does.

mod capture;
mod parts;

use crate::cli::{ends, refused};
use crate::guard::server::Server;
use crate::sandbox::done;
use evenkeel_wire::capture::{Answer, Asked, MAGIC, Opened, Record};
use serde_json::Value;
use std::fs;

const SECOND: u64 = 1_000_000_000;

/// Writes a recording by hand.
struct Script(Vec<u8>);

impl Script {
    fn new() -> Self {
        let head =
            r#"{"source":"guard","server":{"host":"elsewhere","port":3306},"began":0,"redacted":false}"#;
        Self([&MAGIC[..], head.as_bytes(), b"\n"].concat())
    }

    fn opens(mut self, session: u64) -> Self {
        let opened = Opened { session, at: 0, user: b"app", database: b"shop", is_late: false };
        Record::Opened(opened).write(&mut self.0);
        self
    }

    /// A command from and until so many milliseconds; its answer may name a prepared statement.
    fn asks(mut self, session: u64, (from, to): (u64, u64), command: &[u8], statement: Option<u32>) -> Self {
        let at = |ms: u64| SECOND + ms * SECOND / 1_000;
        let answer = Answer { statement, ..Answer::default() };
        Record::Asked(Asked { session, start: at(from), end: Some(at(to)), command, answer })
            .write(&mut self.0);
        self
    }

    fn says(self, session: u64, when: (u64, u64), sql: &str) -> Self {
        self.asks(session, when, &[b"\x03", sql.as_bytes()].concat(), None)
    }
}

fn replay(server: &Server, script: &Script, more: &[&str]) -> (Value, Vec<String>) {
    let (log, lines) = (server.file("load.capture"), server.file("lines.csv"));
    if !more.contains(&"--resume") {
        let _ = fs::remove_file(&lines);
    }
    fs::write(&log, &script.0).expect("a file");
    let url = server.url();
    let words = [
        &["--quiet", "replay", log.to_str().expect("a path"), &url, "--json", "--csv"][..],
        &[lines.to_str().expect("a path")],
        more,
    ];
    let found = serde_json::from_str(&done(server.home.path(), &words.concat())).expect("JSON");
    let lines = fs::read_to_string(&lines).expect("lines");
    (found, lines.lines().skip(1).map(str::to_owned).collect())
}

/// One session changes what another one reads between its changes, half of it by a prepared statement.
fn script() -> Script {
    // Number 9 at the recorded server, one integer.
    let execute =
        |value: i32| [&b"\x17\x09\0\0\0\0\x01\0\0\0\0\x01\x03\0"[..], &value.to_le_bytes()].concat();
    Script::new()
        .opens(1)
        .opens(2)
        .asks(1, (0, 1), b"\x16UPDATE t SET b = ? WHERE a = 1", Some(9))
        .asks(1, (10, 100), &execute(7), None)
        .says(2, (110, 111), "SELECT b FROM t WHERE a = 1 AND b = 7")
        .says(1, (120, 200), "UPDATE t SET b = 8, c = SLEEP(0.3) WHERE a = 1")
        .says(2, (210, 211), "SELECT b FROM t WHERE a = 1 AND b = 8")
        .says(1, (220, 221), "INSERT INTO t VALUES (1, 1, 1)")
}

#[test]
fn a_recording_is_sent_in_order_to_a_server_that_may_be_written_to() {
    let server = Server::up(&[]);
    server.sql("CREATE TABLE shop.t (a INT PRIMARY KEY, b INT, c INT); INSERT INTO shop.t VALUES (1, 1, 0)");
    let host = server.sql("SELECT @@hostname");
    let flags = ["--allow-writes", "--order", "--pace", "10x", "--staging", host.trim()];
    let (found, lines) = replay(&server, &script(), &flags);
    assert_eq!(found["sent"], 6, "{found}");
    assert_eq!(found["out_of_order"], 0, "{found}");
    assert_eq!(server.sql("SELECT b FROM shop.t").trim(), "8");
    let reads: Vec<&String> = lines.iter().filter(|line| line.split(',').nth(2) == Some("2")).collect();
    assert!(
        reads.iter().all(|line| line.split(',').nth(8) == Some("1")),
        "each read found its row: {lines:?}"
    );
    assert_eq!(lines.iter().filter(|line| line.split(',').nth(12) == Some("1062")).count(), 1, "{lines:?}");
}

#[test]
fn without_leave_nothing_is_written() {
    let server = Server::up(&[]);
    server.sql("CREATE TABLE shop.t (a INT PRIMARY KEY, b INT, c INT); INSERT INTO shop.t VALUES (1, 1, 0)");
    let (found, _) = replay(&server, &script(), &["--pace", "flat"]);
    assert_eq!((&found["writes_not_sent"], &found["sent"]), (&3.into(), &3.into()), "{found}");
    assert_eq!(server.sql("SELECT COUNT(*), SUM(b) FROM shop.t").trim(), "1\t1");
    let log = server.file("load.capture");
    let url = server.url();
    let words = ["replay", log.to_str().expect("a path"), &url, "--allow-writes"];
    let said = refused(server.home.path(), &words);
    assert!(said.contains("--staging"), "{said}");
}

#[test]
fn of_two_servers_what_one_answers_otherwise_is_named_and_ends_with_1() {
    let servers = [Server::up(&[]), Server::up(&[("default_time_zone", "+05:30")])];
    for server in &servers {
        server
            .sql("CREATE TABLE shop.t (a INT PRIMARY KEY, b INT); INSERT INTO shop.t VALUES (1, 1), (2, 2)");
    }
    servers[1].sql("UPDATE shop.t SET b = 3 WHERE a = 2");
    let says = |script: Script, n: u64| {
        let script = script.says(1, (n, n + 1), "SELECT b FROM t WHERE a = 1 AND 1 = 1").says(
            1,
            (n, n + 1),
            "SELECT SUM(b) FROM t",
        );
        let script = script.says(1, (n, n + 1), "SELECT UUID(), b FROM t WHERE a = 1");
        script.says(1, (n, n + 1), "SELECT FROM_UNIXTIME(86400)")
    };
    let script = (0..20).map(|n| 10 * n).fold(Script::new().opens(1), says);
    let log = servers[0].file("load.capture");
    fs::write(&log, &script.0).expect("a file");
    let urls = servers.each_ref().map(Server::url);
    let words = ["--quiet", "replay", log.to_str().expect("a path"), &urls[0], &urls[1], "--pace", "flat"];
    let said = ends(servers[0].home.path(), &words, 1);
    let said = said.replace('\n', " ");
    assert!(said.contains("answers 1 of 4 statements differently"), "{said}");
    assert!(said.contains("SELECT SUM(b) FROM t gives different values"), "{said}");
    assert!(said.contains("differ in time_zone") && said.contains("not compared, set aside: 20"), "{said}");
}

#[test]
fn a_log_is_checked_without_a_server_and_nothing_of_it_is_left_behind() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let log = home.path().join("app.log");
    let lines = [
        "261201  0:03:47\t     7 Connect\tapp@localhost on shop using Socket",
        "\t\t     7 Query\tSELECT *\n  FROM item",
        "\t\t     7 Query\tEXECUTE s USING @a",
        "\t\t     7 Execute\tUPDATE item SET stock = 1",
        "\t\t     7 Quit\t\n",
    ];
    fs::write(&log, lines.join("\n")).expect("a log");
    let path = log.to_str().expect("a path");
    let found = done(home.path(), &["replay", path, "--check", "--json"]);
    let found: Value = serde_json::from_str(&found).expect("JSON");
    assert_eq!(found["statements"], 2, "{found}");
    assert_eq!((&found["sent_by_default"], &found["late_sessions"]), (&1.into(), &0.into()), "{found}");
    let said = done(home.path(), &["replay", path, "--check"]);
    for words in
        ["general log", "to the second, over which", "shop", "1 prepare or name", "2; at most 1 are sent"]
    {
        assert!(said.contains(words), "no {words:?} in\n{said}");
    }
    let names: Vec<_> =
        fs::read_dir(home.path()).expect("a folder").flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(names, ["app.log"]);

    fs::write(&log, b"\x1f\x8b\x08").expect("a file");
    assert!(refused(home.path(), &["replay", path, "--check"]).contains("zcat"));
    fs::write(&log, b"\x7fELF;\n").expect("a file");
    assert!(
        refused(home.path(), &["replay", path, "--check"])
            .contains("not a capture, general log, slow log or SQL")
    );
}

#[test]
fn a_connection_that_is_lost_is_made_anew_and_counted() {
    let server = Server::up(&[]);
    let host = server.sql("SELECT @@hostname");
    let execute = [&b"\x17\x09\0\0\0\0\x01\0\0\0\0\x01\x03\0"[..], &7_i32.to_le_bytes()].concat();
    let script = Script::new()
        .opens(1)
        .asks(1, (0, 1), b"\x16SELECT ? + 1", Some(9))
        .says(1, (10, 11), "KILL CONNECTION_ID()")
        // The server has hung up, as the first command behind it hears.
        .says(1, (20, 21), "SELECT 1")
        .asks(1, (30, 31), &execute, None);
    let (found, lines) =
        replay(&server, &script, &["--allow-writes", "--pace", "flat", "--staging", host.trim()]);
    assert_eq!((&found["sent"], &found["lost_connections"]), (&4.into(), &1.into()), "{found}");
    let rows = lines.last().and_then(|line| line.split(',').nth(8));
    assert_eq!(rows, Some("1"), "it was prepared again: {lines:?}");
}

#[test]
fn a_function_that_writes_is_not_called_though_the_session_asks_to_write() {
    let server = Server::up(&[]);
    server.sql(
        "CREATE TABLE shop.t (a INT);\nDELIMITER //\nCREATE FUNCTION shop.f() RETURNS INT MODIFIES SQL DATA \
         BEGIN INSERT INTO shop.t VALUES (1); RETURN 1; END//
CREATE VIEW shop.v AS SELECT shop.f()//",
    );
    let script = Script::new()
        .opens(1)
        .says(1, (0, 1), "SET SESSION TRANSACTION READ WRITE")
        .says(1, (1, 2), "SET tx_read_only = 0")
        .says(1, (2, 3), "SELECT f()")
        .says(1, (3, 4), "SELECT * FROM v");
    let (found, _) = replay(&server, &script, &["--pace", "flat"]);
    assert!(found["writes_not_sent"].as_u64() >= Some(1), "{found}");
    assert_eq!(found["comparison"]["lines"][0]["failed"], 1, "the view is refused: {found}");
    assert_eq!(server.sql("SELECT COUNT(*) FROM shop.t").trim(), "0");
}
