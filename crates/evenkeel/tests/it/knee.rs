//! The latency threshold of storage, as a user finds it.

use super::cli::{evenkeel, refused};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Bytes of the storage: 256 blocks.
const BYTES: usize = 4 << 20;

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// Measures, and gives what was printed as JSON.
fn measured(home: &Path, disk: &str, array: &str, more: &[&str]) -> Value {
    let all = ["share", "knee", "--backing", disk, "--simulated", array, "--json", "-q"];
    let output = evenkeel(home, &all.iter().chain(more).copied().collect::<Vec<_>>());
    let told = String::from_utf8_lossy(&output.stderr);
    let json: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {told}"));
    let is_found = json["verdict"] == "found";
    assert_eq!(output.status.code(), Some(if is_found { 0 } else { 3 }), "{json}");
    assert!(told.is_empty(), "quiet is quiet: {told}");
    json
}

#[test]
fn the_threshold_of_an_array_is_found_by_reads_alone() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let (disk, array) = (folder.path().join("disk"), text(&folder.path().join("array")));
    let before: Vec<u8> = (0..BYTES).map(|place| (place % 251) as u8).collect();
    fs::write(&disk, &before).expect("a file can be written");
    let made = evenkeel(folder.path(), &["share", "array", &array, "--spindles", "4", "--service", "1ms"]);
    assert!(made.status.success());
    // A machine with busy neighbours may bend a curve; not three times.
    let found = (0..3)
        .map(|_| measured(folder.path(), &text(&disk), &array, &["--rounds", "2", "--seconds", "200ms"]))
        .find(|json| json["threshold_ms"].is_number())
        .expect("a knee is found");
    let peak = found["peak_per_s"].as_f64().expect("a number");
    assert!((3_000.0..5_000.0).contains(&peak), "4 spindles of 1 ms: {peak}");
    let threshold_ms = found["threshold_ms"].as_f64().expect("a number");
    assert!((1.3..20.0).contains(&threshold_ms), "{threshold_ms}");
    assert_eq!(found["depths"].as_array().map(Vec::len), Some(8));
    let next = found["next"].as_str().expect("a text");
    assert!(next.contains("--latency "), "{next}");
    assert!(fs::read(&disk).expect("readable") == before, "what was to be read was changed");
}

#[test]
fn storage_that_was_not_measured_deeply_enough_has_no_threshold() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let at = |name: &str| text(&folder.path().join(name));
    fs::write(at("disk"), vec![1; BYTES]).expect("a file can be written");
    let made =
        evenkeel(folder.path(), &["share", "array", &at("array"), "--spindles", "200", "--service", "5ms"]);
    assert!(made.status.success());
    let few = ["--rounds", "1", "--seconds", "300ms", "--depth-max", "4"];
    let found = (0..3)
        .map(|_| measured(folder.path(), &at("disk"), &at("array"), &few))
        .find(|json| json["verdict"] == "not-level")
        .expect("200 spindles are more than 4 reads keep busy");
    assert_eq!(found["threshold_ms"], Value::Null);
    assert_eq!(found["next"], "measure deeper: --depth-max 8");
}

#[test]
fn bad_input_is_refused_with_what_to_do_and_nothing_is_made() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let at = |name: &str| text(&folder.path().join(name));
    fs::write(at("disk"), vec![1; BYTES]).expect("a file can be written");
    fs::write(at("tiny"), vec![1; 100]).expect("a file can be written");
    let knee = |backing: &str, more: &[&str]| {
        let all = ["share", "knee", "--backing", backing];
        refused(folder.path(), &all.iter().chain(more).copied().collect::<Vec<_>>())
    };
    let disk = |more: &[&str]| knee(&at("disk"), more);
    for (told, expected) in [
        (refused(folder.path(), &["share", "knee"]), "--backing"),
        (knee(&at("none"), &[]), "hint: name a file or block device that is there"),
        (knee(&text(folder.path()), &[]), "neither a file nor a block device"),
        (knee(&at("tiny"), &[]), "too small"),
        (disk(&["--depth-max", "1024"]), "hint: a larger file, or a smaller --depth-max"),
        (disk(&["--depth-max", "100"]), "hint: depths are doubled: --depth-max 64"),
        (disk(&["--depth-max", "0"]), "--depth-max 4"),
        (disk(&["--depth-max", "1024", "--block", "16M"]), "too much memory"),
        (disk(&["--block", "1000"]), "a multiple of 512 bytes"),
        (disk(&["--block", "512", "--direct"]), "a multiple of 4096 bytes"),
        (disk(&["--block", "much"]), "no number with a unit"),
        (disk(&["--rounds", "0"]), "--rounds must be between 1 and 100"),
        (disk(&["--seconds", "1ms"]), "--seconds must be between 50ms and 10m"),
        (disk(&["--simulated", &at("none")]), "evenkeel share array FILE makes one"),
    ] {
        assert!(told.contains(expected), "{expected}: {told}");
    }
    assert!(!Path::new(&at("none")).exists(), "a missing file was made");
}
