//! Call records, as a user converts them.

use crate::cli::{borrowed, command, kill, refused, unread};
use crate::sandbox::done;
use serde_json::Value;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// A folder with a file of 20,000 records and their layout.
struct Records(TempDir);

impl Records {
    fn made(dirt: &str) -> Self {
        let records = Self(tempfile::tempdir().expect("a temporary directory"));
        records.generate("calls", "20000", dirt);
        let layout = done(records.home(), &["cdr", "generate", "--print-layout"]);
        fs::write(records.path("calls.toml"), layout).expect("a layout");
        records
    }

    fn home(&self) -> &Path {
        self.0.path()
    }

    fn path(&self, name: &str) -> String {
        self.home().join(name).display().to_string()
    }

    /// What was planted, by its kind.
    fn generate(&self, name: &str, records: &str, dirt: &str) -> Value {
        let path = self.path(name);
        let words = ["cdr", "generate", &path, "--records", records, "--dirt", dirt, "--json", "--overwrite"];
        serde_json::from_str::<Value>(&done(self.home(), &words)).expect("JSON")["planted"].clone()
    }

    /// The words that convert a file by a layout into a folder, which both have these names.
    fn words(&self, file: &str, layout: &str, into: &str) -> Vec<String> {
        let (file, layout, into) = (self.path(file), self.path(layout), self.path(into));
        let words = ["cdr", "convert", &file, "--layout", &layout, "--into", &into, "--json"];
        words.map(str::to_owned).into()
    }

    /// What all files have come to.
    fn convert(&self, file: &str, layout: &str, into: &str) -> Value {
        let said = done(self.home(), &borrowed(&self.words(file, layout, into)));
        serde_json::from_str::<Value>(&said).expect("JSON")["all"].clone()
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).expect("a file")
    }

    fn lines(&self, name: &str) -> u64 {
        self.read(name).iter().filter(|byte| **byte == b'\n').count() as u64
    }
}

#[test]
fn dirty_records_are_lines_or_rejects_and_as_many_as_were_planted() {
    let records = Records::made("all");
    let planted = records.generate("calls", "20000", "all");
    let planted = |kind: &str| planted[kind].as_u64().expect("a count");
    let all = records.convert("calls", "calls.toml", "csv");
    let tally = |key: &str| all[key].as_u64().expect("a count");
    let twice = planted("duplicate") + planted("contradiction");
    assert_eq!(tally("records"), 20_000 + twice);
    assert_eq!(tally("duplicates") + tally("contradictions"), twice);
    assert_eq!(tally("rejects"), planted("nul") + planted("non_ascii") + planted("short") + twice);
    assert_eq!(records.lines("csv/calls.csv") + records.lines("csv/calls.rejects"), tally("records"));
    assert_eq!(records.lines("csv/calls.rejects"), tally("rejects"));
    let mut few = command(records.home(), &borrowed(&records.words("calls", "calls.toml", "csv")));
    let code = few.args(["--max-rejects", "3"]).output().expect("it runs").status.code();
    assert_eq!(code, Some(1), "a rerun judges what was done before");
}

#[test]
fn a_kill_in_the_middle_leaves_no_file_under_its_name_and_a_rerun_brings_all() {
    let records = Records::made("none");
    records.generate("many", "700000", "duplicate=0.01");
    records.convert("many", "calls.toml", "whole");
    let into = records.home().join("csv");
    let part = into.join(".many.csv.part");
    for until in [1, 20_000_000, 40_000_000] {
        let mut child = unread(records.home(), &borrowed(&records.words("many", "calls.toml", "csv")));
        while !part.metadata().is_ok_and(|found| found.len() > until)
            && child.try_wait().expect("a child").is_none()
        {
            std::thread::yield_now();
        }
        kill(child);
        assert!(!into.join("many.csv").exists(), "killed at {until}");
    }
    records.convert("many", "calls.toml", "csv");
    for name in ["many.csv", "many.rejects"] {
        let [first, again] = ["whole", "csv"].map(|folder| records.read(&format!("{folder}/{name}")));
        assert!(first == again, "{name}");
    }
    assert_eq!(fs::read_dir(&into).expect("a folder").count(), 3, "nothing else is left");
}

#[test]
fn no_output_takes_the_place_of_an_input_or_of_what_became_of_another() {
    let records = Records::made("none");
    let at = |name: &str| records.path(name);
    let (calls, layout, before) = (at("calls"), at("calls.toml"), records.read("calls"));
    let pipe = refused(records.home(), &["cdr", "convert", "-", "--layout", &layout, "--into", &at("csv")]);
    assert!(pipe.contains("/dev/stdin is a pipe, which cannot be read again"), "{pipe}");
    for day in ["one", "two"] {
        fs::create_dir(at(day)).expect("a folder");
    }
    fs::copy(&calls, at("one/calls")).expect("a copy");
    fs::write(at("two/calls"), &before[..before.len() / 2 / 200 * 200]).expect("other records");
    records.convert("one/calls", "calls.toml", "csv");
    let lines = records.read("csv/calls.csv");
    let error = refused(records.home(), &borrowed(&records.words("two/calls", "calls.toml", "csv")));
    assert!(error.contains("one/calls") && error.contains("a folder of its own"), "{error}");
    assert!(records.read("csv/calls.csv") == lines, "the lines of the first are as they were");
    // The same input with other records is converted anew.
    fs::write(at("one/calls"), &before[..2_000]).expect("other records");
    records.convert("one/calls", "calls.toml", "csv");
    // Nor is a file generated over one that is there.
    let told = refused(records.home(), &["cdr", "generate", &calls, "--records", "10"]);
    assert!(told.contains("is there already") && records.read("calls") == before, "{told}");
    let told = refused(records.home(), &["cdr", "generate", "new", "--records", "1e5"]);
    assert!(told.contains("write a whole number"), "{told}");
}

#[test]
fn a_guessed_layout_converts_every_record_that_it_was_guessed_from() {
    let records = Records::made("none");
    let (calls, layout) = (records.path("calls"), records.path("guessed.toml"));
    done(records.home(), &["cdr", "layout", &calls, "--output", &layout]);
    let all = records.convert("calls", "guessed.toml", "csv");
    assert_eq!((all["records"].as_u64(), all["rejects"].as_u64()), (Some(20_000), Some(0)));
    fs::write(records.path("marks"), b"\0\x01\x02\n".repeat(100)).expect("a file");
    let mut guess = command(records.home(), &["cdr", "layout", &records.path("marks")]);
    let told = guess.output().expect("it runs");
    assert!(told.status.code() == Some(3) && told.stdout.is_empty(), "{told:?}");
}

const NAMES: &str = "key = ['seq']\n[[field]]\nname = 'seq'\nwidth = 4\ntype = 'integer'\n[[field]]\nname = 'name'\nwidth = 4\n";

#[test]
fn lines_that_somebody_changed_are_made_again_though_they_are_as_many_bytes() {
    let records = Records(tempfile::tempdir().expect("a temporary directory"));
    fs::write(records.path("names.toml"), NAMES).expect("a layout");
    fs::write(records.path("a"), "   1ada \n").expect("records");
    records.convert("a", "names.toml", "csv");
    let made = || fs::metadata(records.path("csv/a.csv")).and_then(|known| known.modified()).expect("it");
    let first = made();
    records.convert("a", "names.toml", "csv");
    assert_eq!(made(), first, "what is done is left alone");
    fs::write(records.path("csv/a.csv"), "1;eve\n").expect("an output");
    records.convert("a", "names.toml", "csv");
    assert_eq!(records.read("csv/a.csv"), b"1;ada\n");
}
