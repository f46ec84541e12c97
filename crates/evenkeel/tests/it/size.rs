//! How many servers a load needs, from the folder of a profile whose truth is known.

use crate::cli::{configured, evenkeel, refused};
use crate::sandbox::done;
use evenkeel_core::random::Seed;
use evenkeel_dev::profile::VirtualProfile;
use evenkeel_lab::load::nothing_measured;
use evenkeel_study::store::{RunTables, StudyFolder, run_name};
use serde_json::Value;
use std::path::Path;

/// Writes the profile of a server of one CPU that takes 4 ms for each request, at these parts of what it carries.
fn profiled(home: &Path, loads: &[f64]) {
    let (plan, runs) = VirtualProfile::of_one_cpu(loads).play(Seed(1)).expect("rates");
    let folder = StudyFolder::create(&home.join("runs"), &plan).expect("a folder");
    for run in runs {
        let name = run_name(run.cell, run.repeat);
        folder.begin_run(&name).expect("a run");
        let tables = RunTables { load: &nothing_measured(), sense_columns: Vec::new(), sense: Vec::new() };
        folder.finish_run(&name, &run, |dir| tables.write(dir)).expect("a run");
    }
}

#[test]
fn a_stored_profile_says_servers_response_and_money_and_refuses_what_no_server_carries() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let home = home.path();
    profiled(home, &[0.2, 0.4, 0.6, 0.8, 1.3, 1.8]);
    let size = |words: &[&str]| {
        let output = evenkeel(home, &[&["size", "last", "--rate"], words].concat());
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    // Of M/M/1 p95 is 12 ms / (1 - u): within 30 ms up to 150 requests/s, so that three servers do, or some more with what is not known.
    let (code, text) = size(&["400", "--objective", "p95=30ms", "--cost", "0.12/h", "--json"]);
    assert_eq!(code, Some(0), "{text}");
    let found: Value = serde_json::from_str(&text).expect("JSON");
    let answer = &found["answers"][0];
    let servers = answer["servers"].as_f64().expect("servers");
    assert!((3.0..=5.0).contains(&servers), "{text}");
    assert!((answer["cost"]["per_hour"].as_f64().expect("money") - 0.12 * servers).abs() < 1e-9, "{text}");
    let tau = |end: &str| answer["each"]["tau_ms"][end].as_f64().expect("a response");
    let truth = 4.0 / (1.0 - 0.004 * 400.0 / servers);
    assert!(tau("low") < truth && truth < tau("high"), "{truth} {text}");
    let (code, text) = size(&["450", "--servers", "1"]);
    assert!(code == Some(1) && text.contains("does not carry 450.0 requests/s"), "{text}");
    assert!(
        text.contains("evenkeel profile --workload virtual --rate ") && text.contains("(takes "),
        "{text}"
    );
}

#[test]
fn one_rate_is_enough_for_a_wide_answer_and_none_is_refused_with_the_command_that_answers() {
    let home = tempfile::tempdir().expect("a temporary directory");
    profiled(home.path(), &[0.3, 1.8]);
    let output = evenkeel(home.path(), &["size", "last", "--rate", "180", "--servers", "1"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success() && text.contains("wide: ") && text.contains("one settled rate"),
        "{text}"
    );
    let home = tempfile::tempdir().expect("a temporary directory");
    profiled(home.path(), &[1.3, 1.8]);
    let text = refused(home.path(), &["size", "last", "--rate", "400"]);
    assert!(text.contains("at no rate of the profile did the response settle"), "{text}");
    assert!(text.contains("evenkeel profile --workload virtual --rate "), "{text}");
    let text = refused(home.path(), &["size", "nothing", "--rate", "400"]);
    assert!(text.contains("no study named nothing"), "{text}");
    let _ = done(home.path(), &["runs"]);
}

#[test]
fn a_time_without_a_unit_is_refused_by_every_command_that_takes_one() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let file = "listen = '127.0.0.1:0'\nbackend = '127.0.0.1:1'\nlogin_max = 8\n";
    let guard = configured(&home.path().join("guard.toml"), file);
    let lines: [&[&str]; 9] = [
        &["size", "last", "--rate", "4", "--objective", "p95=8"],
        &["profile", "--rate", "9", "--duration", "8"],
        &["profile", "--rate", "9", "--warm-up", "8"],
        &["profile", "--rate", "9", "--objective", "8"],
        &["profile", "--within", "8"],
        &["load", "mysql://a@127.0.0.1:1/b", "--rate", "9", "--duration", "8"],
        &["sense", "--for", "8"],
        &["guard", &guard],
        &["guard", "demo", "--duration", "8"],
    ];
    for line in lines {
        let text = refused(home.path(), line);
        assert!(text.contains("has no unit; write it as 8s, 8ms or 8m"), "{line:?}: {text}");
    }
}

#[test]
fn a_plan_without_series_is_told_and_not_answered_by_silence() {
    let home = tempfile::tempdir().expect("a temporary directory");
    profiled(home.path(), &[0.2, 0.3, 0.4, 0.5]);
    let mut studies = std::fs::read_dir(home.path().join("runs")).expect("studies").flatten();
    let file = studies.next().expect("a study").path().join("plan.json");
    let mut plan: Value = serde_json::from_slice(&std::fs::read(&file).expect("a plan")).expect("JSON");
    plan["series"] = Value::Array(Vec::new());
    std::fs::write(&file, plan.to_string()).expect("written");
    let text = refused(home.path(), &["size", "last", "--rate", "40"]);
    assert!(text.contains("no series of runs") && text.contains("hint: restore plan.json"), "{text}");
}
