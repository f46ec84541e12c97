//! A private server, and files of records beside it.

use crate::cli;
use crate::cli::evenkeel;
use crate::patience::{eventually, found};
use evenkeel_site::sandbox;
use evenkeel_site::server::{Control, Target};
use std::fs;
use std::path::Path;
use std::process::Output;

pub fn ok(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A server that can be killed and started again, with database `cdr`.
pub struct Server {
    home: tempfile::TempDir,
    layout: String,
}

impl Server {
    pub fn up(settings: &[&str]) -> Self {
        let home = tempfile::tempdir().expect("a temporary directory");
        let layout = home.path().join("calls.toml");
        fs::write(&layout, ok(&evenkeel(home.path(), &["cdr", "generate", "--print-layout"])))
            .expect("a layout");
        let server = Self { layout: layout.display().to_string(), home };
        server.start(settings);
        let without = Target { database: None, ..server.target() };
        Control::connect(&without)
            .and_then(|mut control| control.exec("CREATE DATABASE cdr"))
            .expect("a database");
        server
    }

    pub fn start(&self, settings: &[&str]) {
        let small = ["innodb_buffer_pool_size=64M", "innodb_log_file_size=48M"];
        let mut words = vec!["sandbox", "up", "a"];
        for setting in small.iter().chain(settings) {
            words.extend(["--set", setting]);
        }
        ok(&evenkeel(self.home(), &words));
    }

    /// Kills the server as the kernel does where memory is short.
    pub fn kill(&self) {
        let pid = fs::read_to_string(self.home().join("sandboxes/a/server.pid")).expect("a number");
        let pid = pid.split_whitespace().next().expect("a number").to_owned();
        let killed =
            std::process::Command::new("kill").args(["-9", &pid]).status().expect("kill can be started");
        assert!(killed.success());
        eventually("the server is gone", || {
            !Path::new("/proc").join(&pid).join("cmdline").exists() || is_zombie(&pid)
        });
    }

    pub fn home(&self) -> &Path {
        self.home.path()
    }

    pub fn path(&self, name: &str) -> String {
        self.home().join(name).display().to_string()
    }

    pub fn layout(&self) -> String {
        self.layout.clone()
    }

    pub fn url(&self) -> String {
        "sandbox:a".to_owned()
    }

    fn target(&self) -> Target {
        let found = sandbox::find(self.home(), "a").expect("a sandbox");
        Target { database: Some("cdr".to_owned()), ..found.target() }
    }

    pub fn control(&self) -> Control {
        Control::connect(&self.target()).expect("a connection")
    }

    pub fn value(&self, sql: &str) -> String {
        self.control().query_value(sql).expect("a row").unwrap_or_default()
    }

    pub fn count(&self, table: &str) -> u64 {
        self.value(&format!("SELECT COUNT(*) FROM `{table}`")).parse().expect("a number")
    }

    pub fn generate(&self, name: &str, records: u64, dirt: &str) {
        let (path, records) = (self.path(name), records.to_string());
        ok(&evenkeel(
            self.home(),
            &["cdr", "generate", &path, "--records", &records, "--dirt", dirt, "--overwrite"],
        ));
    }

    /// Clean records whose numbers begin there.
    pub fn generate_from(&self, name: &str, records: u64, first: u64) {
        let (path, records, first) = (self.path(name), records.to_string(), first.to_string());
        ok(&evenkeel(
            self.home(),
            &["cdr", "generate", &path, "--records", &records, "--first", &first, "--overwrite"],
        ));
    }

    /// The words that load files into a table.
    pub fn words(&self, table: &str, files: &[&str], flags: &[&str]) -> Vec<String> {
        let rejects = self.path(&format!("{table}.rejects"));
        let mut words = vec!["cdr".to_owned(), "load".to_owned(), self.url()];
        words.extend(files.iter().map(|file| self.path(file)));
        words.extend(["--layout", &self.layout, "--table", table, "--rejects", &rejects].map(str::to_owned));
        words.extend(flags.iter().map(|flag| (*flag).to_owned()));
        words
    }

    pub fn load(&self, table: &str, files: &[&str], flags: &[&str]) -> String {
        ok(&evenkeel(self.home(), &borrowed(&self.words(table, files, flags))))
    }

    /// What a load says that must be refused.
    pub fn refused(&self, table: &str, files: &[&str], flags: &[&str]) -> String {
        cli::refused(self.home(), &borrowed(&self.words(table, files, flags)))
    }

    pub fn json(&self, table: &str, files: &[&str], flags: &[&str]) -> serde_json::Value {
        serde_json::from_str(&self.load(table, files, &[flags, &["--json"]].concat())).expect("JSON")
    }

    /// Waits until so many parts of loads are committed.
    pub fn wait_for_parts(&self, parts: u64) {
        let mut control = self.control();
        found("parts that are in", || {
            let count = control.query_value("SELECT COUNT(*) FROM evenkeel_load_parts");
            let count = count.ok().flatten().and_then(|count| count.parse::<u64>().ok());
            (count >= Some(parts)).then_some(())
        });
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        evenkeel(self.home(), &["sandbox", "down", "a"]);
    }
}

pub fn borrowed(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).collect()
}

fn is_zombie(pid: &str) -> bool {
    fs::read_to_string(Path::new("/proc").join(pid).join("stat")).is_ok_and(|stat| stat.contains(") Z "))
}
