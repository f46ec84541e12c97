//! Call records as rows of a real server, as a user loads them: each once, whatever ends the load in the middle.

mod audited;
mod broken;
mod refusals;
pub mod server;

use crate::cli::{borrowed, ended, piped, words};
use crate::sandbox::done;
use serde_json::Value;
use server::Server;
use std::fs;
use std::io::{BufRead, BufReader};

#[test]
fn every_engine_stores_each_record_once_and_a_rerun_stores_none_again() {
    let server = Server::up(&[]);
    server.generate("calls", 20_000, "all");
    let (calls, csv) = (server.path("calls"), server.path("csv"));
    let convert = format!("cdr convert {calls} --layout {} --into {csv} --json", server.layout());
    let converted: Value = serde_json::from_str(&done(server.home(), &words(&convert))).expect("JSON");
    let lines = converted["all"]["lines"][0].as_u64();
    for (table, flags) in [
        ("plain", "--engine innodb --index calling,start"),
        ("later", "--index calling --indexes after --connections 2 --transaction 1M"),
        ("myisam", "--engine myisam --indexes after --index calling --transaction 1M"),
        ("aria", "--engine aria --index start"),
    ] {
        let flags = words(flags);
        let found = server.json(table, &["calls"], &flags);
        assert_eq!(
            (found["tally"]["lines"][0].as_u64(), Some(server.count(table))),
            (lines, lines),
            "{table}"
        );
        assert_eq!(found["tally"]["rejects"], converted["all"]["rejects"], "{table}");
        let again = server.json(table, &["calls"], &flags);
        assert_eq!(again["tally"]["records"], 0, "{table}");
        assert_eq!(again["files"][0]["rows_before"].as_u64(), lines, "{table}");
        assert_eq!(Some(server.count(table)), lines, "{table}: a rerun");
        // What converts the records for a file converts them for a table.
        let of = |path: String| {
            let text = fs::read_to_string(path).expect("rejects");
            let lines = text.lines().map(|line| line.split_once('\t').expect("a field").1);
            lines.map(|line| line.replace(&server.path(""), "")).collect::<Vec<_>>()
        };
        let rejects = of(server.path(&format!("{table}.rejects")));
        assert_eq!(rejects, of(server.path("csv/calls.rejects")), "{table}");
        let indexes =
            "SELECT COUNT(DISTINCT INDEX_NAME) FROM information_schema.STATISTICS WHERE TABLE_NAME = ";
        assert_eq!(server.value(&format!("{indexes}'{table}'")), "2", "{table}");
    }
}

#[test]
fn a_file_that_was_replaced_is_refused_and_one_that_grew_brings_what_is_new() {
    let server = Server::up(&[]);
    server.generate("calls", 5_000, "none");
    server.load("calls", &["calls"], &[]);
    let before = fs::read(server.path("calls")).expect("records");
    server.generate_from("more", 1_000, 5_001);
    let grown = [before, fs::read(server.path("more")).expect("records")].concat();
    fs::write(server.path("calls"), &grown).expect("a file");
    let found = server.json("calls", &["calls"], &[]);
    assert_eq!((&found["tally"]["records"], server.count("calls")), (&1_000.into(), 6_000));
    // The same records under another name are known by what they say.
    fs::write(server.path("copy"), &grown).expect("a file");
    assert_eq!(server.json("calls", &["copy"], &[])["tally"]["records"], 0);
    let mut other = grown;
    other[1] = b'9';
    fs::write(server.path("calls"), &other).expect("a file");
    let told = server.refused("calls", &["calls"], &[]);
    assert!(told.contains("was loaded into calls before with 1200000 bytes"), "{told}");
    assert!(told.contains("hint:") && server.count("calls") == 6_000, "{told}");
    server.exec("TRUNCATE TABLE calls");
    let told = server.refused("calls", &["copy"], &[]);
    let gone = "6000 rows were loaded into calls (table evenkeel_loads), but it has none";
    assert!(told.contains(gone) && told.contains("--again"), "{told}");
    server.load("calls", &["copy"], &["--again"]);
    assert_eq!(server.count("calls"), 6_000);
}

#[test]
fn a_file_that_grows_while_it_is_read_is_not_done_and_a_rerun_brings_the_rest() {
    let server = Server::up(&[]);
    server.generate("calls", 150_000, "none");
    server.generate_from("more", 1_000, 150_001);
    let words = server.words("calls", &["calls"], &["--transaction", "1M", "--duplicates", "keep"]);
    let child = piped(server.home(), &borrowed(&words));
    server.wait_for_parts(1);
    let more = fs::read(server.path("more")).expect("records");
    let mut file = fs::OpenOptions::new().append(true).open(server.path("calls")).expect("a file");
    std::io::Write::write_all(&mut file, &more).expect("written");
    let (_, told) = ended(&child.wait_with_output().expect("an end"), 2);
    assert!(told.contains("changed while it was read, at byte"), "{told}");
    server.load("calls", &["calls"], &["--duplicates", "keep"]);
    assert_eq!(server.count("calls"), 151_000);
}

#[test]
fn a_load_that_waits_for_somebody_elses_lock_says_so_and_goes_on_once_that_is_gone() {
    let server = Server::up(&[]);
    server.generate("calls", 1_000, "none");
    server.load("calls", &["calls"], &[]);
    server.generate_from("more", 1_000, 2_001);
    let mut other = server.control();
    other.exec("LOCK TABLES calls READ").expect("a lock");
    let mut load = piped(server.home(), &borrowed(&server.words("calls", &["more"], &[])));
    let told = BufReader::new(load.stderr.take().expect("a pipe")).lines().map_while(Result::ok);
    let mut told = told.skip_while(|line| !line.contains("waits for another client"));
    let waits = told.next().expect("a word about the lock");
    assert!(waits.contains("metadata lock") && waits.contains("SHOW FULL PROCESSLIST"), "{waits}");
    other.exec("UNLOCK TABLES").expect("no lock any more");
    let rest: Vec<String> = told.collect();
    assert!(load.wait().expect("an end").success(), "{rest:?}");
    assert_eq!(server.count("calls"), 2_000);
}

#[test]
fn a_load_and_a_dispatch_outlast_a_server_that_ends_idle_connections_and_commits_nothing_by_itself() {
    let server = Server::up(&["wait_timeout=1", "autocommit=0"]);
    server.generate("calls", 1_500, "none");
    for (table, engine) in [("plain", "InnoDB"), ("simple", "MyISAM")] {
        server.create(table);
        server.exec(&format!("ALTER TABLE {table} ENGINE={engine}"));
        // Each row takes two milliseconds, so that the other connections wait for three seconds.
        server.exec(&format!(
            "CREATE TRIGGER slow_{table} BEFORE INSERT ON {table} FOR EACH ROW SET NEW.seq = NEW.seq + SLEEP(0.002)"
        ));
        let found = server.json(table, &["calls"], &["--index", "calling"]);
        assert_eq!(
            (&found["tally"]["lines"][0], &found["audit"]["found"]),
            (&1_500.into(), &0.into()),
            "{table}"
        );
        let state = format!("SELECT state FROM evenkeel_loads WHERE tables_loaded = '{table}'");
        assert_eq!(server.value(&state), "done", "{table}");
        assert_eq!(server.json(table, &["calls"], &[])["tally"]["records"], 0, "{table}: a rerun");
        server.exec(&format!("DROP TRIGGER slow_{table}"));
    }
    done(server.home(), &["cdr", "dispatch", "sandbox:a/cdr", "--table", "plain", "--by", "start"]);
    assert_eq!((server.count("plain"), server.count("plain_20260801")), (0, 1_500));
}
