//! Loads that are cut: ours killed, the server killed, and run again; also where records come twice.

use super::Server;
use crate::cli::{borrowed, ended, kill, piped};
use std::collections::BTreeSet;
use std::fs;

const RECORDS: u64 = 120_000;
const HALF: u64 = 60_000;

/// Loads into a table until so many parts are in, and is killed then; false where it was done before.
fn killed(server: &Server, table: &str, flags: &[&str], parts: u64) -> bool {
    let mut child = server.begin(table, &["calls"], flags);
    server.wait_for_parts(parts);
    let is_done = child.try_wait().expect("a child").is_some();
    kill(child);
    !is_done
}

/// What a load of the records brings that nobody cuts.
struct Whole {
    server: Server,
    sums: String,
    rejects: BTreeSet<String>,
}

impl Whole {
    fn up() -> Self {
        let server = Server::up(&[]);
        server.generate("calls", RECORDS, "all");
        server.load("whole", &["calls"], &[]);
        let mut whole = Self { server, sums: String::new(), rejects: BTreeSet::new() };
        (whole.sums, whole.rejects) = (whole.sums_of("whole"), whole.rejects_of("whole"));
        assert!(whole.rejects.len() > 100);
        whole
    }

    fn sums_of(&self, table: &str) -> String {
        let sums = "CONCAT(COUNT(*), ' ', COUNT(DISTINCT seq), ' ', SUM(seq))";
        self.server.value(&format!("SELECT {sums} FROM {table}"))
    }

    fn rejects_of(&self, table: &str) -> BTreeSet<String> {
        let text = fs::read_to_string(self.server.path(&format!("{table}.rejects"))).expect("rejects");
        let lines: BTreeSet<String> = text.lines().map(str::to_owned).collect();
        assert_eq!(lines.len(), text.lines().count(), "{table}: no reject comes twice");
        lines
    }

    fn expect_each_record_once(&self, table: &str) {
        assert_eq!(self.sums_of(table), self.sums, "{table}");
        assert!(self.rejects_of(table) == self.rejects, "{table}: other rejects");
        let manifest = self.server.value(&format!(
            "SELECT CONCAT(SUM(p.records) = SUM(p.rows_stored) + SUM(p.rejects), ' ', SUM(p.rows_stored), ' ', MIN(f.state)) \
             FROM evenkeel_loads f JOIN evenkeel_load_parts p ON p.file_id = f.id WHERE f.tables_loaded = '{table}'"
        ));
        let rows = self.sums.split(' ').next().expect("a count");
        assert_eq!(manifest, format!("1 {rows} done"), "{table}");
    }
}

#[test]
fn a_load_that_is_killed_at_any_moment_goes_on_and_neither_loses_nor_doubles() {
    let whole = Whole::up();
    let server = &whole.server;
    for (table, connections) in [("one", "1"), ("three", "3")] {
        let flags = ["--transaction", "1M", "--connections", connections, "--index", "calling"];
        let before: u64 = server.count("evenkeel_load_parts");
        let kills = [0, 1, 5, 10, 16].map(|parts| killed(server, table, &flags, before + parts));
        let kills = kills.iter().filter(|met| **met).count();
        assert!(kills >= 4, "{table}: only {kills} kills met a load under way");
        server.load(table, &["calls"], &flags);
        whole.expect_each_record_once(table);
    }
}

#[test]
fn a_server_that_is_killed_is_an_error_with_a_way_on_and_the_load_goes_on_once_it_is_back() {
    let whole = Whole::up();
    let server = &whole.server;
    let flags = ["--transaction", "1M", "--connections", "2"];
    for parts in [1, 9] {
        let before = server.count("evenkeel_load_parts");
        let child = piped(server.home(), &borrowed(&server.words("calls", &["calls"], &flags)));
        server.wait_for_parts(before + parts);
        server.kill();
        let (_, told) = ended(&child.wait_with_output().expect("an end"), 2);
        assert!(told.contains("lost the connection") && told.contains("is loaded stays loaded"), "{told}");
        server.start();
    }
    server.load("calls", &["calls"], &flags);
    whole.expect_each_record_once("calls");
}

