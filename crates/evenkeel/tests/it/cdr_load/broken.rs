//! Loads that are cut: ours killed, the server killed, and run again.

use super::server::{Server, borrowed};
use crate::cli::command;
use std::collections::BTreeSet;
use std::fs;
use std::process::{Child, Stdio};

const RECORDS: u64 = 120_000;

/// Loads into a table until so many parts are in, and is killed then; false where it was done before.
pub fn killed(server: &Server, table: &str, flags: &[&str], parts: u64) -> bool {
    let mut child = started(server, table, flags);
    server.wait_for_parts(parts);
    let is_done = child.try_wait().expect("a child").is_some();
    child.kill().expect("a signal");
    child.wait().expect("an end");
    !is_done
}

fn started(server: &Server, table: &str, flags: &[&str]) -> Child {
    let words = server.words(table, &["calls"], flags);
    command(server.home(), &borrowed(&words))
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .expect("it runs")
}

fn expect_each_record_once(server: &Server, table: &str, sums: &str, rejects: &BTreeSet<String>) {
    let found = server
        .value(&format!("SELECT CONCAT(COUNT(*), ' ', COUNT(DISTINCT seq), ' ', SUM(seq)) FROM {table}"));
    assert_eq!(found, sums, "{table}");
    let text = fs::read_to_string(server.path(&format!("{table}.rejects"))).expect("rejects");
    let lines: BTreeSet<String> = text.lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), text.lines().count(), "{table}: no reject comes twice");
    assert!(&lines == rejects, "{table}: {} rejects in place of {}", lines.len(), rejects.len());
    let manifest = server.value(&format!(
        "SELECT CONCAT(SUM(p.records) = SUM(p.rows_stored) + SUM(p.rejects), ' ', SUM(p.rows_stored), ' ', MIN(f.state)) \
         FROM evenkeel_loads f JOIN evenkeel_load_parts p ON p.file_id = f.id WHERE f.tables_loaded = '{table}'"
    ));
    assert_eq!(manifest, format!("1 {} done", sums.split(' ').next().expect("a count")), "{table}");
}

/// A server with the records, what a load of them brings that nobody cuts, and its rejects.
fn whole() -> (Server, String, BTreeSet<String>) {
    let server = Server::up(&[]);
    server.generate("calls", RECORDS, "all");
    server.load("whole", &["calls"], &[]);
    let sums = server.value("SELECT CONCAT(COUNT(*), ' ', COUNT(DISTINCT seq), ' ', SUM(seq)) FROM whole");
    let rejects = fs::read_to_string(server.path("whole.rejects")).expect("rejects");
    assert!(rejects.lines().count() > 100);
    (server, sums, rejects.lines().map(str::to_owned).collect())
}

#[test]
fn a_load_that_is_killed_at_any_moment_goes_on_and_neither_loses_nor_doubles() {
    let (server, sums, rejects) = whole();
    for (table, connections) in [("one", "1"), ("three", "3")] {
        let flags = ["--transaction", "1M", "--connections", connections, "--index", "calling"];
        let before: u64 = server.count("evenkeel_load_parts");
        let mut kills = 0;
        for parts in [0, 1, 5, 10, 16] {
            kills += u32::from(killed(&server, table, &flags, before + parts));
        }
        assert!(kills >= 4, "{table}: only {kills} kills met a load under way");
        server.load(table, &["calls"], &flags);
        expect_each_record_once(&server, table, &sums, &rejects);
    }
}

#[test]
fn a_server_that_is_killed_is_an_error_with_a_way_on_and_the_load_goes_on_once_it_is_back() {
    let (server, sums, rejects) = whole();
    let flags = ["--transaction", "200K", "--connections", "2"];
    for parts in [1, 9] {
        let words = server.words("calls", &["calls"], &flags);
        let before = server.count("evenkeel_load_parts");
        let child =
            command(server.home(), &borrowed(&words)).stderr(Stdio::piped()).spawn().expect("it runs");
        server.wait_for_parts(before + parts);
        server.kill();
        let output = child.wait_with_output().expect("an end");
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains("lost the connection") && told.contains("what is in stays in"), "{told}");
        server.start(&[]);
    }
    server.load("calls", &["calls"], &flags);
    expect_each_record_once(&server, "calls", &sums, &rejects);
}

#[test]
fn without_transactions_a_cut_load_is_emptied_and_begun_again_and_rows_of_others_are_never_touched() {
    let (server, sums, rejects) = whole();
    for engine in ["myisam", "aria"] {
        let flags = ["--transaction", "200K", "--engine", engine];
        let before = server.count("evenkeel_load_parts");
        assert!(killed(&server, engine, &flags, before + 5), "{engine}");
        assert!(server.count(engine) > 0);
        let told = server.load(engine, &["calls"], &flags);
        assert!(told.contains("cannot be told apart: emptied of"), "{told}");
        expect_each_record_once(&server, engine, &sums, &rejects);
    }
    // A table that had a row before is not emptied.
    server.control().exec("CREATE TABLE others LIKE myisam").expect("a table");
    server.control().exec("INSERT INTO others SELECT * FROM myisam LIMIT 1").expect("a row");
    server.control().exec("UPDATE others SET seq = 9999999999").expect("another key");
    let before = server.count("evenkeel_load_parts");
    let flags = ["--transaction", "200K"];
    assert!(killed(&server, "others", &flags, before + 5));
    let rows = server.count("others");
    let told = server.refused("others", &["calls"], &flags);
    assert!(
        told.contains("rows of others")
            && told.contains("were in them before the load")
            && told.contains("hint:"),
        "{told}"
    );
    assert_eq!(server.count("others"), rows);
}

#[test]
fn rows_that_a_killed_server_left_uncounted_are_found_and_the_load_begins_again() {
    let (server, sums, rejects) = whole();
    let flags = ["--engine", "myisam", "--index", "calling"];
    let mut child = started(&server, "uncounted", &flags);
    // One statement loads the whole file; the head of the table counts its rows at its end.
    crate::patience::eventually("rows on disk", || {
        fs::metadata(server.path("sandboxes/a/data/cdr/uncounted.MYD"))
            .is_ok_and(|found| found.len() > 1_000_000)
    });
    server.kill();
    assert_eq!(
        child.wait().expect("an end").code(),
        Some(2),
        "the load was over before the server was killed"
    );
    server.start(&[]);
    assert_eq!(server.count("uncounted"), 0, "the table looks empty");
    let told = server.load("uncounted", &["calls"], &flags);
    assert!(told.contains("cannot be told apart: emptied of"), "{told}");
    expect_each_record_once(&server, "uncounted", &sums, &rejects);
}
