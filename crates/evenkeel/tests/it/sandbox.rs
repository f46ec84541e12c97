//! A sandbox from the command line: up, used again, down; also in a home whose path is not plain.

use crate::cli::{evenkeel, refused, text, words};
use evenkeel_site::sandbox;
use evenkeel_site::server::{Control, Target};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Output;
use tempfile::TempDir;

pub fn done(home: &Path, arguments: &[&str]) -> String {
    let output = evenkeel(home, arguments);
    let (said, told) = text(&output);
    assert!(output.status.success(), "{arguments:?}: {said}{told}");
    said
}

/// A home whose private server `a` goes with the test, however that ends.
pub struct Down<'a>(pub &'a Path);

impl Drop for Down<'_> {
    fn drop(&mut self) {
        evenkeel(self.0, &["sandbox", "down", "a"]);
    }
}

/// A home with the private server `a`, which goes with it.
pub struct Home(pub TempDir);

impl Home {
    pub fn up(flags: &[&str]) -> Self {
        let home = Self(tempfile::tempdir().expect("a temporary directory"));
        done(home.path(), &[&["sandbox", "up", "a"], flags].concat());
        home
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn file(&self, name: &str) -> String {
        self.path().join(name).to_str().expect("UTF-8").to_owned()
    }

    pub fn workload(&self, name: &str, statements: &[(&str, &str)]) -> String {
        workload(self.path(), name, statements)
    }

    /// A connection of root to a database of the server.
    pub fn control(&self, database: Option<&str>) -> Control {
        let server = sandbox::find(self.path(), "a").expect("a sandbox").target();
        let target = Target { database: database.map(str::to_owned), ..server };
        Control::connect(&target).expect("a connection")
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        evenkeel(self.path(), &["sandbox", "down", "a"]);
    }
}

/// A workload of statements with their names; the path of its file.
pub fn workload(folder: &Path, name: &str, statements: &[(&str, &str)]) -> String {
    let of = |(name, sql): &(&str, &str)| format!("[[statement]]\nname = \"{name}\"\nsql = \"{sql}\"\n");
    let statements: String = statements.iter().map(of).collect();
    let file = folder.join(format!("{name}.toml"));
    fs::write(&file, format!("name = \"{name}\"\n{statements}")).expect("a workload");
    file.to_str().expect("UTF-8").to_owned()
}

/// Output of a measurement, which a busy machine may make worth little.
pub fn measured(home: &Path, arguments: &[&str]) -> String {
    figures(&evenkeel(home, arguments)).0
}

pub fn figures(output: &Output) -> (String, String) {
    let (said, told) = text(output);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}: {said}{told}", output.status);
    (said, told)
}

fn checksum(text: &str) -> &str {
    let line = text.lines().find_map(|line| line.trim().strip_prefix("checksum"));
    line.unwrap_or_else(|| panic!("no checksum in {text:?}")).trim()
}

#[test]
fn a_sandbox_says_what_it_holds_and_is_used_again_only_as_it_is() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let fill = ["sandbox", "up", "a", "--set", "max_connections=50", "--ebs", "1", "--items", "100"];
    let first = done(home.path(), &fill);
    assert_eq!(checksum(&done(home.path(), &fill)), checksum(&first));
    let differs = refused(home.path(), &["sandbox", "up", "a", "--set", "max_connections=60"]);
    assert!(differs.contains("50 instead of 60") && differs.contains("sandbox down"), "{differs}");
    // No flag is ignored, and nothing is proposed that would not help: here while it runs, below of a stopped one.
    let copy_is_refused = || {
        let copy = refused(home.path(), &["sandbox", "up", "a", "--copy-of", "b"]);
        assert!(
            copy.contains("--copy-of b would not change it") && copy.contains("sandbox clean a"),
            "{copy}"
        );
    };
    copy_is_refused();
    done(home.path(), &["sandbox", "down", "a"]);
    let stopped = refused(home.path(), &["load", "sandbox:a", "--rate", "1"]);
    assert!(stopped.contains("hint: start it: evenkeel sandbox up a\n"), "{stopped}");
    // Nobody works on data that a study is to restore.
    let note = home.path().join("sandboxes/a/snapshot.study");
    std::fs::write(&note, "killed 12").expect("a note");
    let held = refused(home.path(), &["sandbox", "up", "a"]);
    assert!(
        held.contains("study killed changed the data") && held.contains("evenkeel runs killed"),
        "{held}"
    );
    std::fs::remove_file(note).expect("a note");
    copy_is_refused();
    let rows = refused(home.path(), &["sandbox", "up", "c", "--items", "100"]);
    assert!(rows.contains("--ebs"), "{rows}");
    let clean = refused(home.path(), &["sandbox", "clean", "nobody"]);
    assert!(clean.contains("there is no sandbox \"nobody\"") && !clean.contains("--yes"), "{clean}");
    assert!(refused(home.path(), &["sandbox", "clean", "a"]).contains("add --yes"));
}

