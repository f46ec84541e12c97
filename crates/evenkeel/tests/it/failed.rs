//! Statements that the server refuses: told first, in its own words, and by the exit code of a finding.

use crate::cli::{evenkeel, text, words};
use crate::sandbox::{Home, done};
use serde_json::Value;

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