#[test]
fn without_transactions_a_cut_load_is_emptied_and_begun_again_and_rows_of_others_are_never_touched() {
    let whole = Whole::up();
    let server = &whole.server;
    for engine in ["myisam", "aria"] {
        let flags = ["--transaction", "1M", "--engine", engine];
        let before = server.count("evenkeel_load_parts");
        assert!(killed(server, engine, &flags, before + 5), "{engine}");
        assert!(server.count(engine) > 0);
        let told = server.load(engine, &["calls"], &flags);
        assert!(told.contains("cannot be told apart: emptied of"), "{told}");
        whole.expect_each_record_once(engine);
    }
    // A table that had a row before is not emptied.
    server.exec("CREATE TABLE others LIKE myisam");
    server.exec("INSERT INTO others SELECT * FROM myisam LIMIT 1");
    server.exec("UPDATE others SET seq = 9999999999");
    let before = server.count("evenkeel_load_parts");
    let flags = ["--transaction", "1M"];
    assert!(killed(server, "others", &flags, before + 5));
    let rows = server.count("others");
    let told = server.refused("others", &["calls"], &flags);
    assert!(told.contains("were in them before the load") && told.contains("hint:"), "{told}");
    assert_eq!(server.count("others"), rows);
}

#[test]
fn rows_that_a_killed_server_left_uncounted_are_found_and_the_load_begins_again() {
    let whole = Whole::up();
    let server = &whole.server;
    let flags = ["--engine", "myisam", "--index", "calling"];
    let mut child = server.begin("uncounted", &["calls"], &flags);
    // One statement loads the whole file; the head of the table counts its rows at its end.
    crate::cli::eventually("rows on disk", || {
        let table = fs::metadata(server.path("sandboxes/a/data/cdr/uncounted.MYD"));
        table.is_ok_and(|found| found.len() > 1_000_000)
    });
    server.kill();
    let code = child.wait().expect("an end").code();
    assert_eq!(code, Some(2), "the load was over before the server was killed");
    server.start();
    assert_eq!(server.count("uncounted"), 0, "the table looks empty");
    let told = server.load("uncounted", &["calls"], &flags);
    assert!(told.contains("cannot be told apart: emptied of"), "{told}");
    whole.expect_each_record_once("uncounted");
}

fn refused(server: &Server, table: &str) -> Vec<String> {
    let text = fs::read_to_string(server.path(&format!("{table}.rejects"))).expect("rejects");
    let lines = text.lines().map(|line| line.rsplit_once('\t').expect("a record").0);
    lines.map(|line| line.replace(&server.path(""), "")).collect()
}

#[test]
fn a_record_whose_first_was_stored_by_an_earlier_call_is_refused_where_its_file_is_named_again() {
    let server = Server::up(&[]);
    server.generate("calls", 3_000, "none");
    server.generate_from("new", 1_000, 3_001);
    let [calls, new] = ["calls", "new"].map(|name| fs::read(server.path(name)).expect("records"));
    // What repeats stands before what is new, in a file that is named before the one that is done.
    fs::write(server.path("mixed"), [&calls[200..600], &new].concat()).expect("records");
    server.load("calls", &["calls"], &[]);
    let found = server.json("calls", &["mixed", "calls"], &[]);
    assert_eq!((&found["tally"]["duplicates"], server.count("calls")), (&2.into(), 4_000));
    let expected = ["mixed\t0\tduplicate of calls:200", "mixed\t200\tduplicate of calls:400"];
    assert_eq!(refused(&server, "calls"), expected);
    // And in what a file has grown by.
    fs::write(server.path("calls"), [&calls[..], &calls[..200]].concat()).expect("records");
    let found = server.json("calls", &["calls"], &[]);
    assert_eq!((&found["tally"]["duplicates"], server.count("calls")), (&1.into(), 4_000));
    assert_eq!(refused(&server, "calls")[2], "calls\t600000\tduplicate of calls:0");
    // Without that file nobody but the server knows them.
    fs::write(server.path("late"), &calls[..200]).expect("records");
    let told = server.refused("calls", &["late"], &[]);
    assert!(told.contains("late:0: its key is in the table already"), "{told}");
    assert_eq!(server.count("calls"), 4_000);
}

#[test]
fn a_file_that_says_everything_twice_brings_each_record_once_whenever_its_loads_are_killed() {
    let server = Server::up(&[]);
    server.generate("once", HALF, "none");
    let once = fs::read(server.path("once")).expect("records");
    fs::write(server.path("calls"), [&once[..], &once[..]].concat()).expect("records");
    let flags = ["--transaction", "1M", "--connections", "2"];
    // Twelve parts are the first half; later ones have nothing but what repeats.
    let kills = [3, 9, 14, 18].map(|parts| killed(&server, "calls", &flags, parts));
    let kills = kills.iter().filter(|met| **met).count();
    assert!(kills >= 3, "only {kills} kills met a load under way");
    server.load("calls", &["calls"], &flags);
    assert_eq!(server.count("calls"), HALF);
    let (found, half) = (refused(&server, "calls"), once.len());
    let expected = (0..half).step_by(200).map(|at| format!("calls\t{}\tduplicate of calls:{at}", half + at));
    assert!(found == expected.collect::<Vec<_>>(), "{} rejects", found.len());
}
