//! Study folders that are kept with the sources: a profile and a throttling study as commit 64878ec wrote them, and shares on the
//! virtual clock. They open, export and go on as before; `GOLDEN=write` writes anew what is expected, where a text or a table is to
//! change. Figures never are.

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const KINDS: [&str; 3] = ["profile", "throttling", "shares"];
const VIEWS: [(&str, &[&str]); 4] = [
    ("table", &["runs"]),
    ("cells.csv", &["export", "--format", "cells"]),
    ("runs.csv", &["export", "--format", "runs"]),
    ("json", &["export", "--format", "json"]),
];

fn kept(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/folders").join(name)
}

fn evenkeel(home: &Path, words: &[&str], study: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
    command.arg("--home").arg(home).args(words).arg(study).output().expect("the binary runs")
}

fn text(output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8(output.stdout.clone()).expect("text")
}

/// A copy of a kept folder, since whoever opens one locks it.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a kept folder") {
        let path = entry.expect("an entry").path();
        let goal = to.join(path.file_name().expect("a name"));
        match path.is_dir() {
            true => copy(&path, &goal),
            false => drop(fs::copy(&path, &goal).expect("copied")),
        }
    }
}

/// What is shown of a study: of JSON all but the server's variables, which are as long as they say little.
fn shown(home: &Path, view: &str, words: &[&str], study: &Path) -> String {
    let text = text(&evenkeel(home, words, study));
    if view != "json" {
        return text;
    }
    let mut value: Value = serde_json::from_str(&text).expect("JSON");
    value.as_object_mut().expect("an object").remove("manifest");
    format!("{value:#}\n")
}

#[test]
fn a_kept_folder_of_each_kind_is_shown_and_exported_as_before() {
    let home = tempfile::tempdir().expect("a home");
    for kind in KINDS {
        let study = home.path().join("runs").join(kind);
        copy(&kept(kind), &study);
        for (view, words) in VIEWS {
            let (now, golden) = (shown(home.path(), view, words, &study), kept(&format!("{kind}.{view}")));
            if std::env::var_os("GOLDEN").is_some_and(|value| value == "write") {
                fs::write(&golden, &now).expect("written");
            }
            let then = fs::read_to_string(&golden).expect("a golden file");
            let line = now.lines().zip(then.lines()).position(|(now, then)| now != then);
            assert!(now == then, "{}: differs from line {line:?} on:\n{now}", golden.display());
        }
    }
}

/// The lines of a CSV whose fields hold no commas: field by name of its column.
fn rows(csv: &str) -> Vec<BTreeMap<&str, &str>> {
    assert!(!csv.contains('"'), "a field in quotes");
    let mut lines = csv.lines().map(|line| line.split(','));
    let heads: Vec<&str> = lines.next().expect("a line of names").collect();
    lines.map(|line| heads.iter().copied().zip(line).collect()).collect()
}

#[test]
fn a_profile_of_before_exports_the_figures_that_it_exported_then() {
    let home = tempfile::tempdir().expect("a home");
    let study = home.path().join("runs/profile");
    copy(&kept("profile"), &study);
    for format in ["cells", "runs"] {
        let then =
            fs::read_to_string(kept(&format!("profile.before.{format}.csv"))).expect("exported by 64878ec");
        let now = text(&evenkeel(home.path(), &["export", "--format", format], &study));
        let (then, now) = (rows(&then), rows(&now));
        assert_eq!(then.len(), now.len(), "{format}");
        for (then, now) in then.iter().zip(&now) {
            // Since then a lag that changes no verdict makes no cell invalid.
            let was_late = then.values().any(|value| value.contains("lag-too-large"));
            for (column, value) in then.iter().filter(|(column, _)| **column != "valid" || !was_late) {
                assert_eq!(now.get(column), Some(value), "{format}, {column}");
            }
        }
    }
}

#[test]
fn a_throttling_study_of_before_has_the_figures_that_it_had_then() {
    let home = tempfile::tempdir().expect("a home");
    let study = home.path().join("runs/throttling");
    copy(&kept("throttling"), &study);
    let then: Value =
        serde_json::from_slice(&fs::read(kept("throttling.before.json")).expect("of 64878ec")).expect("JSON");
    let now = text(&evenkeel(home.path(), &["export"], &study));
    let (now, mut seen) = (rows(&now), 0);
    for cell in then["cells"].as_array().expect("cells") {
        let is_cell = |row: &&BTreeMap<&str, &str>| {
            cell["way"] == row["way"] && cell["clients"].as_u64() == row["clients"].parse().ok()
        };
        for (figure, value) in
            cell["figures"].as_object().expect("figures").iter().filter(|(_, value)| !value.is_null())
        {
            let row = now.iter().filter(is_cell).find(|row| row["figure"] == figure);
            let row = row.unwrap_or_else(|| panic!("{figure} of {} is gone", cell["way"]));
            for key in ["mean", "se", "low", "high"].into_iter().filter(|key| !value[*key].is_null()) {
                let (then, now): (f64, f64) =
                    (value[key].as_f64().expect("a number"), row[key].parse().expect("a number"));
                assert!((then - now).abs() <= 1e-9 * then.abs(), "{figure}, {key}: {then} then, {now} now");
                seen += 1;
            }
        }
    }
    assert!(seen > 100, "only {seen} figures compared");
}

/// The last of the CPUs that this process may use, which is the generator's in a profile.
fn last_cpu() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("procfs");
    let list =
        status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).expect("a list of CPUs");
    list.rsplit([',', '-', '\t', ' ']).next().and_then(|cpu| cpu.trim().parse().ok()).expect("a CPU")
}

#[test]
fn a_complete_profile_of_before_goes_on_and_measures_nothing() {
    let home = tempfile::tempdir().expect("a home");
    let study = home.path().join("runs/profile");
    copy(&kept("profile"), &study);
    // A study goes on only on the CPUs that it began on, and those are of the machine that wrote it.
    let mut plan: Value =
        serde_json::from_slice(&fs::read(study.join("plan.json")).expect("a plan")).expect("JSON");
    plan["settings"]["generator_cpus"] = serde_json::json!([last_cpu()]);
    fs::write(study.join("plan.json"), plan.to_string()).expect("written");
    let before = text(&evenkeel(home.path(), &["export", "--format", "runs"], &study));
    let output = evenkeel(home.path(), &["profile", "--resume"], &study);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        output.status.code(),
        Some(3),
        "its generator was late in all runs, so that it has no bound: {said}"
    );
    assert!(!said.contains("error"), "{said}");
    assert!(said.contains("profile is complete, and nothing is left to measure"), "{said}");
    assert!(!home.path().join("sandboxes").exists(), "a server was started");
    assert_eq!(text(&evenkeel(home.path(), &["export", "--format", "runs"], &study)), before);
}

#[test]
fn a_complete_throttling_study_of_before_goes_on_and_measures_nothing() {
    let home = tempfile::tempdir().expect("a home");
    let study = home.path().join("studies/throttling");
    copy(&kept("throttling"), &study);
    let before = text(&evenkeel(home.path(), &["export"], &study));
    let output = evenkeel(home.path(), &["study", "throttling", "--resume"], &study);
    text(&output);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("throttling is complete, and nothing is left to measure"), "{said}");
    assert_eq!(text(&evenkeel(home.path(), &["export"], &study)), before);
    assert!(study.join("runs").is_dir() || study.join("points").is_dir(), "the runs are kept");
}
