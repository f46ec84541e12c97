//! Call records as rows of a real server, as a user loads them: each once, whatever ends the load in the middle.

mod audited;
mod broken;
mod corrected;
mod delimited;
mod odd;
mod target;

use crate::cli::{self, asked, borrowed, ended, piped, refused, unread, words};
use crate::cli::{eventually, found};
use crate::guard::server::signal;
use crate::sandbox::{Home, done};
use evenkeel_site::server::Control;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Child;

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
            "CREATE TRIGGER slow_{table} BEFORE INSERT ON {table} FOR EACH ROW SET @slept = SLEEP(0.002)"
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

/// It can be killed and started again.
pub struct Server {
    home: Home,
    flags: Vec<String>,
}

impl Server {
    pub fn up(settings: &[&str]) -> Self {
        let small = ["innodb_buffer_pool_size=64M", "innodb_log_file_size=48M"];
        let flags = small.iter().chain(settings).flat_map(|setting| ["--set", setting]);
        let flags: Vec<String> = flags.map(str::to_owned).collect();
        let home = Home::up(&borrowed(&flags));
        home.control(None).exec("CREATE DATABASE cdr").expect("a database");
        let layout = done(home.path(), &["cdr", "generate", "--print-layout"]);
        fs::write(home.file("calls.toml"), layout).expect("a layout");
        Self { home, flags }
    }

    pub fn start(&self) {
        done(self.home(), &[&["sandbox", "up", "a"], &borrowed(&self.flags)[..]].concat());
    }

    /// Kills the server as the kernel does where memory is short.
    pub fn kill(&self) {
        let file = fs::read_to_string(self.path("sandboxes/a/server.pid")).expect("a number");
        let pid: i32 = file.split_whitespace().next().and_then(|pid| pid.parse().ok()).expect("a number");
        signal("-KILL", pid);
        let stat = || fs::read_to_string(format!("/proc/{pid}/stat"));
        eventually("the server is gone", || !stat().is_ok_and(|stat| !stat.contains(") Z ")));
    }

    pub fn home(&self) -> &Path {
        self.home.path()
    }

    pub fn path(&self, name: &str) -> String {
        self.home.file(name)
    }

    pub fn layout(&self) -> String {
        self.path("calls.toml")
    }

    pub fn control(&self) -> Control {
        self.home.control(Some("cdr"))
    }

    pub fn exec(&self, sql: &str) {
        self.control().exec(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }

    pub fn value(&self, sql: &str) -> String {
        self.control().query_value(sql).expect("a row").unwrap_or_default()
    }

    pub fn count(&self, table: &str) -> u64 {
        self.value(&format!("SELECT COUNT(*) FROM `{table}`")).parse().expect("a number")
    }

    /// An empty table for the records, as a load makes it.
    pub fn create(&self, table: &str) {
        let words = ["cdr", "load", "--layout", &self.layout(), "--table", table, "--print-table"];
        self.exec(done(self.home(), &words).trim_end().trim_end_matches(';'));
    }

    pub fn make(&self, name: &str, flags: &str) {
        let path = self.path(name);
        done(self.home(), &[&["cdr", "generate", &path, "--overwrite"], &words(flags)[..]].concat());
    }

    pub fn generate(&self, name: &str, records: u64, dirt: &str) {
        self.make(name, &format!("--records {records} --dirt {dirt}"));
    }

    pub fn generate_from(&self, name: &str, records: u64, first: u64) {
        self.make(name, &format!("--records {records} --first {first}"));
    }

    pub fn words(&self, table: &str, files: &[&str], flags: &[&str]) -> Vec<String> {
        let (layout, rejects) = (self.layout(), self.path(&format!("{table}.rejects")));
        let mut words = vec!["cdr".to_owned(), "load".to_owned(), "sandbox:a/cdr".to_owned()];
        words.extend(files.iter().map(|file| self.path(file)));
        words.extend(["--layout", &layout, "--table", table, "--rejects", &rejects].map(str::to_owned));
        words.extend(flags.iter().map(|flag| (*flag).to_owned()));
        words
    }

    pub fn load(&self, table: &str, files: &[&str], flags: &[&str]) -> String {
        done(self.home(), &borrowed(&self.words(table, files, flags)))
    }

    pub fn begin(&self, table: &str, files: &[&str], flags: &[&str]) -> Child {
        unread(self.home(), &borrowed(&self.words(table, files, flags)))
    }

    pub fn asked(&self, words: &[String]) -> (Option<i32>, String) {
        asked(self.home(), &borrowed(words))
    }

    pub fn refused(&self, table: &str, files: &[&str], flags: &[&str]) -> String {
        cli::refused(self.home(), &borrowed(&self.words(table, files, flags)))
    }

    pub fn json(&self, table: &str, files: &[&str], flags: &[&str]) -> Value {
        serde_json::from_str(&self.load(table, files, &[flags, &["--json"]].concat())).expect("JSON")
    }

    pub fn wait_for_parts(&self, parts: u64) {
        let mut control = self.control();
        found("parts that are in", || {
            let count = control.query_value("SELECT COUNT(*) FROM evenkeel_load_parts");
            let count = count.ok().flatten().and_then(|count| count.parse::<u64>().ok());
            (count >= Some(parts)).then_some(())
        });
    }
}

pub fn with(mut words: Vec<String>, flag: &str, value: &str) -> Vec<String> {
    let place = words.iter().position(|word| word == flag).expect("a flag") + 1;
    words[place] = value.to_owned();
    words
}
