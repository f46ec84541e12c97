//! The study of shares with two databases, as small as it can be: what it tells, and that nothing of it is left.

use super::disk::can_mount;
use crate::cli::words;
use crate::sandbox::done;
use serde_json::Value;
use std::fs;
use std::path::Path;

const TINY: &str =
    "-q study databases --json size=1MB clients=4 most=8 ways=evenkeel warm-up=1s duration=10s";

#[test]
fn two_databases_get_orders_through_mounted_disks_that_are_gone_in_the_end() {
    if !can_mount() {
        return;
    }
    let home = tempfile::tempdir().expect("a folder");
    let results: Value = serde_json::from_str(&done(home.path(), &words(TINY))).expect("JSON");
    let cell = &results["cells"][0];
    let figure = |name: &str| cell["figures"][name]["mean"].as_f64();
    for host in ["a", "b"] {
        let of = |name: &str| figure(&format!("{name}@{host}"));
        assert!(of("orders_per_minute").is_some_and(|orders| orders > 0.0), "{cell}");
        assert!(of("window").is_some_and(|window| window > 0.0 && window <= 8.0), "{cell}");
        assert_eq!(of("lost"), Some(0.0), "{cell}");
    }
    assert!(figure("orders_ratio").is_some_and(|ratio| ratio > 0.0), "{cell}");
    let columns = results["series"][0]["columns"].as_array().expect("columns");
    let rows = results["series"][0]["rows"].as_array().expect("every period");
    for host in ["a", "b"] {
        let window = columns.iter().position(|column| *column == format!("window@{host}")).expect("a column");
        let told = rows.iter().filter(|row| row[1][window].is_number()).count();
        // Twice a second, in 11 s; a host that stands still for a while misses some, and none counts twice.
        assert!((1..=24).contains(&told), "{told} periods of host {host}: {rows:?}");
    }
    let study = home.path().join("runs").join(results["id"].as_str().expect("a name"));
    assert!(fs::read_to_string(study.join("report.html")).expect("the page").ends_with("</html>\n"));
    assert!(!home.path().join("scratch").exists(), "images stayed");
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
