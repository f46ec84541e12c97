//! Each file is held against its table before its records go to the tables of their days.

use super::{Site, text};
use crate::cdr_load::server::ok;
use crate::cli::evenkeel;
use serde_json::Value;
use std::fs;

impl Site {
    /// A source whose server stores one record otherwise than it was sent.
    fn spoil(&self, seq: u64) {
        let words = ["cdr", "load", "--layout", &self.server.layout(), "--table", "calls", "--print-table"];
        let create = ok(&evenkeel(self.server.home(), &words));
        let mut control = self.server.control();
        control.exec(create.trim_end().trim_end_matches(';')).expect("a table");
        let sql = "CREATE TRIGGER t BEFORE INSERT ON calls FOR EACH ROW SET NEW.called = IF(NEW.seq = ";
        control.exec(&format!("{sql}{seq}, 'x', NEW.called)")).expect("a trigger");
    }
}

fn json(lines: &str) -> Vec<Value> {
    lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn what_an_audit_finds_is_named_and_holds_all_records_back_until_somebody_has_looked() {
    let site = Site::up();
    site.spoil(500);
    site.arrive("a.cdr", "20260801", (1, 1_000), "none");
    let done = site.server.path("done");
    let output = site.once(&["--done", &done]);
    let (lines, told) = text(&output);
    assert_eq!(output.status.code(), Some(1), "{lines}{told}");
    assert!(
        lines.contains("a.cdr: 1,000 records, 1,000 rows, 0 rejects; the audit found 1 altered"),
        "{lines}"
    );
    assert!(lines.contains("not dispatched: ") && lines.contains("a.cdr.audit names what"), "{lines}");
    let note = site.server.path("rejects/a.cdr.audit");
    let named = fs::read_to_string(&note).expect("a note");
    assert!(named.contains("seq=500; called: file '"), "{named}");
    assert!(site.path("a.cdr").exists(), "a file with a finding is not put away");
    // A restart does not go past it, and neither does the next file; that one is loaded.
    site.arrive("b.cdr", "20260801", (1_001, 1_000), "none");
    let output = site.once(&["--json"]);
    let (lines, told) = text(&output);
    assert_eq!(output.status.code(), Some(1), "{lines}{told}");
    assert!(told.contains("nothing is dispatched: "), "{told}");
    let [b] = &json(&lines)[..] else { panic!("{lines}") };
    assert_eq!(
        (&b["rows"], &b["moved"], &b["audit"]["found"]),
        (&1_000.into(), &0.into(), &serde_json::json!({}))
    );
    assert_eq!(site.server.count("calls"), 2_000);
    // Once that was seen to, all goes on.
    site.server.control().exec("DROP TRIGGER t").expect("a statement");
    fs::remove_file(note).expect("a note");
    let output = site.once(&[]);
    assert_eq!(output.status.code(), Some(0), "{:?}", text(&output));
    assert_eq!(site.server.count("calls"), 0);
    site.expect("held and let go", 1, 2_000);
}

#[test]
fn without_the_audit_nothing_is_looked_at_and_with_it_a_clean_file_says_so() {
    let site = Site::up();
    site.spoil(500);
    site.arrive("a.cdr", "20260801", (1, 1_000), "none");
    let output = site.once(&["--no-audit"]);
    let (lines, told) = text(&output);
    assert_eq!(output.status.code(), Some(0), "{lines}{told}");
    assert!(!lines.contains("audit"), "{lines}");
    site.arrive("b.cdr", "20260802", (1_001, 1_000), "all");
    let (lines, told) = text(&site.once(&[]));
    assert!(lines.contains(" rejects; audited; ") && lines.contains("to 3 day tables"), "{lines}{told}");
}

#[test]
fn a_layout_with_several_types_of_record_is_refused_before_anything_is_done() {
    let site = Site::up();
    let record = |name: &str, is: &str| {
        format!(
            "[[record]]\nname = '{name}'\nis = ['{is}']\n[[record.field]]\nname = 'start'\nwidth = 14\ntype = 'time'\n"
        )
    };
    let layout =
        format!("tell = {{ from = 0, width = 2 }}\n{}{}", record("calls", "01"), record("texts", "02"));
    fs::write(site.server.layout(), layout).expect("a layout");
    fs::write(site.path("a.cdr"), "0120260801000005\n").expect("a file");
    let output = site.once(&[]);
    let (lines, told) = text(&output);
    assert_eq!((output.status.code(), lines.as_str()), (Some(2), ""), "{told}");
    assert!(told.contains("has 2 types of record") && told.contains("hint: "), "{told}");
    assert!(site.tables().is_empty());
}

#[test]
fn records_of_days_that_are_too_old_are_counted_where_their_tables_go() {
    let site = Site::up();
    site.arrive("a.cdr", "20260801", (1, 2_000), "late=0.2");
    let output = site.once(&["--keep", "1d", "--json"]);
    let (lines, told) = text(&output);
    let [line] = &json(&lines)[..] else { panic!("{lines}{told}") };
    let dropped = line["dropped"].as_array().expect("tables");
    assert!(!dropped.is_empty(), "{line}");
    let gone: u64 = dropped.iter().map(|table| table["records"].as_u64().expect("a count")).sum();
    let kept: u64 = site.tables().iter().map(|(_, rows)| rows).sum();
    assert!(gone > 0 && gone + kept == 2_000, "{gone} + {kept}: {line}");
    // The same in words, and by hand.
    site.arrive("b.cdr", "20260801", (10_001, 2_000), "late=0.2");
    let (lines, told) = text(&site.once(&["--keep", "1d"]));
    assert!(
        lines.contains("1 old table dropped with ") && lines.contains(" records (calls_20260730 "),
        "{lines}{told}"
    );
    let words =
        ["cdr", "retire", &site.server.url(), "--table", "calls", "--keep", "1d", "--today", "20260805"];
    let told = ok(&evenkeel(site.server.home(), &words));
    let kept: u64 = kept + site.server.count("calls");
    assert!(told.contains("dropped  calls_20260801  ") && told.contains(" records, 0 MB"), "{kept}: {told}");
}

#[test]
fn files_are_held_against_all_day_tables_together_long_after_they_went_there() {
    let site = Site::up();
    site.arrive("a.cdr", "20260801", (1, 2_000), "all");
    site.arrive("b.cdr", "20260802", (10_001, 2_000), "late=0.2");
    assert_eq!(site.once(&[]).status.code(), Some(0));
    let audit = |flags: &[&str]| {
        let (layout, rejects) = (site.server.layout(), site.server.path("rejects"));
        let (a, b) = (site.path("a.cdr"), site.path("b.cdr"));
        let files = [a.to_str().expect("UTF-8"), b.to_str().expect("UTF-8")];
        let words = ["cdr", "audit", "sandbox:a/cdr", "--layout", &layout, "--rejects", &rejects];
        let output = evenkeel(site.server.home(), &[&words[..], flags, &files].concat());
        let (told, error) = text(&output);
        (output.status.code(), told + &error)
    };
    let all = ["--table", "calls_*", "--table", "calls"];
    let (code, told) = audit(&all);
    assert!(code == Some(0) && told.contains("each once"), "{told}");
    assert!(site.tables().len() > 3, "{:?}", site.tables());
    // One day alone has not got them all.
    assert_eq!(audit(&["--table", "calls_20260801"]).0, Some(1));
    let mut control = site.server.control();
    let first =
        control.query_value("SELECT MIN(seq) FROM calls_20260802").expect("an answer").expect("a row");
    control.exec(&format!("DELETE FROM calls_20260802 WHERE seq = {first}")).expect("a statement");
    control.exec("INSERT INTO calls SELECT * FROM calls_20260801 LIMIT 1").expect("a statement");
    let (code, told) = audit(&all);
    assert!(code == Some(1) && told.contains("1 lost") && told.contains("1 doubled"), "{told}");
    assert!(told.contains(&format!(" seq={first}")), "{told}");
}
