//! The study of shares with two databases, as small as it can be: what it tells, and that nothing of it is left.

use super::disk::can_mount;
use crate::cli::evenkeel;
use serde_json::Value;
use std::fs;
use std::path::Path;

const TINY: [&str; 17] = [
    "-q",
    "study",
    "shares",
    "--databases",
    "--json",
    "--size",
    "1MB",
    "--clients",
    "4",
    "--most",
    "8",
    "--ways",
    "evenkeel",
    "--warm-up",
    "1s",
    "--duration",
    "10s",
];

#[test]
fn two_databases_get_orders_through_mounted_disks_that_are_gone_in_the_end() {
    if !can_mount() {
        return;
    }
    let home = tempfile::tempdir().expect("a folder");
    let output = evenkeel(home.path(), &TINY);
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}{errors}");
    let lines: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let [run, summary] = &lines[..] else { panic!("a run and a summary: {said}") };
    for host in run["hosts"].as_array().expect("hosts") {
        assert!(host["orders_per_minute"].as_f64().is_some_and(|orders| orders > 0.0), "{host}");
        assert!(host["window"].as_f64().is_some_and(|window| window > 0.0 && window <= 8.0), "{host}");
        assert_eq!(host["lost"], 0, "{host}");
    }
    assert!(run["ratio"].as_f64().is_some_and(|ratio| ratio > 0.0), "{run}");
    assert_eq!(summary["cells"][0]["ratio"]["median"], run["ratio"]);
    let study = home.path().join("studies").join(summary["study"].as_str().expect("a name"));
    let periods = fs::read_to_string(study.join("periods.csv")).expect("every period");
    for host in ["a", "b"] {
        let told = periods.lines().filter(|line| line.split(',').nth(4) == Some(host)).count();
        // Twice a second, in 11 s; a host that stands still for a while misses some, and none counts twice.
        assert!((1..=24).contains(&told), "{told} periods of host {host}: {periods}");
    }
    assert!(fs::read_to_string(study.join("report.html")).expect("the page").ends_with("</html>\n"));
    assert!(!study.join("work").exists(), "images stayed");
    assert_eq!(left_of(home.path()), Vec::<String>::new());
}

/// Mounts and processes that know of a folder.
fn left_of(home: &Path) -> Vec<String> {
    let home = home.display().to_string();
    let mounts = fs::read_to_string("/proc/self/mounts").expect("mounts");
    let mut left: Vec<String> =
        mounts.lines().filter(|line| line.contains(&home)).map(str::to_owned).collect();
    for process in fs::read_dir("/proc").expect("processes").flatten() {
        let command = fs::read(process.path().join("cmdline")).unwrap_or_default();
        let command = String::from_utf8_lossy(&command).replace('\0', " ");
        if command.contains(&home) {
            left.push(command);
        }
    }
    left
}
