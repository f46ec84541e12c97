//! What a server does not take: which record it is, what was done, and how to go on.

use super::server::{Server, with};
use crate::cli::{borrowed, refused};
use std::fs;

#[test]
fn a_record_that_the_server_does_not_store_is_named_or_becomes_a_reject() {
    let server = Server::up(&[]);
    server.generate("calls", 5_000, "none");
    server.load("model", &["calls"], &[]);
    server.exec("CREATE TABLE calls LIKE model");
    server.exec("INSERT INTO calls SELECT * FROM model WHERE seq IN (3001, 4001)");
    assert!(server.refused("calls", &["calls"], &["--transaction", "32K"]).contains("between 1M and 1G"));
    let told = server.refused("calls", &["calls"], &["--transaction", "1M"]);
    assert!(told.contains("calls:600000: its key is in the table already (warning 1062)"), "{told}");
    assert!(told.contains("in bytes 0..1000000, which are not stored"), "{told}");
    assert_eq!(server.count("calls"), 2, "nothing of the part is in");
    let found = server.json("calls", &["calls"], &["--warnings", "reject"]);
    assert_eq!((&found["tally"]["rejects"], server.count("calls")), (&2.into(), 5_000));
    let rejects = fs::read_to_string(server.path("calls.rejects")).expect("rejects");
    let calls = fs::read_to_string(server.path("calls")).expect("records");
    let lines: Vec<Vec<&str>> = rejects.lines().map(|line| line.split('\t').collect()).collect();
    let places: Vec<&str> = lines.iter().map(|line| line[1]).collect();
    assert_eq!(places, ["600000", "800000"]);
    for line in &lines {
        let at: usize = line[1].parse().expect("a number");
        assert_eq!(line[3], &calls[at..at + 199], "the record is there as it was");
    }
    // Behind a row that a CHECK refuses the server's numbers of rows are wrong.
    for sql in ["CREATE TABLE checked LIKE model", "ALTER TABLE checked ADD CHECK (seq <> 3500)"] {
        server.control().exec(sql).expect("a check");
    }
    let told = server.refused("checked", &["calls"], &["--warnings", "reject"]);
    assert!(told.contains("calls:699800: a CHECK of the table refuses it"), "{told}");
    let told = server.refused("aria", &["calls"], &["--engine", "aria", "--warnings", "reject"]);
    assert!(told.contains("Aria has no transactions"), "{told}");
    let told = server.refused("new", &["calls"], &["--engine", "myisam", "--connections", "2"]);
    assert!(told.contains("rows of one connection at a time"), "{told}");
}

#[test]
fn a_disk_that_is_full_here_or_at_the_server_ends_a_load_that_goes_on_when_there_is_room() {
    let full = ["innodb_data_file_path=ibdata1:12M;ibdata2:18M", "innodb_file_per_table=0"];
    let server = Server::up(&full);
    server.generate("calls", 4_000, "all");
    let words = with(server.words("calls", &["calls"], &[]), "--rejects", "/dev/full");
    let told = refused(server.home(), &borrowed(&words));
    assert!(told.contains("cannot write /dev/full") && told.contains("free some space"), "{told}");
    assert_eq!(server.count("calls"), 0, "a reject that is not on disk makes no row");
    server.load("calls", &["calls"], &[]);

    server.generate("calls", 120_000, "none");
    let told = server.refused("large", &["calls"], &["--transaction", "1M", "--duplicates", "keep"]);
    assert!(told.contains("is full") && told.contains("what is loaded stays loaded"), "{told}");
    let rows = server.count("large");
    let known = server.value("SELECT COALESCE(SUM(rows_stored), 0) FROM evenkeel_load_parts p JOIN evenkeel_loads f ON f.id = p.file_id WHERE f.tables_loaded = 'large'");
    assert!(rows > 0 && rows < 120_000);
    assert_eq!(known, rows.to_string(), "the manifest knows what is in");
}
