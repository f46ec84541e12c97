//! Files that appear in a folder go through load and dispatch, as a user has that done every day.

mod troubles;

use crate::cdr_load::Server;
use crate::cli::{asked, borrowed, ended, evenkeel, eventually, found, kill, piped, unread};
use crate::guard::server::signal;
use crate::sandbox::done;
use evenkeel_site::server::Control;
use serde_json::Value;
use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Child;
use std::time::Duration;

pub struct Site {
    pub server: Server,
}

impl Site {
    pub fn up() -> Self {
        let server = Server::up(&[]);
        for folder in ["in", "made"] {
            fs::create_dir(server.path(folder)).expect("a folder");
        }
        Self { server }
    }

    /// Makes records of a day beside the folder; some are of the day before.
    pub fn make(&self, name: &str, day: &str, (first, records): (u64, u64), dirt: &str) -> PathBuf {
        let name = format!("made/{name}");
        self.server.make(&name, &format!("--records {records} --first {first} --day {day} --dirt {dirt}"));
        PathBuf::from(self.server.path(&name))
    }

    pub fn arrive(&self, name: &str, day: &str, records: (u64, u64), dirt: &str) {
        let made = self.make(name, day, records, dirt);
        fs::rename(made, self.path(name)).expect("the same file system");
    }

    pub fn path(&self, name: &str) -> PathBuf {
        PathBuf::from(self.server.path("in")).join(name)
    }

    pub fn words(&self, flags: &[&str]) -> Vec<String> {
        let (folder, rejects, layout) =
            (self.server.path("in"), self.server.path("rejects"), self.server.layout());
        let words = ["cdr", "watch", &folder, "sandbox:a/cdr", "--layout", &layout, "--rejects", &rejects];
        let settle: &[&str] = if flags.contains(&"--settle") { &[] } else { &["--settle", "100ms"] };
        let all = [&words[..], &["--table", "calls", "--by", "start"], settle, flags].concat();
        all.into_iter().map(str::to_owned).collect()
    }

    /// Does all files that are in the folder now, and ends by this code.
    pub fn once(&self, flags: &[&str], code: i32) -> (String, String) {
        ended(&evenkeel(self.server.home(), &borrowed(&self.words(&[flags, &["--once"]].concat()))), code)
    }

    pub fn watch(&self, flags: &[&str]) -> Child {
        piped(self.server.home(), &borrowed(&self.words(flags)))
    }

    pub fn tables(&self) -> Vec<(String, u64)> {
        let names = "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'cdr' AND TABLE_NAME LIKE 'calls%' ORDER BY 1";
        let rows = self.server.control().query(names).expect("names").rows;
        let names = rows.into_iter().filter_map(|row| row.into_iter().next()?);
        names.map(|name| (name.clone(), self.server.count(&name))).collect()
    }

    /// Whether records with the numbers from 1 on are there, each once, and in the table of its day.
    pub fn expect(&self, when: &str, last: u64) {
        let tables = self.tables();
        assert_eq!(self.sums(), format!("{last} {last} 1 {last}"), "{when}: {tables:?}");
        for (name, _) in &tables {
            if let Some(day) = name.strip_prefix("calls_") {
                let strangers = format!("SELECT COUNT(*) FROM {name} WHERE DATE(start) <> '{day}'");
                assert_eq!(self.server.value(&strangers), "0", "{when}: {name}");
            }
        }
    }

    /// Number of records in the source and all day tables, of different ones, and the least and the greatest.
    pub fn sums(&self) -> String {
        let tables: Vec<String> =
            self.tables().iter().map(|(name, _)| format!("SELECT seq FROM {name}")).collect();
        self.server.value(&format!(
            "SELECT CONCAT_WS(' ', COUNT(*), COUNT(DISTINCT seq), MIN(seq), MAX(seq)) FROM ({}) AS u",
            tables.join(" UNION ALL ")
        ))
    }

    pub fn await_done(&self, files: u64) {
        let sql =
            format!("SELECT COUNT(*) FROM evenkeel_loads WHERE state = 'done' HAVING COUNT(*) >= {files}");
        found("files that are done", || self.server.control().query_value(&sql).ok().flatten());
    }

    pub fn await_empty(&self) {
        eventually("an empty source", || self.server.count("calls") == 0);
        let open = "SELECT COUNT(*) FROM evenkeel_dispatches WHERE state <> 'done'";
        eventually("an end of the dispatches", || self.server.value(open) == "0");
    }
}

