//! The audit that ends a load: what it sees, and what is none of its business.

use super::{Server, with};
use crate::cli::{asked, borrowed, evenkeel};
use crate::sandbox::done;
use serde_json::Value;
use std::fs;

fn found(server: &Server, files: &[&str]) -> Value {
    let words = server.words("calls", files, &["--json", "--quiet"]);
    let output = evenkeel(server.home(), &borrowed(&words));
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(output.status.code() == Some(1), found["audit"]["found"].as_u64() > Some(0), "{found}");
    found["audit"].clone()
}

fn audited_by_hand(server: &Server, file: &str) -> String {
    let (path, layout) = (server.path(file), server.layout());
    let words = ["cdr", "audit", "sandbox:a/cdr", &path, "--layout", &layout, "--table", "calls"];
    asked(server.home(), &words).1
}

#[test]
fn a_load_ends_with_an_audit_that_says_what_it_took() {
    let server = Server::up(&[]);
    server.generate("calls", 3_000, "all");
    let told = server.load("calls", &["calls"], &[]);
    let line = told.lines().find(|line| line.starts_with("audited: ")).unwrap_or_default();
    assert!(line.contains("records = ") && line.ends_with(": each once"), "{told}");
}

#[test]
fn a_load_that_ended_before_its_audit_is_audited_by_a_rerun_and_not_again() {
    let server = Server::up(&[]);
    for engine in ["innodb", "myisam"] {
        server.generate("calls", 1_000, "all");
        // As a kill between its last commit and its audit leaves it.
        server.load(engine, &["calls"], &["--no-audit", "--engine", engine]);
        server.exec(&format!("DELETE FROM {engine} WHERE seq = 7"));
        let words = server.words(engine, &["calls"], &["--json", "--quiet"]);
        let output = evenkeel(server.home(), &borrowed(&words));
        let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!((output.status.code(), &found["audit"]["found"]), (Some(1), &1.into()), "{found}");
        assert_eq!(found["tally"]["records"], 0, "{engine}");
        let again = server.json(engine, &["calls"], &[]);
        assert_eq!(again["audit"], Value::Null, "{engine}: that has been told");
    }
}

#[test]
fn the_last_line_counts_what_is_in_the_table_and_a_load_that_stores_nothing_leaves_nothing() {
    let server = Server::up(&[]);
    server.generate("calls", 100, "none");
    server.create("calls");
    server.exec("ALTER TABLE calls ADD one INT AS (1) STORED, ADD UNIQUE (one)");
    server.exec("SET GLOBAL sql_mode = ''");
    let told = server.load("calls", &["calls"], &["--warnings", "reject"]);
    assert_eq!(server.count("calls"), 1, "{told}");
    assert!(told.contains("100 records = 1 stored + 99 rejected: each once\n"), "{told}");

    // A layout that fits no record, and then the right one.
    let wrong = server.path("wrong.toml");
    let layout = fs::read_to_string(server.layout()).expect("a layout");
    fs::write(&wrong, layout.replace("one_of = [\"01\"]", "one_of = [\"77\"]")).expect("a file");
    let refused = |table: &str| {
        let (code, told) = server.asked(&with(server.words(table, &["calls"], &[]), "--layout", &wrong));
        assert_eq!(code, Some(1), "{told}");
        assert!(told.contains("100 of 100 records are rejects"), "{told}");
        told
    };
    let told = refused("new");
    assert!(told.contains("nothing of it is stored") && !told.contains("audited"), "{told}");
    assert_eq!(server.value("SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_NAME = 'new'"), "0");
    assert!(server.load("new", &["calls"], &[]).contains("100 records = 100 stored + 0 rejected"));
    // One that was there stays.
    server.exec("CREATE TABLE old LIKE new");
    refused("old");
    assert_eq!(server.count("old"), 0);
    assert!(server.load("old", &["calls"], &[]).contains("100 records = 100 stored + 0 rejected"));
}

