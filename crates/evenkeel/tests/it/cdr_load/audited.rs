//! The audit that ends a load: what it sees, and what is none of its business.

use super::server::{Server, borrowed, ok};
use crate::cli::evenkeel;
use serde_json::Value;
use std::process::Output;

fn load(server: &Server, files: &[&str], flags: &[&str]) -> Output {
    let words = server.words("calls", files, flags);
    evenkeel(server.home(), &borrowed(&words))
}

/// What the audit of a load found, as JSON.
fn found(server: &Server, files: &[&str], flags: &[&str]) -> Value {
    let output = load(server, files, &[flags, &["--json", "--quiet"]].concat());
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", String::from_utf8_lossy(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(output.status.code() == Some(1), found["audit"]["found"].as_u64() > Some(0), "{found}");
    found["audit"].clone()
}

#[test]
fn a_load_ends_with_an_audit_that_says_what_it_took() {
    let server = Server::up(&[]);
    server.generate("calls", 3_000, "all");
    let told = ok(&load(&server, &["calls"], &[]));
    let line = told.lines().find(|line| line.starts_with("audited: ")).unwrap_or_default();
    assert!(line.contains("records = ") && line.ends_with(": each once"), "{told}");
    assert!(told.contains("records and rows/s"), "{told}");
    server.generate_from("more", 1_000, 100_001);
    assert!(!ok(&load(&server, &["more"], &["--no-audit"])).contains("audited"), "{told}");
    // Nothing new, but it was not audited yet.
    assert_eq!(found(&server, &["more"], &[])["found"], 0);
    assert_eq!(found(&server, &["more"], &[]), Value::Null);
}

#[test]
fn a_row_that_the_server_changes_while_it_is_loaded_is_named() {
    let server = Server::up(&[]);
    server.generate("calls", 1_000, "none");
    let create = ok(&evenkeel(
        server.home(),
        &["cdr", "load", "--layout", &server.layout(), "--table", "calls", "--print-table"],
    ));
    let mut control = server.control();
    control.exec(create.trim_end().trim_end_matches(';')).expect("a table");
    control
        .exec("CREATE TRIGGER t BEFORE INSERT ON calls FOR EACH ROW SET NEW.called = IF(NEW.seq = 500, 'x', NEW.called)")
        .expect("a trigger");
    let output = load(&server, &["calls"], &[]);
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1), "{told}{}", String::from_utf8_lossy(&output.stderr));
    assert!(told.contains("altered ") && told.contains(":99800 seq=500; called: file "), "{told}");
}

#[test]
fn the_last_line_counts_what_is_in_the_table_and_a_load_that_stores_nothing_leaves_nothing() {
    let server = Server::up(&[]);
    server.generate("calls", 100, "none");
    let create = ok(&evenkeel(
        server.home(),
        &["cdr", "load", "--layout", &server.layout(), "--table", "calls", "--print-table"],
    ));
    let mut control = server.control();
    control.exec(create.trim_end().trim_end_matches(';')).expect("a table");
    control.exec("ALTER TABLE calls ADD one INT AS (1) STORED, ADD UNIQUE (one)").expect("a column");
    control.exec("SET GLOBAL sql_mode = ''").expect("a mode");
    let told = ok(&load(&server, &["calls"], &["--warnings", "reject"]));
    assert_eq!(server.count("calls"), 1, "{told}");
    assert!(told.contains("100 records = 1 stored + 99 rejected: each once\n"), "{told}");

    // A layout that fits no record, and then the right one.
    let wrong = server.path("wrong.toml");
    let layout = std::fs::read_to_string(server.layout()).expect("a layout");
    std::fs::write(&wrong, layout.replace("one_of = [\"01\"]", "one_of = [\"77\"]")).expect("a file");
    let refused = |table: &str| {
        let mut words = server.words(table, &["calls"], &[]);
        let place = words.iter().position(|word| word == "--layout").expect("a flag") + 1;
        words[place].clone_from(&wrong);
        let output = evenkeel(server.home(), &borrowed(&words));
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(1), "{told}{}", String::from_utf8_lossy(&output.stderr));
        assert!(told.contains("every record was refused: nothing was stored"), "{told}");
        told
    };
    let told = refused("new");
    assert!(told.contains("the tables that were made are dropped") && !told.contains("audited"), "{told}");
    assert_eq!(server.value("SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_NAME = 'new'"), "0");
    assert!(server.load("new", &["calls"], &[]).contains("100 records = 100 stored + 0 rejected"));
    // One that was there stays.
    server.control().exec("CREATE TABLE old LIKE new").expect("a table");
    assert!(!refused("old").contains("dropped"));
    assert_eq!(server.count("old"), 0);
}

