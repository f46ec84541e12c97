//! How many servers a load needs, from the folder of a profile whose truth is known.

use crate::cli::{asked, refused};
use evenkeel_core::random::Seed;
use evenkeel_dev::profile::VirtualProfile;
use evenkeel_lab::load::nothing_measured;
use evenkeel_study::store::{Series, StudyFolder, run_name, write_tables};
use serde_json::Value;
use std::path::Path;

/// Writes the profile of a server of one CPU that takes 4 ms for each request, at these parts of what it carries.
fn profiled(home: &Path, loads: &[f64]) {
    let (plan, runs) = VirtualProfile::of_one_cpu(loads).play(Seed(1)).expect("rates");
    let folder = StudyFolder::create_for(&home.join("runs"), &plan.id, &plan).expect("a folder");
    for run in runs {
        let name = run_name(run.cell, run.repeat);
        folder.begin_run(&name).expect("a run");
        let tables = |dir: &Path| write_tables(dir, &nothing_measured(), &Series::default());
        folder.finish_run(&name, &run, tables).expect("a run");
    }
}

#[test]
fn a_stored_profile_says_servers_response_and_money_and_refuses_what_no_server_carries() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let home = home.path();
    profiled(home, &[0.2, 0.4, 0.6, 0.8, 1.3, 1.8]);
    let size = |words: &[&str]| asked(home, &[&["size", "last", "--rate"], words].concat());
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
    assert!(code == Some(1) && text.contains("cannot carry 450 requests/s"), "{text}");
    assert!(text.contains("evenkeel profile --workload virtual --rate "), "{text}");
}

#[test]
fn one_rate_is_enough_for_a_wide_answer_and_none_is_refused_with_the_command_that_answers() {
    let home = tempfile::tempdir().expect("a temporary directory");
    profiled(home.path(), &[0.3, 1.8]);
    let (code, text) = asked(home.path(), &["size", "last", "--rate", "180", "--servers", "1"]);
    assert!(code == Some(1) && text.contains("wide: ") && text.contains("one settled rate"), "{text}");
    assert!(text.contains("the server may not carry this rate"), "{text}");
    let home = tempfile::tempdir().expect("a temporary directory");
    profiled(home.path(), &[1.3, 1.8]);
    let text = refused(home.path(), &["size", "last", "--rate", "400"]);
    assert!(text.contains("evenkeel profile --workload virtual --rate "), "{text}");
}
