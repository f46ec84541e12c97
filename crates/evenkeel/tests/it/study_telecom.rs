//! A tiny telecom study from the command line, against a real server: killed, gone on with, and whole in the end.

use crate::cli::{command, evenkeel, refused};
use crate::patience::eventually;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

const TINY: [&str; 5] = ["study", "telecom", "--quick", "--records", "2000"];

/// Folders of finished runs of the one study.
fn runs(home: &Path) -> Vec<PathBuf> {
    let study = fs::read_dir(home.join("runs")).ok().and_then(|mut all| all.next()).and_then(Result::ok);
    let listed = study.and_then(|study| fs::read_dir(study.path().join("runs")).ok());
    let paths = listed.into_iter().flatten().flatten().map(|entry| entry.path());
    paths.filter(|path| path.join("run.json").exists() && path.extension().is_none()).collect()
}

#[test]
fn a_study_that_is_killed_goes_on_and_no_record_of_any_of_its_loads_is_lost_or_doubled() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let mut study = command(home.path(), &TINY)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary runs");
    eventually("three runs", || runs(home.path()).len() >= 3);
    study.kill().expect("a signal");
    study.wait().expect("an end");
    let before = runs(home.path());
    let first = fs::read(before[0].join("run.json")).expect("a run");
    assert!(before.len() < 16, "killed when all was done");

    let output = evenkeel(home.path(), &["-q", "study", "telecom", "--resume", "last", "--json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let results: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(fs::read(before[0].join("run.json")).expect("a run"), first, "a finished run was made again");
    each_cell_is_audited(&results);
    what_cannot_be_told_is_said(&results);
    let left = |folder: &str| home.path().join(folder).read_dir().map_or(0, Iterator::count);
    assert_eq!((left("sandboxes"), left("scratch")), (0, 0), "the server or its data stayed");
    seen_by_all(home.path(), &results);
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

fn what_cannot_be_told_is_said(results: &Value) {
    let findings = results["findings"].as_array().expect("findings");
    assert!(
        findings.iter().all(|finding| finding["outcome"] == "not testable here"),
        "one run each: {findings:#?}"
    );
    let caveats = results["caveats"].to_string();
    assert!(caveats.contains("few-runs") && !caveats.contains("unfinished"), "{caveats}");
}

/// The commands that read studies see this one too.
fn seen_by_all(home: &Path, results: &Value) {
    let id = results["id"].as_str().expect("a name");
    let list = evenkeel(home, &["runs"]);
    let list = String::from_utf8_lossy(&list.stdout).into_owned();
    assert!(list.contains("study of telecom") && list.contains("complete"), "{list}");
    let export = evenkeel(home, &["export", id]);
    let csv = String::from_utf8_lossy(&export.stdout).into_owned();
    assert!(csv.starts_with("study,part,connections,way,indexes,source,figure"), "{csv}");
    let page = fs::read_to_string(home.join("runs").join(id).join("report.html")).expect("a page");
    assert!(page.contains("MyISAM, indexes after, published") && page.ends_with("</html>\n"));
}

#[test]
fn the_study_dispatches_as_many_records_at_once_as_the_command_does() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let help = evenkeel(home.path(), &["cdr", "dispatch", "--help"]);
    let help = String::from_utf8_lossy(&help.stdout).into_owned();
    let batch = help.split("--batch <N>").nth(1).expect("the option");
    let default = batch.split("[default: ").nth(1).and_then(|rest| rest.split(']').next());
    assert_eq!(default, Some(evenkeel_study::telecom::BATCH.to_string().as_str()), "{help}");
}

#[test]
fn what_cannot_be_measured_is_refused_before_anything_starts() {
    let home = tempfile::tempdir().expect("a temporary directory");
    for (flags, said) in [
        (&["--parts", "loads"][..], "there is export, load"),
        (&["--records", "5"], "5 is not in"),
        (&["--records", "1000000000", "--days", "31"], "take fewer --records"),
        (&["--resume", "nothing"], "no study named nothing"),
    ] {
        let told = refused(home.path(), &[&["study", "telecom"], flags].concat());
        assert!(told.contains(said), "{flags:?}: {told}");
    }
    assert!(["runs", "sandboxes", "scratch"].iter().all(|name| !home.path().join(name).exists()));
}
