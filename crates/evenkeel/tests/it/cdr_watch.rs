//! Files that appear in a folder go through load and dispatch, as a user has that done every day.

mod audited;
mod by_hand;
mod meanwhile;
mod troubles;

use crate::cdr_load::server::Server;
use crate::cli::{borrowed, ended, evenkeel, piped};
use crate::guard::proxy::signal;
use crate::patience::{eventually, found};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Child;

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
