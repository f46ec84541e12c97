//! A private server with the database `cdr`, and files of records beside it.

use crate::cli::{self, asked, borrowed, unread, words};
use crate::guard::proxy::signal;
use crate::patience::{eventually, found};
use crate::sandbox::{Home, done};
use evenkeel_site::server::Control;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Child;

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