#[test]
fn rows_of_other_loads_are_no_finding_and_rows_of_nobody_are_one_where_the_files_are_alone() {
    let server = Server::up(&[]);
    for (name, first) in [("one", 1), ("two", 10_001), ("three", 20_001), ("four", 30_001)] {
        server.generate_from(name, 1_000, first);
    }
    assert_eq!(found(&server, &["one"])["found"], 0);
    assert_eq!(found(&server, &["two"])["found"], 0, "the rows of one are there");
    server.exec(
        "INSERT INTO calls (rectype, seq, calling, called, imsi, imei, start, cell, msc, trunk_in, trunk_out, roaming) \
         VALUES ('01', 999999, '34', '', '', '', '2026-08-01', '', '', '', '', '0')",
    );
    assert_eq!(found(&server, &["three"])["found"], 0, "it may be of one or two");
    let all = found(&server, &["one", "two", "three", "four"]);
    assert_eq!((&all["found"], &all["tables"][0]["found"]["foreign"]), (&1.into(), &1.into()), "{all}");
    let told = audited_by_hand(&server, "one");
    assert!(told.contains("hint: give all files") && !told.contains("in no file calls"), "{told}");
}

#[test]
fn what_an_earlier_load_stored_is_looked_for_until_it_is_dispatched() {
    let server = Server::up(&[]);
    for (name, first) in [("one", 1), ("two", 10_001), ("three", 20_001)] {
        server.generate_from(name, 1_000, first);
    }
    found(&server, &["one"]);
    server.exec("DELETE FROM calls WHERE seq = 7");
    let lost = found(&server, &["one", "two"]);
    assert_eq!((&lost["found"], &lost["tables"][0]["found"]["lost"]), (&1.into(), &1.into()), "{lost}");
    let told =
        done(server.home(), &["cdr", "dispatch", "sandbox:a/cdr", "--table", "calls", "--by", "start"]);
    assert!(told.contains("audited: 1,999 rows of 2 tables, the same as before"), "{told}");
    server.exec("INSERT INTO calls SELECT * FROM calls_20260801 WHERE seq = 8");
    let all = found(&server, &["one", "two", "three"]);
    assert_eq!((&all["found"], &all["tables"][0]["unchecked"]), (&0.into(), &1_999.into()), "{all}");
}

#[test]
fn files_of_one_name_in_two_folders_do_not_take_each_others_rejects_for_their_own() {
    let server = Server::up(&[]);
    for (folder, first) in [("a", "1"), ("b", "50001")] {
        fs::create_dir(server.path(folder)).expect("a folder");
        let name = format!("{folder}/calls");
        server.make(&name, &format!("--records 3000 --first {first} --seed {first} --dirt all"));
        let audit = found(&server, &[&name]);
        let checked = &audit["tables"][0]["rejects_checked"];
        assert_eq!((&audit["found"], checked), (&0.into(), &true.into()), "{audit}");
    }
}

#[test]
fn a_table_that_is_spelled_otherwise_is_the_same_one_to_load_dispatch_retire_and_audit() {
    let server = Server::up(&["lower_case_table_names=1"]);
    server.generate("calls", 1_000, "none");
    let layout = fs::read_to_string(server.layout()).expect("a layout").replace("key = [", "# key = [");
    fs::write(server.layout(), layout).expect("a layout");
    let load = |table: &str| server.json(table, &["calls"], &[])["tally"]["records"].clone();
    assert_eq!(load("calls"), 1_000);
    assert_eq!((load("Calls"), server.count("calls")), (0.into(), 1_000));
    done(server.home(), &["cdr", "dispatch", "sandbox:a/cdr", "--table", "CALLS", "--by", "start"]);
    assert_eq!((load("calls"), server.count("calls"), server.count("calls_20260801")), (0.into(), 0, 1_000));
    let told = audited_by_hand(&server, "calls");
    assert!(told.contains("1,000 stored + 0 rejected: each once\ncalls, calls_20260801 as of "), "{told}");
    let retire =
        ["cdr", "retire", "sandbox:a/cdr", "--table", "Calls", "--keep", "1d", "--today", "20260901"];
    let (code, told) = asked(server.home(), &retire);
    assert!(code == Some(0) && told.contains("1 table dropped"), "{told}");
    let told = audited_by_hand(&server, "calls");
    assert!(told.contains("1,000 records = 0 stored + 1,000 retired + 0 rejected: each once"), "{told}");
}