pub fn signalled(child: Child, name: &str, code: i32) -> (String, String) {
    signal(name, child.id() as i32);
    ended(&child.wait_with_output().expect("an end"), code)
}

#[test]
fn files_of_three_days_arrive_one_by_one_and_each_is_done_once() {
    let site = Site::up();
    let child = site.watch(&["--keep", "30d", "--json", "--pattern", "*.cdr*"]);
    fs::write(site.path("notes.txt"), "no records").expect("a file");
    fs::write(site.path(".hidden.cdr"), "no records").expect("a file");
    fs::write(site.path("next.cdr.part"), "no records").expect("a file");
    for (number, day) in [(0, "20260801"), (1, "20260802"), (2, "20260803")] {
        site.arrive(&format!("{day}.cdr"), day, (1 + number * 1_000, 1_000), "late=0.1");
        site.await_done(number + 1);
    }
    // The last line comes once retire is done, too.
    site.await_empty();
    let (lines, told) = signalled(child, "-TERM", 143);
    assert!(told.contains("stopped after"), "{told}");
    site.expect("three days", 3_000);
    let first: serde_json::Value = serde_json::from_str(lines.lines().next().expect("a line")).expect("JSON");
    assert_eq!((&first["event"], &first["moved"]), (&"done".into(), &1_000.into()), "{first}");
    assert!(first["file"].as_str().is_some_and(|file| file.ends_with("20260801.cdr")), "{first}");
    // A restart knows them, and a file that comes again under another name.
    fs::copy(site.path("20260802.cdr"), site.path("again.cdr")).expect("a copy");
    let (lines, told) = site.once(&["--pattern", "*.cdr*", "--done", &site.server.path("done")], 0);
    assert_eq!(lines, "", "{told}");
    site.expect("a restart", 3_000);
    let done = fs::read_dir(site.server.path("done")).expect("a folder").flatten();
    let mut done: Vec<_> = done.map(|entry| entry.file_name()).collect();
    done.sort();
    assert_eq!(done, ["20260801.cdr", "20260802.cdr", "20260803.cdr", "again.cdr"]);
    assert!(site.path("next.cdr.part").exists() && site.path("notes.txt").exists());
}

#[test]
fn two_watches_of_one_folder_do_each_file_once() {
    let site = Site::up();
    let flags = ["--transaction", "1M"];
    let watches = [site.watch(&flags), site.watch(&flags)];
    for number in 0..6 {
        site.arrive(&format!("{number}.cdr"), "20260801", (1 + number * 3_000, 3_000), "late=0.2");
    }
    site.await_done(6);
    site.await_empty();
    let mut lines = 0;
    for child in watches {
        let (said, told) = signalled(child, "-INT", 130);
        assert!(!told.contains("error"), "{told}");
        lines += said.lines().filter(|line| line.contains("3,000 records, 3,000 rows")).count();
    }
    // The one that was interrupted before it could say so has done it all the same.
    assert!((5..=6).contains(&lines), "{lines}");
    site.once(&flags, 0);
    site.expect("two watches", 18_000);
}

#[test]
fn what_it_does_is_read_by_http() {
    let site = Site::up();
    let mut child = site.watch(&["--metrics", "127.0.0.1:0"]);
    let mut told = BufReader::new(child.stderr.take().expect("a pipe")).lines().map_while(Result::ok);
    let line = told.find(|line| line.ends_with("/metrics")).expect("an address");
    let address = line.trim_end_matches("/metrics").rsplit_once("//").expect("an address").1.to_owned();
    let metrics = || {
        let mut stream = TcpStream::connect(&address).expect("a connection");
        write!(stream, "GET /metrics HTTP/1.1\r\nConnection: close\r\n\r\n").expect("sent");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("an answer");
        text
    };
    let figure = |text: &str, name: &str| {
        text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<f64>().ok())
    };
    assert!(metrics().starts_with("HTTP/1.1 200"));
    site.arrive("a.cdr", "20260801", (1, 1_000), "nul=0.01");
    fs::write(site.path("z.cdr.gz"), [0x1f, 0x8b, 8, 0, 0, 0]).expect("a file");
    eventually("both files in the figures", || {
        let text = metrics();
        figure(&text, "evenkeel_watch_files_done_total") == Some(1.0)
            && figure(&text, "evenkeel_watch_files_failed_total") == Some(1.0)
    });
    let text = metrics();
    let of = |name: &str| {
        figure(&text, &format!("evenkeel_watch_{name}")).unwrap_or_else(|| panic!("{name}: {text}"))
    };
    assert_eq!(of("records_total"), 1_000.0);
    assert!(of("rejects_total") > 0.0 && of("rows_total") + of("rejects_total") == 1_000.0, "{text}");
    assert_eq!((of("moved_records_total"), of("files_waiting")), (of("rows_total"), 0.0));
    assert!(of("step_seconds_total{step=\"load\"}") > 0.0 && of("last_success_timestamp_seconds") > 1e9);
    signalled(child, "-TERM", 143);
}

