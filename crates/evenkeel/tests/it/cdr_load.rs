//! Call records as rows of a real server, as a user loads them: each once, whatever ends the load in the middle.

mod audited;
mod broken;
mod idle;
mod locked;
mod refusals;
mod rejects;
mod rerun;
pub mod server;
mod twice;

use crate::cli::{command, evenkeel};
use server::{Server, borrowed, ok};
use std::fs;
use std::process::Stdio;

#[test]
fn every_engine_stores_each_record_once_and_a_rerun_stores_none_again() {
    let server = Server::up(&[]);
    server.generate("calls", 20_000, "all");
    let csv = server.path("csv");
    let convert =
        ["cdr", "convert", &server.path("calls"), "--layout", &server.layout(), "--into", &csv, "--json"];
    let done: serde_json::Value =
        serde_json::from_str(&ok(&evenkeel(server.home(), &convert))).expect("JSON");
    let (lines, rejects) = (done["all"]["lines"][0].as_u64(), done["all"]["rejects"].as_u64());
    for (table, flags) in [
        ("plain", &["--engine", "innodb", "--index", "calling,start"][..]),
        (
            "later",
            &["--index", "calling", "--indexes", "after", "--connections", "2", "--transaction", "500K"],
        ),
        (
            "myisam",
            &["--engine", "myisam", "--indexes", "after", "--index", "calling", "--transaction", "1M"],
        ),
        ("aria", &["--engine", "aria", "--index", "start"]),
    ] {
        let found = server.json(table, &["calls"], flags);
        assert_eq!(
            (found["tally"]["lines"][0].as_u64(), found["tally"]["rejects"].as_u64()),
            (lines, rejects)
        );
        assert_eq!(Some(server.count(table)), lines, "{table}");
        let again = server.json(table, &["calls"], flags);
        assert_eq!(again["tally"]["records"], 0, "{table}");
        assert_eq!(again["files"][0]["rows_before"].as_u64(), lines, "{table}");
        assert_eq!(Some(server.count(table)), lines, "{table}: a rerun");
        // What converts the records for a file converts them for a table.
        let of = |path: String| {
            let text = fs::read_to_string(path).expect("rejects");
            text.lines()
                .map(|line| line.split_once('\t').expect("a field").1.replace(&server.path(""), ""))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            of(server.path(&format!("{table}.rejects"))),
            of(server.path("csv/calls.rejects")),
            "{table}"
        );
    }
    let indexes = "SELECT COUNT(DISTINCT INDEX_NAME) FROM information_schema.STATISTICS WHERE TABLE_NAME = ";
    for table in ["plain", "later", "myisam", "aria"] {
        assert_eq!(server.value(&format!("{indexes}'{table}'")), "2", "{table}");
    }
}

#[test]
fn the_rows_are_the_records_field_by_field() {
    let server = Server::up(&[]);
    server.generate("calls", 2_000, "none");
    server.load("calls", &["calls"], &["--transaction", "100K"]);
    let rows = server.control().query(
        "SELECT CONCAT_WS('|', seq, calling, called, imsi, DATE_FORMAT(start, '%Y%m%d%H%i%s'), \
         COALESCE(DATE_FORMAT(answer, '%Y%m%d%H%i%s'), ''), COALESCE(seconds, ''), cell, COALESCE(cause, '')) FROM calls ORDER BY seq",
    );
    let rows: Vec<String> =
        rows.expect("rows").rows.into_iter().filter_map(|row| row.into_iter().next()?).collect();
    let text = fs::read_to_string(server.path("calls")).expect("records");
    let of = |record: &str| {
        let fields =
            [(2, 12), (12, 27), (27, 42), (42, 57), (72, 86), (86, 100), (114, 120), (120, 130), (156, 159)];
        fields.map(|(from, to)| record[from..to].trim().to_owned()).join("|")
    };
    let records: Vec<String> = text.lines().map(of).collect();
    assert_eq!((rows.len(), &rows[0]), (2_000, &records[0]));
    assert!(rows == records);
}

#[test]
fn a_file_that_was_replaced_is_refused_and_one_that_grew_brings_what_is_new() {
    let server = Server::up(&[]);
    server.generate("calls", 5_000, "none");
    server.load("calls", &["calls"], &[]);
    let before = fs::read(server.path("calls")).expect("records");
    server.generate_from("more", 1_000, 5_001);
    let grown = [before.clone(), fs::read(server.path("more")).expect("records")].concat();
    fs::write(server.path("calls"), &grown).expect("a file");
    let found = server.json("calls", &["calls"], &[]);
    assert_eq!((&found["tally"]["records"], server.count("calls")), (&1_000.into(), 6_000));
    // The same records under another name are known by what they say.
    fs::write(server.path("copy"), &grown).expect("a file");
    assert_eq!(server.json("calls", &["copy"], &[])["tally"]["records"], 0);
    let mut other = grown.clone();
    other[1] = b'9';
    fs::write(server.path("calls"), &other).expect("a file");
    let told = server.refused("calls", &["calls"], &[]);
    assert!(
        told.contains("calls has 1200000 bytes and is not the file of that name of which bytes 0..1200000"),
        "{told}"
    );
    assert!(told.contains("hint:") && server.count("calls") == 6_000, "{told}");
    server.control().exec("TRUNCATE TABLE calls").expect("a statement");
    let told = server.refused("calls", &["copy"], &[]);
    assert!(
        told.contains("6000 rows were loaded into calls, which has none") && told.contains("--again"),
        "{told}"
    );
    server.load("calls", &["copy"], &["--again"]);
    assert_eq!(server.count("calls"), 6_000);
}

#[test]
fn a_file_that_grows_while_it_is_read_is_not_done_and_a_rerun_brings_the_rest() {
    let server = Server::up(&[]);
    server.generate("calls", 150_000, "none");
    server.generate_from("more", 1_000, 150_001);
    let words = server.words("calls", &["calls"], &["--transaction", "1M", "--duplicates", "keep"]);
    let child =
        command(server.home(), &borrowed(&words)).stderr(Stdio::piped()).spawn().expect("the binary runs");
    server.wait_for_parts(1);
    let more = fs::read(server.path("more")).expect("records");
    let mut file = fs::OpenOptions::new().append(true).open(server.path("calls")).expect("a file");
    std::io::Write::write_all(&mut file, &more).expect("written");
    let output = child.wait_with_output().expect("an end");
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("changed while it was read, at byte"), "{told}");
    server.load("calls", &["calls"], &["--duplicates", "keep"]);
    assert_eq!(server.count("calls"), 151_000);
}
