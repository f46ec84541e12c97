//! What a profile does to a server, by what the server counts itself, and how profiles and loads end whose server stands still, never
//! answers, or refuses.

use crate::cli::{ended, ends, evenkeel, found, piped, text, unread, words};
use crate::elsewhere::runs;
use crate::guard::server::{Server, signal};
use crate::sandbox::{Home, done, measured};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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

/// A statement that never gets to the server.
const LOST: &str = "SHOW GLOBAL VARIABLES";

/// Passes bytes on until the statement `lost` comes, and says that it came; the connection stays open.
fn pass(mut from: TcpStream, mut to: TcpStream, lost: &str, came: &AtomicBool) {
    let mut bytes = [0; 16 << 10];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if bytes[..count].windows(lost.len()).any(|window| window == lost.as_bytes()) {
            came.store(true, Ordering::Relaxed);
        } else if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}

/// An address by which a server is reached, but for that statement.
fn way(server: String, lost: &'static str, came: &Arc<AtomicBool>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address").to_string();
    let came = Arc::clone(came);
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let Ok(server) = TcpStream::connect(&server) else { return };
            let (asks, answers) = (client.try_clone().expect("it"), server.try_clone().expect("it"));
            let (one, other) = (Arc::clone(&came), Arc::clone(&came));
            thread::spawn(move || pass(asks, server, lost, &one));
            thread::spawn(move || pass(answers, client, lost, &other));
        }
    });
    address
}

#[test]
fn a_load_ends_at_sigterm_while_the_server_says_nothing_to_its_own_connection() {
    let server = Server::up(&[]);
    let workload = server.workload("one", &[("one", "SELECT 1")]);
    let came = Arc::new(AtomicBool::new(false));
    let url = format!("mysql://app@{}/shop", way(server.address(), LOST, &came));
    let mut load = unread(&server.file("home"), &["load", &url, "--rate", "10", "--workload", &workload]);
    found("the statement", || came.load(Ordering::Relaxed).then_some(()));
    signal("-TERM", load.id() as i32);
    let status = found("the end of the load", || load.try_wait().expect("a child"));
    assert_eq!(status.code(), Some(143), "{status}");
}

/// What a load says, as text and JSON, whose statement is not answered, or too late.
fn unanswered(server: &Server, url: &str, sql: &str) -> (String, Value) {
    let workload = server.workload("late", &[("late", sql)]);
    let flags = words("--rate 40 --timeout 200ms --duration 4s --warm-up 200ms --max-sessions 4");
    let load = [&["load", url, "--workload", &workload][..], &flags].concat();
    let text = ends(&server.file("home"), &load, 1);
    let (told, _) = ended(&evenkeel(&server.file("home"), &[&load[..], &["--json"]].concat()), 1);
    (text, serde_json::from_str(&told).expect("JSON"))
}

#[test]
fn a_load_that_gets_no_answer_is_a_finding_that_blames_neither_the_pool_nor_nobody() {
    let server = Server::up(&[]);
    let came = Arc::new(AtomicBool::new(false));
    let hole = format!("mysql://app@{}/shop", way(server.address(), "SELECT 17", &came));
    let late = format!("mysql://app@{}/shop", server.address());
    for (url, sql, why) in [
        (&hole, "SELECT 17", "the server does not answer: no session got a byte"),
        (&late, "SELECT SLEEP(1)", "the server answers, but later: lower the rate, or raise --timeout"),
    ] {
        let (text, json) = unanswered(&server, url, sql);
        let first = text.lines().next().unwrap_or_default();
        assert!(first.starts_with("finding: none of ") && first.contains(why), "{text}");
        assert!(first.contains("within the timeout of 200 ms ("), "{text}");
        assert!(text.contains("response ≥ ") && text.contains("max ≥ "), "{text}");
        assert!(!text.contains("were busy"), "{text}");
        assert!(json["finding"].as_str().is_some_and(|text| text.contains(why)), "{json}");
        let share = json["session_wait_share"].as_f64();
        assert!(share.is_none_or(|share| share <= 1.0), "{json}");
    }
}

fn run(home: &Home, line: &str, name: &str, statements: &[(&str, &str)]) -> (Option<i32>, String) {
    let file = home.workload(name, statements);
    let output = evenkeel(home.path(), &[words(line), vec!["sandbox:a/mysql", "-w", &file]].concat());
    let (said, told) = text(&output);
    eprintln!("{line}: {}\n{told}", output.status);
    (output.status.code(), said)
}

const LOAD: &str = "load --rate 50 --duration 2s --warm-up 0s";
const GONE: (&str, &str) = ("gone", "SELECT * FROM gone");
const FINE: (&str, &str) = ("fine", "SELECT 1");
const TYPO: (&str, &str) = ("typo", "SELEC 1");