#[test]
fn a_flag_that_means_nothing_beside_another_one_is_refused() {
    let home = tempfile::tempdir().expect("a temporary directory");
    for line in [
        "profile mysql://u@127.0.0.1:1/d --set a=b",
        "profile mysql://u@127.0.0.1:1/d --at memory=1G",
        "profile mysql://u@127.0.0.1:1/d --ebs 2",
        "study --resume last --quick",
        "study --list --repeats 9",
        "cdr load --layout x --print-table --again",
        "cdr audit mysql://u@127.0.0.1:1/d --export f --type x",
        "cdr generate --print-layout --seed 2",
        "explain --list --workload tpcw.simple",
    ] {
        let said = refused(home.path(), &words(line));
        let is_refused =
            ["cannot be used with", "were not provided"].iter().any(|words| said.contains(words));
        assert!(is_refused, "{line}: {said}");
    }
}

#[test]
fn a_dvd_store_is_filled_checked_and_loaded_by_its_name() {
    let home = Home::up(&[]);
    let missing = refused(home.path(), &["load", "sandbox:a", "--workload", "dvdstore", "--clients", "2"]);
    assert!(missing.contains("hint:"), "{missing}");
    let fill = ["data", "fill", "sandbox:a", "--workload", "dvdstore", "--size", "1MB"];
    let filled = done(home.path(), &fill);
    assert!(filled.contains("size 1MB, 2000 customers, 3200 products"), "{filled}");
    assert_eq!(checksum(&done(home.path(), &["data", "check", "sandbox:a/dvdstore"])), checksum(&filled));
    let load = words("load sandbox:a -w dvdstore --clients 2 --think 10ms --duration 2s --warm-up 0s");
    let text = measured(home.path(), &load);
    for part in ["orders per minute ", "rolled back, out of stock ", "  login ", "  purchase "] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
    let json = measured(home.path(), &[&load[..], &["--json"]].concat());
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let completed = json["completed"].as_u64().expect("a count");
    let purchase = json["steps"].as_array().expect("steps").iter().find(|step| step["name"] == "purchase");
    assert_eq!(purchase.and_then(|step| step["completed"].as_u64()), Some(completed));
    // A machine that stands still for two seconds sells nothing, and says so.
    let mean = json["orders_per_minute"]["mean"].as_f64().unwrap_or(0.0);
    assert_eq!(mean > 0.0, completed > 0, "{json}");
    let refilled = done(home.path(), &[&fill[..], &["--replace"]].concat());
    assert_eq!(checksum(&refilled), checksum(&filled));
}

#[test]
fn a_home_may_have_a_space_quotes_and_signs_that_option_files_and_shells_know() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let home = &folder.path().join("a 'b' \"c\" #d %e $HOME `f` \\n ü *?");
    let _down = Down(home);
    done(home, &["sandbox", "up", "a", "--ebs", "1", "--items", "100"]);
    measured(home, &["load", "sandbox:a", "--rate", "20", "--duration", "1s", "--warm-up", "0s"]);
    done(home, &["data", "check", "sandbox:a"]);
    let asked = done(home, &["sandbox", "shell", "a", "--", "-rNe", "SELECT @@datadir"]);
    assert_eq!(
        asked.trim_end().trim_end_matches('/'),
        home.join("sandboxes/a/data").to_str().expect("UTF-8")
    );
    done(home, &["sandbox", "down", "a"]);
    // A second start finds the data directory of the first one.
    done(home, &["sandbox", "up", "a"]);
    done(home, &["sandbox", "down", "a"]);
    done(home, &["sandbox", "clean", "--yes"]);
}

#[test]
fn a_home_that_no_option_file_can_name_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    for name in [&b"line\nend"[..], b"not UTF-8 \xff", b"colon:here"] {
        let home = folder.path().join(OsStr::from_bytes(name));
        let text = refused(&home, &["sandbox", "up", "a"]);
        assert!(text.contains("hint: ") && text.contains("--home"), "{text}");
        assert!(!home.join("sandboxes/a/data").exists() && !home.exists(), "{text}");
        // What needs no server does not care.
        assert!(evenkeel(&home, &["runs"]).status.success());
    }
}