#[test]
fn what_an_audit_finds_is_named_and_holds_all_records_back_until_somebody_has_looked() {
    let site = Site::up();
    // The server stores one record otherwise than it was sent.
    site.server.create("calls");
    // By a procedure, so that no watch sees it before.
    site.server.exec("CREATE PROCEDURE p (n BIGINT, INOUT c VARCHAR(99)) SET c = IF(n = 500, 'x', c)");
    site.server.exec("CREATE TRIGGER t BEFORE INSERT ON calls FOR EACH ROW CALL p(NEW.seq, NEW.called)");
    site.arrive("a.cdr", "20260801", (1, 1_000), "none");
    let done = site.server.path("done");
    let (lines, _) = site.once(&["--done", &done], 1);
    assert!(lines.contains("0 rejects; the audit found 1 altered"), "{lines}");
    assert!(lines.contains("not dispatched: ") && lines.contains("a.cdr.audit lists what"), "{lines}");
    let note = site.server.path("rejects/a.cdr.audit");
    let named = fs::read_to_string(&note).expect("a note");
    assert!(named.contains("seq=500; called: file '"), "{named}");
    assert!(site.path("a.cdr").exists(), "a file with a finding is not put away");
    // A restart does not go past it, and neither does the next file; that one is loaded.
    site.arrive("b.cdr", "20260801", (1_001, 1_000), "none");
    let (lines, told) = site.once(&["--json"], 1);
    assert!(told.contains("nothing is dispatched: "), "{told}");
    let b: Value = serde_json::from_str(&lines).expect("one line of JSON");
    assert_eq!((&b["rows"], &b["moved"]), (&1_000.into(), &0.into()), "{b}");
    assert_eq!(b["audit"]["found"], serde_json::json!({}), "{b}");
    assert_eq!(site.server.count("calls"), 2_000);
    // Once that was seen to, all goes on.
    site.server.exec("DROP TRIGGER t");
    fs::remove_file(note).expect("a note");
    site.once(&[], 0);
    assert_eq!(site.server.count("calls"), 0);
    site.expect("held and let go", 2_000);
}

const DISPATCH: [&str; 9] =
    ["cdr", "dispatch", "sandbox:a/cdr", "--table", "calls", "--by", "start", "--json", "--quiet"];

impl Site {
    fn dispatch(&self) -> (Option<i32>, String) {
        asked(self.server.home(), &DISPATCH)
    }
}

#[test]
fn the_next_file_is_loaded_once_the_first_was_dispatched_and_none_comes_twice() {
    let site = Site::up();
    let server = &site.server;
    for (number, day) in [(0, "20260801"), (1, "20260802"), (2, "20260803")] {
        let name = format!("made/{day}");
        site.make(day, day, (1 + number * 1_000, 1_000), "late=0.1");
        let found = server.json("calls", &[&name], &[]);
        assert_eq!(found["tally"]["records"], 1_000, "{day}");
        let (code, told) = site.dispatch();
        assert_eq!(code, Some(0), "{told}");
        assert_eq!(server.json("calls", &[&name], &[])["tally"]["records"], 0, "{day}");
        site.expect(day, 1_000 * (number + 1));
    }
    let told = server.refused("calls", &["made/20260801"], &["--again"]);
    assert!(told.contains("are in day tables") && told.contains("hint:"), "{told}");
    done(server.home(), &["cdr", "retire", "sandbox:a/cdr", "--table", "calls", "--keep", "1d"]);
    let before = site.tables();
    let all = ["made/20260801", "made/20260802", "made/20260803"];
    assert_eq!(server.json("calls", &all, &[])["tally"]["records"], 0, "retired is known, too");
    assert_eq!(site.tables(), before);
    // What somebody removed is still missed.
    site.make("4", "20260804", (3_001, 500), "none");
    server.load("calls", &["made/4"], &[]);
    server.exec("TRUNCATE TABLE calls");
    let told = server.refused("calls", &["made/4"], &[]);
    assert!(told.contains("3500 rows were loaded") && told.contains("it has none, and 3000"), "{told}");
}