#[test]
fn a_load_whose_requests_fail_is_a_finding_that_says_first_what_the_server_said() {
    let home = Home::up(&[]);
    let (code, text) = run(&home, LOAD, "gone", &[GONE]);
    assert_eq!(code, Some(1), "{text}");
    let first = text.lines().next().unwrap_or_default();
    assert!(first.starts_with("finding: all ") && first.contains(" requests failed, "), "{text}");
    assert!(first.contains("times error 1146 “Table 'mysql.gone' doesn't exist”"), "{text}");

    let (code, text) = run(&home, &format!("{LOAD} --json"), "gone", &[GONE]);
    let json: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(code, Some(1), "{text}");
    assert!(json["finding"].as_str().is_some_and(|text| text.contains("error 1146")), "{json}");

    // Two of three fail: most. One of three: a doubt, with the words.
    let (code, text) = run(&home, LOAD, "most", &[FINE, GONE, TYPO]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.starts_with("finding: "), "{text}");
    assert!(text.contains("error 1064") && text.contains("error 1146"), "{text}");
    let few = [FINE, ("also", "SELECT 2"), GONE];
    let (code, text) = run(&home, "load --rate 200 --duration 2s --warm-up 0s", "few", &few);
    assert!(matches!(code, Some(0 | 3)) && !text.contains("finding:"), "{code:?} {text}");
    assert!(text.contains("failed, ") && text.contains("“Table 'mysql.gone' doesn't exist”"), "{text}");
}

#[test]
fn a_profile_whose_requests_fail_is_a_finding_in_the_terminal_and_in_the_report() {
    let home = Home::up(&[]);
    let table = "CREATE TABLE full (id INT PRIMARY KEY) SELECT 1 AS id";
    home.control(Some("mysql")).exec(table).expect("a table");
    let short = "profile --rate 20,40 --whole-sweep --repeats 1 --duration 2s --warm-up 0s --no-reset";
    let (code, text) = run(&home, short, "twice", &[("twice", "INSERT INTO full VALUES (1)")]);
    assert_eq!(code, Some(1), "{text}");
    let words = "times error 1062 “Duplicate entry '1' for key 'PRIMARY'”";
    let first = text.split("\n\n").next().unwrap_or_default().replace('\n', " ");
    assert!(first.starts_with("finding: all ") && first.contains(words), "{text}");
    let report = home.file("report.html");
    done(home.path(), &["report", "last", "--to", &report]);
    let html = std::fs::read_to_string(&report).expect("a report").replace('\u{a0}', " ");
    let place = |part: &str| html.find(part).unwrap_or_else(|| panic!("{part} is missing"));
    assert!(place("requests failed") < place("<h1>"), "the finding comes first");

    // What the server refuses outright is not measured at all.
    let (code, text) = run(&home, short, "typo", &[TYPO]);
    assert_eq!((code, text.as_str()), (Some(2), ""));
}

#[test]
fn explain_shows_the_error_of_a_statement_and_goes_on_with_the_others() {
    let home = Home::up(&[]);
    let some = [GONE, FINE, TYPO];
    let (code, text) = run(&home, "explain", "some", &some);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("\nfine "), "{text}");
    assert!(text.contains("refused: gone: error 1146: Table 'mysql.gone' doesn't exist"), "{text}");
    assert!(text.contains("refused: typo: error 1064: You have an error in your SQL syntax"), "{text}");
    let (code, text) = run(&home, "explain --json", "some", &some);
    let json: Value = serde_json::from_str(&text).expect("JSON");
    let gone = json.as_array().expect("a list").iter().find(|plan| plan["statement"] == "gone");
    assert_eq!((code, &gone.expect("gone")["error"]["code"]), (Some(1), &1146.into()), "{json}");

    let (code, text) = run(&home, "explain", "fine", &[FINE]);
    assert_eq!(code, Some(0), "{text}");
}

#[test]
fn a_profile_without_one_answer_is_a_finding_about_the_timeout_and_gives_no_bound() {
    let home = Home::up(&[]);
    let short =
        "profile --rate 20,40 --whole-sweep --repeats 3 --duration 2s --warm-up 0s --timeout 50ms --no-reset";
    let (code, text) = run(&home, short, "slow", &[("slow", "SELECT SLEEP(1)")]);
    assert_eq!(code, Some(1), "{text}");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.starts_with("finding: none of ") && text.contains("--timeout"), "{text}");
    assert!(text.contains("within the timeout of 50.0 ms at any rate"), "{text}");
    for wrong in ["carries at most", "lower ones", "lower rate"] {
        assert!(!text.contains(wrong), "{wrong} in {text}");
    }
    assert!(text.contains("No bound can be given for slow: no request was answered"), "{text}");
}
