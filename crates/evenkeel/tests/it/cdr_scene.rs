//! A private server for records that are loaded, audited and exported.

use crate::cli::{ended, evenkeel};
use crate::sandbox::{Home, done};
use evenkeel_haul::layout;
use evenkeel_haul::table::{Engine, Table};
use evenkeel_site::server::Control;
use serde_json::Value;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Output;

pub struct Scene {
    home: Home,
    pub control: Control,
    pub layout: PathBuf,
}

impl Scene {
    pub fn up(layout: &str) -> Self {
        Self::with(layout, &[])
    }

    pub fn with(layout: &str, flags: &[&str]) -> Self {
        let home = Home::up(flags);
        home.control(None).exec("CREATE DATABASE calls").expect("a database");
        let control = home.control(Some("calls"));
        let path = home.path().join("calls.toml");
        fs::write(&path, layout).expect("a layout");
        Self { home, control, layout: path }
    }

    pub fn of_calls() -> Self {
        Self::up(evenkeel_haul::generate::LAYOUT)
    }

    pub fn home(&self) -> &Path {
        self.home.path()
    }

    pub fn exec(&mut self, sql: &str) -> u64 {
        self.control.exec(sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    pub fn generate(&self, name: &str, words: &[&str]) -> PathBuf {
        let path = self.home().join(name);
        done(self.home(), &[&["cdr", "generate", path.to_str().expect("UTF-8")], words].concat());
        path
    }

    /// Converts into the folder `csv`, where the rejects are afterwards.
    pub fn convert(&self, inputs: &[&Path], words: &[&str]) -> PathBuf {
        let into = self.home().join("csv");
        let inputs: Vec<&str> = inputs.iter().map(|path| path.to_str().expect("UTF-8")).collect();
        let (layout, folder) = (self.layout.to_str().expect("UTF-8"), into.to_str().expect("UTF-8"));
        let head = ["cdr", "convert", "--layout", layout, "--into", folder];
        done(self.home(), &[&head[..], words, &inputs].concat());
        into
    }

    pub fn table(&self, name: &str) -> Table {
        let file = layout::read(&self.layout).expect("a layout");
        Table::of(&file.layout, 0, name, Engine::InnoDb, &[]).expect("a table")
    }

    pub fn create(&mut self, table: &str) {
        let sql = self.table(table).create_sql();
        self.exec(&sql);
    }

    pub fn load(&mut self, table: &str, csv: &Path) {
        let sql = self.table(table).load_sql();
        let file = File::open(csv).expect("lines");
        self.control.load_data_local(&sql, file).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }

    pub fn audit(&self, inputs: &[&Path], words: &[&str]) -> Output {
        let inputs: Vec<&str> = inputs.iter().map(|path| path.to_str().expect("UTF-8")).collect();
        let head = ["cdr", "audit", "sandbox:a/calls", "--layout", self.layout.to_str().expect("UTF-8")];
        evenkeel(self.home(), &[&head[..], words, &inputs].concat())
    }

    pub fn found(&self, inputs: &[&Path], words: &[&str]) -> Value {
        let output = self.audit(inputs, &[words, &["--json"]].concat());
        assert!(matches!(output.status.code(), Some(0 | 1)), "{}", String::from_utf8_lossy(&output.stderr));
        let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let any = !found["findings"].as_array().expect("findings").is_empty();
        assert_eq!(output.status.code(), Some(if any { 1 } else { 0 }));
        found
    }

    /// What is said where nothing was found.
    pub fn clean(&self, inputs: &[&Path], words: &[&str]) -> String {
        let (text, _) = ended(&self.audit(inputs, words), 0);
        assert!(text.contains(": each once"), "{text}");
        text
    }
}