#[test]
fn rows_of_other_loads_are_no_finding_and_rows_of_nobody_are_one_where_the_files_are_alone() {
    let server = Server::up(&[]);
    for (name, first) in [("one", 1), ("two", 10_001), ("three", 20_001), ("four", 30_001)] {
        server.generate_from(name, 1_000, first);
    }
    assert_eq!(found(&server, &["one"], &[])["found"], 0);
    assert_eq!(found(&server, &["two"], &[])["found"], 0, "the rows of one are there");
    let stranger = "INSERT INTO calls (rectype, seq, calling, called, imsi, imei, start, cell, msc, trunk_in, trunk_out, roaming) \
                    VALUES ('01', 999999, '34', '', '', '', '2026-08-01', '', '', '', '', '0')";
    server.control().exec(stranger).expect("a row");
    assert_eq!(found(&server, &["three"], &[])["found"], 0, "it may be of one or two");
    let all = found(&server, &["one", "two", "three", "four"], &[]);
    assert_eq!((&all["found"], &all["tables"][0]["found"]["foreign"]), (&1.into(), &1.into()), "{all}");
}

#[test]
fn what_an_earlier_load_stored_is_looked_for_unless_it_was_dispatched_since() {
    let server = Server::up(&[]);
    for (name, first) in [("one", 1), ("two", 10_001), ("three", 20_001)] {
        server.generate_from(name, 1_000, first);
    }
    found(&server, &["one"], &[]);
    server.control().exec("DELETE FROM calls WHERE seq = 7").expect("a row");
    let lost = found(&server, &["one", "two"], &[]);
    assert_eq!((&lost["found"], &lost["tables"][0]["found"]["lost"]), (&1.into(), &1.into()), "{lost}");
    let words = ["cdr", "dispatch", &server.url(), "--table", "calls", "--by", "start"];
    let told = ok(&evenkeel(server.home(), &words));
    assert!(told.contains("audited: 1,999 rows of 2 tables, the same as before"), "{told}");
    server.control().exec("INSERT INTO calls SELECT * FROM calls_20260801 WHERE seq = 8").expect("a row");
    assert_eq!(
        found(&server, &["one", "two", "three"], &[])["found"],
        0,
        "rows of one and two are elsewhere"
    );
}

#[test]
fn files_of_one_name_in_two_folders_do_not_take_each_others_rejects_for_their_own() {
    let server = Server::up(&[]);
    for folder in ["a", "b"] {
        std::fs::create_dir(server.path(folder)).expect("a folder");
    }
    for (name, first) in [("a/calls", "1"), ("b/calls", "50001")] {
        let path = server.path(name);
        let words = [
            "cdr",
            "generate",
            &path,
            "--records",
            "3000",
            "--first",
            first,
            "--seed",
            first,
            "--dirt",
            "all",
        ];
        ok(&evenkeel(server.home(), &words));
        let audit = found(&server, &[name], &[]);
        assert_eq!(
            (&audit["found"], &audit["tables"][0]["rejects_checked"]),
            (&0.into(), &true.into()),
            "{audit}"
        );
    }
}
