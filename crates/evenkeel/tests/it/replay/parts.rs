//! A replay that is continued, and two logs at the same time.

use super::{Script, replay};
use crate::cli::refused;
use crate::guard::server::Server;
use crate::sandbox::done;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;

fn field(line: &str, place: usize) -> &str {
    line.split(',').nth(place).expect("a field")
}

#[test]
fn a_replay_that_was_killed_goes_on_where_it_was_with_what_its_session_had_set() {
    let server = Server::up(&[]);
    server.sql("CREATE TABLE shop.t (a INT PRIMARY KEY); INSERT INTO shop.t VALUES (1), (2)");
    let script = Script::new().opens(1).says(1, (0, 1), "/* app */ SET @step = 3");
    // A client says the types of parameters once.
    let first = b"\x17\x09\0\0\0\0\x01\0\0\0\0\x01\x03\0\x02\0\0\0";
    let later = b"\x17\x09\0\0\0\0\x01\0\0\0\0\0\x01\0\0\0";
    let script = script.asks(1, (0, 1), b"\x16SELECT a, ? FROM t", Some(9)).asks(1, (0, 1), first, None);
    let script = (1..18).fold(script, |script, n| {
        script.says(1, (n, n + 1), &format!("SELECT a + @step, {n} FROM t WHERE a < 9"))
    });
    let script = script.asks(1, (18, 19), later, None);
    let (whole, lines) = replay(&server, &script, &[]);
    // As a kill leaves it: the last line is torn.
    let path = server.file("lines.csv");
    let text = fs::read_to_string(&path).expect("lines");
    let cut: String = text.lines().take(9).map(|line| line.to_owned() + "\n").collect();
    fs::write(&path, cut + "0.001,8,1,0,ab").expect("a file");

    assert_eq!(
        whole["comparison"]["lines"].as_array().map(|lines| lines.iter().any(|line| line["failed"] != 0)),
        Some(false),
        "{whole}"
    );
    let (found, continued) = replay(&server, &script, &["--resume"]);
    assert_eq!((&found["earlier"], &found["sent"]), (&8.into(), &21.into()), "{found}");
    assert_eq!(found["comparison"]["executions"], whole["comparison"]["executions"], "{found}");
    let answers = |lines: &[String]| -> BTreeSet<(String, String)> {
        lines.iter().map(|line| (field(line, 1).to_owned(), field(line, 13).to_owned())).collect()
    };
    assert_eq!((continued.len(), answers(&continued)), (lines.len(), answers(&lines)));
    let log = server.file("load.capture");
    let other = Script::new().opens(5).says(5, (0, 1), "SELECT 1");
    fs::write(&log, &other.0).expect("a file");
    let url = server.url();
    let words = ["replay", log.to_str().expect("a path"), &url, "--resume", "--csv"];
    let said = refused(server.home.path(), &[&words[..], &[path.to_str().expect("a path")]].concat());
    assert!(said.contains("was written for another log"), "{said}");
}

#[test]
fn of_two_logs_every_other_client_sends_the_second_one() {
    let server = Server::up(&[]);
    let reads = |session, sql: &str| {
        (0..3).fold(Script::new().opens(session), |script, n| script.says(session, (n, n + 1), sql))
    };
    let other = server.file("other.capture");
    fs::write(&other, &reads(2, "SELECT 2").0).expect("a file");
    let flags = ["--mix", other.to_str().expect("a path"), "--clients", "3", "--pace", "flat"];
    let (found, lines) = replay(&server, &reads(1, "SELECT 1"), &flags);
    assert_eq!((&found["commands"], &found["sent"]), (&9.into(), &9.into()), "{found}");
    let sent = |line: &String| (field(line, 3).to_owned(), field(line, 2).to_owned());
    let by_client: BTreeSet<(String, String)> = lines.iter().map(sent).collect();
    let expected = [("0", "1"), ("1", "2"), ("2", "1")].map(|(one, two)| (one.to_owned(), two.to_owned()));
    assert_eq!(by_client, BTreeSet::from(expected), "{lines:?}");
    let log = server.file("load.capture");
    let url = server.url();
    let words = ["--quiet", "replay", log.to_str().expect("a path"), &url, "--mix", flags[1], "--json"];
    let found: Value = serde_json::from_str(&done(server.home.path(), &words)).expect("JSON");
    assert_eq!(found["sent"], 6, "as recorded, both at the same time: {found}");
}