#[test]
fn a_dispatch_between_a_cut_load_and_its_rerun_neither_loses_nor_doubles() {
    let site = Site::up();
    let server = &site.server;
    let flags = ["--transaction", "1M", "--no-audit"];
    site.make("first", "20260801", (1, 60_000), "late=0.2");
    let mut load = server.begin("calls", &["made/first"], &flags);
    server.wait_for_parts(2);
    assert!(load.try_wait().expect("a child").is_none(), "it was done before it was killed");
    kill(load);
    let clients = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID <> CONNECTION_ID() AND USER NOT LIKE 'system%'";
    eventually("the end of the killed one's statements", || server.value(clients) == "0");
    let (code, told) = site.dispatch();
    assert_eq!(code, Some(0), "{told}");
    server.load("calls", &["made/first"], &flags);
    // The load of the next one comes between both halves of a dispatch.
    let dispatch = unread(server.home(), &DISPATCH);
    std::thread::sleep(Duration::from_millis(200));
    kill(dispatch);
    eventually("the end of the killed one's statements", || server.value(clients) == "0");
    site.make("more", "20260809", (60_001, 10), "none");
    assert_eq!(server.json("calls", &["made/more"], &[])["tally"]["records"], 10);
    let (code, told) = site.dispatch();
    assert_eq!(code, Some(0), "{told}");
    site.expect("cut", 60_010);
    assert_eq!(server.count("calls"), 0);
    assert_eq!(server.json("calls", &["made/first", "made/more"], &flags)["tally"]["records"], 0);
}

/// A site whose day table is there, so that who locks it holds up the next dispatch.
fn site_with_a_day() -> (Site, String) {
    let site = Site::up();
    site.arrive("a.cdr", "20260801", (1, 1_000), "none");
    let done = site.server.path("done");
    site.once(&["--done", &done], 0);
    (site, done)
}

/// Begins with the second file and waits until it is loaded while its dispatch is held up.
fn held_up(site: &Site, done: &str) -> (Child, Control) {
    let mut control = site.server.control();
    // The dispatch waits for that table; load and audit do not.
    control.exec("LOCK TABLES calls_20260801 READ").expect("a lock");
    site.arrive("b.cdr", "20260801", (1_001, 1_000), "none");
    let child = site.watch(&["--once", "--done", done]);
    site.await_done(2);
    (child, control)
}

fn released(child: Child, mut control: Control, code: i32) -> (String, String) {
    control.exec("UNLOCK TABLES").expect("an end");
    ended(&child.wait_with_output().expect("an end"), code)
}

fn bytes(path: PathBuf) -> u64 {
    path.metadata().expect("a file").len()
}

#[test]
fn what_is_appended_during_the_dispatch_is_loaded_before_the_file_is_put_away() {
    let (site, done) = site_with_a_day();
    let more = fs::read(site.make("more", "20260801", (2_001, 500), "none")).expect("records");
    let (child, control) = held_up(&site, &done);
    let mut file = OpenOptions::new().append(true).open(site.path("b.cdr")).expect("a file");
    file.write_all(&more).expect("written");
    drop(file);
    let (lines, told) = released(child, control, 0);
    assert!(told.contains("b.cdr was changed or replaced after it was loaded; it stays"), "{told}");
    assert_eq!(lines.matches("b.cdr: ").count(), 2, "{lines}");
    site.expect("appended", 2_500);
    assert!(!site.path("b.cdr").exists());
    assert_eq!(bytes(PathBuf::from(done).join("b.cdr")), 3 * more.len() as u64);
}

#[test]
fn a_file_that_took_the_name_during_the_dispatch_is_not_put_away_for_the_one_that_was_loaded() {
    let (site, done) = site_with_a_day();
    let other = site.make("other", "20260801", (5_001, 700), "none");
    let (child, control) = held_up(&site, &done);
    let size = bytes(other.clone());
    fs::rename(other, site.path("b.cdr")).expect("the same file system");
    // Under the name of a file that is in there is another one, which is named and stays.
    let (lines, _) = released(child, control, 1);
    assert!(lines.contains("b.cdr: refused, left where it is"), "{lines}");
    site.expect("replaced", 2_000);
    assert_eq!(bytes(site.path("b.cdr")), size);
    assert!(!PathBuf::from(done).join("b.cdr").exists());
}
