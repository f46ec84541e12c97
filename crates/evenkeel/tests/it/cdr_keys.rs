//! A file of keys whose call is killed, as a user runs it again.

use crate::cli::{command, evenkeel};
use crate::patience::found;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Records in the file in whose middle the call is killed.
const MANY: u64 = 400_000;

/// Where all files of a test lie.
struct Scene(tempfile::TempDir);

impl Scene {
    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn run(&self, words: &[&str]) -> String {
        let output = evenkeel(self.0.path(), words);
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn generate(&self, name: &str, records: u64, first: u64, dirt: &str) {
        let (path, records, first) = (self.path(name), records.to_string(), first.to_string());
        let path = path.display().to_string();
        self.run(&["cdr", "generate", &path, "--records", &records, "--first", &first, "--dirt", dirt]);
    }

    /// The words that convert files into a folder beside the keys of calls before.
    fn words(&self, files: &[&str], into: &str, keys: &str) -> Vec<String> {
        let files = files.iter().map(|file| self.path(file));
        let (layout, into, keys) = (self.path("calls.toml"), self.path(into), self.path(keys));
        let flags = [("--layout", layout), ("--into", into), ("--keys", keys)];
        let flags = flags.into_iter().flat_map(|(flag, path)| [PathBuf::from(flag), path]);
        let words = ["cdr", "convert"].map(PathBuf::from).into_iter().chain(files).chain(flags);
        words.map(|word| word.display().to_string()).collect()
    }

    fn convert(&self, files: &[&str], into: &str, keys: &str) {
        let words = self.words(files, into, keys);
        self.run(&words.iter().map(String::as_str).collect::<Vec<_>>());
    }

    /// Converts, and is killed once a file is so long; `what` is to be there by then.
    fn kill(&self, files: &[&str], until: (&Path, u64), what: &Path) {
        let words = self.words(files, "csv", "keys");
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        let mut child =
            command(self.0.path(), &words).stderr(Stdio::null()).spawn().expect("the binary runs");
        found("bytes of the last output", || {
            until.0.metadata().is_ok_and(|known| known.len() > until.1).then_some(())
        });
        child.kill().expect("a signal");
        assert!(child.wait().expect("an end").code().is_none() && what.exists(), "killed under way");
    }

    /// Rejects of a file with one record of each that was converted, and how many lines it brought.
    fn today(&self, name: &str) -> (usize, String) {
        let record = |file: &str| fs::read(self.path(file)).expect("records")[..200].to_vec();
        let last = fs::read(self.path("many")).expect("records");
        let records =
            [record("yesterday"), record("first"), record("many"), last[last.len() - 200..].to_vec()];
        fs::write(self.path(name), records.concat()).expect("records");
        self.convert(&[name], "csv", "keys");
        let read = |ending: &str| fs::read_to_string(self.path(&format!("csv/{name}.{ending}"))).expect("it");
        (read("csv").lines().count(), read("rejects"))
    }
}

#[test]
fn a_call_with_keys_that_is_killed_at_any_moment_and_run_again_leaves_them_all() {
    let scene = Scene(tempfile::tempdir().expect("a temporary directory"));
    fs::write(scene.path("calls.toml"), scene.run(&["cdr", "generate", "--print-layout"])).expect("a layout");
    scene.generate("yesterday", 1_000, 1, "none");
    scene.generate("first", 5_000, 1_001, "none");
    scene.generate("many", MANY, 10_001, "duplicate=0.01");
    scene.convert(&["yesterday"], "csv", "keys");
    let before = fs::read(scene.path("keys")).expect("keys");
    fs::write(scene.path("other-keys"), &before).expect("keys");
    let files = ["first", "many"];
    scene.convert(&files, "whole", "other-keys");
    let (part, done) = (scene.path("csv/.many.csv.part"), scene.path("csv/first.done"));
    for bytes in [1, 20_000_000] {
        scene.kill(&files, (&part, bytes), &done);
        assert!(fs::read(scene.path("keys")).expect("keys") == before, "keys are written at the end");
    }
    scene.convert(&files, "csv", "keys");
    for name in ["first.csv", "first.rejects", "many.csv", "many.rejects"] {
        let of = |folder: &str| fs::read(scene.path(folder).join(name)).expect("an output");
        assert!(of("csv") == of("whole"), "{name}");
    }
    let (lines, rejects) = scene.today("today");
    assert_eq!((lines, rejects.matches("\tduplicate of ").count()), (0, 4), "{rejects}");
    // What a kill leaves that comes after the last output and before the keys.
    fs::write(scene.path("keys"), &before).expect("keys");
    scene.convert(&files, "csv", "keys");
    let (lines, rejects) = scene.today("today-again");
    assert_eq!((lines, rejects.matches("\tduplicate of ").count()), (0, 4), "{rejects}");
}
