//! Statements that the server refuses: told first, in its own words, and by the exit code of a finding.

use crate::cli::evenkeel;
use crate::sandbox::done;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Output;

/// A private server, and workloads of statements that it refuses.
struct Server {
    home: tempfile::TempDir,
}

impl Server {
    fn up() -> Self {
        let home = tempfile::tempdir().expect("a temporary directory");
        done(home.path(), &["sandbox", "up", "a"]);
        Self { home }
    }

    fn workload(&self, name: &str, statements: &[(&str, &str)]) -> PathBuf {
        let path = self.home.path().join(format!("{name}.toml"));
        let of = |(name, sql): &(&str, &str)| format!("[[statement]]\nname = \"{name}\"\nsql = \"{sql}\"\n");
        let statements: String = statements.iter().map(of).collect();
        std::fs::write(&path, format!("name = \"{name}\"\n{statements}")).expect("written");
        path
    }

    fn run(&self, command: &[&str], workload: &Path, more: &[&str]) -> (Option<i32>, String) {
        let workload = workload.to_str().expect("UTF-8");
        let all = [command, &["sandbox:a/mysql", "--workload", workload], more].concat();
        let Output { status, stdout, stderr } = evenkeel(self.home.path(), &all);
        let told = String::from_utf8_lossy(&stderr);
        eprintln!("{all:?}: {status}\n{told}");
        (status.code(), String::from_utf8_lossy(&stdout).into_owned())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        evenkeel(self.home.path(), &["sandbox", "down", "a"]);
    }
}

const SHORT: [&str; 6] = ["--rate", "50", "--duration", "2s", "--warm-up", "0s"];

#[test]
fn a_load_whose_requests_fail_is_a_finding_that_says_first_what_the_server_said() {
    let server = Server::up();
    let missing = server.workload("missing", &[("missing", "SELECT * FROM missing")]);
    let (code, text) = server.run(&["load"], &missing, &SHORT);
    assert_eq!(code, Some(1), "{text}");
    let first = text.lines().next().unwrap_or_default();
    assert!(first.starts_with("finding: all ") && first.contains(" requests failed, "), "{text}");
    assert!(first.contains("times error 1146 “Table 'mysql.missing' doesn't exist”"), "{text}");

    let (code, text) = server.run(&["load"], &missing, &[&SHORT[..], &["--json"]].concat());
    let json: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(code, Some(1), "{text}");
    assert!(json["finding"].as_str().is_some_and(|text| text.contains("error 1146")), "{json}");

    // Two of three fail: most. One of three: a doubt, with the words.
    let fine = ("fine", "SELECT 1");
    let most = server.workload("most", &[fine, ("gone", "SELECT * FROM gone"), ("typo", "SELEC 1")]);
    let (code, text) = server.run(&["load"], &most, &SHORT);
    assert_eq!(code, Some(1), "{text}");
    assert!(
        text.starts_with("finding: ") && text.contains("error 1064") && text.contains("error 1146"),
        "{text}"
    );
    let few = server.workload("few", &[fine, ("also", "SELECT 2"), ("gone", "SELECT * FROM gone")]);
    let (code, text) = server.run(&["load"], &few, &["--rate", "200", "--duration", "2s", "--warm-up", "0s"]);
    assert!(matches!(code, Some(0 | 3)) && !text.contains("finding:"), "{code:?} {text}");
    assert!(text.contains("failed, ") && text.contains("“Table 'mysql.gone' doesn't exist”"), "{text}");
}

#[test]
fn a_profile_whose_requests_fail_is_a_finding_in_the_terminal_and_in_the_report() {
    let server = Server::up();
    let table = "CREATE TABLE full (id INT PRIMARY KEY) SELECT 1 AS id";
    done(server.home.path(), &["sandbox", "shell", "a", "--", "-e", table, "mysql"]);
    let twice = server.workload("twice", &[("twice", "INSERT INTO full VALUES (1)")]);
    let short = [
        "--rate",
        "20,40",
        "--whole-sweep",
        "--repeats",
        "1",
        "--duration",
        "2s",
        "--warm-up",
        "0s",
        "--no-reset",
    ];
    let (code, text) = server.run(&["profile"], &twice, &short);
    assert_eq!(code, Some(1), "{text}");
    let words = "times error 1062 “Duplicate entry '1' for key 'PRIMARY'”";
    let first = text.split("\n\n").next().unwrap_or_default().replace('\n', " ");
    assert!(first.starts_with("finding: all ") && first.contains(words), "{text}");
    let report = server.home.path().join("report.html");
    done(server.home.path(), &["report", "last", "--to", report.to_str().expect("UTF-8")]);
    let html = std::fs::read_to_string(&report).expect("a report").replace('\u{a0}', " ");
    let place = |part: &str| html.find(part).unwrap_or_else(|| panic!("{part} is missing"));
    assert!(place("requests failed") < place("<h1>"), "the finding comes first");

    // What the server refuses outright is not measured at all.
    let typo = server.workload("typo", &[("typo", "SELEC 1")]);
    let (code, text) = server.run(&["profile"], &typo, &short);
    assert_eq!((code, text.as_str()), (Some(2), ""));
}

#[test]
fn explain_shows_the_error_of_a_statement_and_goes_on_with_the_others() {
    let server = Server::up();
    let some =
        server.workload("some", &[("gone", "SELECT * FROM gone"), ("fine", "SELECT 1"), ("typo", "SELEC 1")]);
    let (code, text) = server.run(&["explain"], &some, &[]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("\nfine "), "{text}");
    for (name, words) in [
        ("gone", "error 1146: Table 'mysql.gone' doesn't exist"),
        ("typo", "error 1064: You have an error in your SQL syntax"),
    ] {
        assert!(text.contains(&format!("refused: {name}: {words}")), "{text}");
    }
    let (code, text) = server.run(&["explain"], &some, &["--json"]);
    assert_eq!(code, Some(1), "{text}");
    let json: Value = serde_json::from_str(&text).expect("JSON");
    let gone =
        json.as_array().expect("a list").iter().find(|plan| plan["statement"] == "gone").expect("gone");
    assert_eq!(
        (&gone["error"]["code"], &gone["sql"]),
        (&1146.into(), &"SELECT * FROM gone".into()),
        "{json}"
    );

    let fine = server.workload("fine", &[("fine", "SELECT 1")]);
    let (code, text) = server.run(&["explain"], &fine, &[]);
    assert_eq!(code, Some(0), "{text}");
}

#[test]
fn a_profile_without_one_answer_is_a_finding_about_the_timeout_and_gives_no_bound() {
    let server = Server::up();
    let slow = server.workload("slow", &[("slow", "SELECT SLEEP(1)")]);
    let short = [
        "--rate",
        "20,40",
        "--whole-sweep",
        "--repeats",
        "3",
        "--duration",
        "2s",
        "--warm-up",
        "0s",
        "--timeout",
        "50ms",
        "--no-reset",
    ];
    let (code, text) = server.run(&["profile"], &slow, &short);
    assert_eq!(code, Some(1), "{text}");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.starts_with("finding: none of "), "{text}");
    assert!(
        text.contains("within the timeout of 50.0 ms at any rate") && text.contains("--timeout"),
        "{text}"
    );
    for wrong in ["carries at most", "lower ones", "lower rate"] {
        assert!(!text.contains(wrong), "{wrong} in {text}");
    }
    assert!(text.contains("No bound can be given for slow: no request was answered"), "{text}");
}
