//! A tiny telecom study from the command line, against a real server: killed, gone on with, and whole in the end.

use crate::cli::{kill, unread};
use crate::patience::eventually;
use crate::sandbox::done;
use crate::study::seen_by_all;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

const TINY: [&str; 4] = ["study", "telecom", "--quick", "records=2000"];

/// Folders of finished runs of the one study.
fn runs(home: &Path) -> Vec<PathBuf> {
    let study = fs::read_dir(home.join("runs")).ok().and_then(|mut all| all.next()).and_then(Result::ok);
    let listed = study.and_then(|study| fs::read_dir(study.path().join("runs")).ok());
    let paths = listed.into_iter().flatten().flatten().map(|entry| entry.path());
    paths.filter(|path| path.join("run.json").exists() && path.extension().is_none()).collect()
}

/// Kills a study after three runs, and what it comes to when it goes on: no finished run is made again.
pub fn killed_and_resumed(home: &Path, study: &[&str], most: usize, meanwhile: impl FnOnce()) -> Value {
    let study = unread(home, study);
    eventually("three runs", || runs(home).len() >= 3);
    kill(study);
    let before = runs(home);
    let first = fs::read(before[0].join("run.json")).expect("a run");
    assert!(before.len() < most, "killed when all was done");
    meanwhile();
    let results = done(home, &["-q", "study", "--resume", "last", "--json"]);
    assert_eq!(fs::read(before[0].join("run.json")).expect("a run"), first, "a finished run was made again");
    serde_json::from_str(&results).expect("JSON")
}

#[test]
fn a_study_that_is_killed_goes_on_and_no_record_of_any_of_its_loads_is_lost_or_doubled() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let results = killed_and_resumed(home.path(), &TINY, 16, || ());
    each_cell_is_audited(&results);
    let left = |folder: &str| home.path().join(folder).read_dir().map_or(0, Iterator::count);
    assert_eq!((left("sandboxes"), left("scratch")), (0, 0), "the server or its data stayed");
    seen_by_all(home.path(), &results, "telecom", "study,part,connections,way,indexes,source,figure");
}

fn each_cell_is_audited(results: &Value) {
    let cells = results["cells"].as_array().expect("cells");
    assert_eq!(cells.len(), 16, "{cells:#?}");
    let figure = |cell: &Value, name: &str| cell["figures"][name]["mean"].as_f64();
    for cell in cells {
        // What a loss would have ended is no figure: it could not be anything but nothing.
        assert!(cell["figures"]["lost"].is_null() && cell["figures"]["doubled"].is_null(), "{cell}");
        assert!(figure(cell, "records").is_some_and(|records| records >= 2_000.0), "{cell}");
        assert!(figure(cell, "seconds").is_some_and(|seconds| seconds > 0.0), "{cell}");
        if cell["part"] == "crash" {
            assert!(figure(cell, "killed_at_percent").is_some_and(|percent| percent > 0.0), "{cell}");
            assert!(figure(cell, "recovery_s").is_some_and(|seconds| seconds > 0.0), "{cell}");
        }
    }
}
