//! The latency threshold of storage, as a user finds it. What curves come to is tested where they are judged: here time is
//! real, and a curve whatever the machine makes of it; a verdict that a quiet machine gives is waited for.

use crate::cli::{configured, evenkeel, found};
use crate::sandbox::done;
use crate::share::text;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Bytes of the storage: 256 blocks.
const BYTES: usize = 4 << 20;

/// Measures, and gives what was printed as JSON. A machine may stand still for so long that no read ends in a
/// step; it is told so, and measured again.
fn measured(home: &Path, disk: &str, array: &str, more: &[&str]) -> Value {
    let all = ["share", "knee", "--backing", disk, "--simulated", array, "--json", "-q"];
    let all: Vec<&str> = all.iter().chain(more).copied().collect();
    let output = found("a measurement", || {
        let output = evenkeel(home, &all);
        let is_void = String::from_utf8_lossy(&output.stderr).contains("measure for longer");
        (!is_void).then_some(output)
    });
    let told = String::from_utf8_lossy(&output.stderr);
    let json: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {told}"));
    let is_found = json["verdict"] == "found";
    assert_eq!(output.status.code(), Some(if is_found { 0 } else { 3 }), "{json}");
    assert!(told.is_empty(), "quiet is quiet: {told}");
    json
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

/// However slow the machine is: no read ends before its spindle has done it, and spindles do no more than
/// they can.
fn keeps_to_the_array(json: &Value, spindles: f64, service_ms: f64) {
    let depths = json["depths"].as_array().expect("depths");
    for (place, depth) in depths.iter().enumerate() {
        let outstanding = number(&depth["outstanding"]);
        assert_eq!(outstanding, f64::from(1 << place), "{json}");
        for round in depth["rounds"].as_array().expect("rounds") {
            let (reads, rate) = (number(&round["reads"]), number(&round["throughput_per_s"]));
            assert!(number(&round["latency_ms"]) >= 0.999 * service_ms, "{round}");
            // Those that had ended before the step was counted and were answered late are no more than were
            // outstanding.
            let done = spindles.min(outstanding) * (1e3 * reads / rate / service_ms + 1.0);
            assert!(
                reads >= 1.0 && reads <= done + outstanding,
                "{reads} with {outstanding} at once: {json}"
            );
        }
    }
    let peak = depths.iter().map(|depth| number(&depth["throughput_per_s"])).fold(0.0, f64::max);
    assert!((number(&json["peak_per_s"]) / peak - 1.0).abs() < 1e-9, "{json}");
    assert!(json["threshold_ms"].as_f64().is_none_or(|threshold| threshold >= 0.999 * service_ms), "{json}");
}

#[test]
fn an_array_is_measured_by_reads_alone_and_at_no_more_than_it_can_do() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let (disk, file) = (folder.path().join("disk"), text(&folder.path().join("array")));
    let before: Vec<u8> = (0..BYTES).map(|place| (place % 251) as u8).collect();
    fs::write(&disk, &before).expect("a file can be written");
    let made = ["share", "array", &file, "--spindles", "4", "--service", "1ms", "--spread", "0"];
    done(folder.path(), &made);
    assert!(!evenkeel(folder.path(), &made).status.success(), "one that is there stays");
    found("a knee", || {
        let json = measured(folder.path(), &text(&disk), &file, &["--rounds", "2", "--duration", "200ms"]);
        assert_eq!(json["depths"].as_array().map(Vec::len), Some(8));
        keeps_to_the_array(&json, 4.0, 1.0);
        (json["verdict"] == "found").then_some(())
    });
    assert!(fs::read(&disk).expect("readable") == before, "what was to be read was changed");
}

/// What `share knee --costs` of an array with a large and a write cost of 4 prints as JSON.
fn costs(home: &Path, disk: &str, array: &str, more: &[&str]) -> Value {
    let all = ["share", "knee", "--costs", "--backing", disk, "--simulated", array, "--json", "-q"];
    let few = ["--sizes", "16k,64k", "--duration", "60ms", "--limit", "2s", "--depth-max", "8"];
    serde_json::from_str(&crate::sandbox::measured(home, &[&all[..], &few, more].concat())).expect("JSON")
}

#[test]
fn costs_are_measured_without_a_write_unless_it_is_allowed_and_a_host_takes_them() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let at = |name: &str| text(&folder.path().join(name));
    fs::write(at("disk"), vec![1; BYTES]).expect("a file can be written");
    let shape = ["--spindles", "1", "--service", "1ms", "--large-cost", "16", "--write-cost", "4"];
    done(folder.path(), &[&["share", "array", &at("array")], &shape[..]].concat());
    let found = costs(folder.path(), &at("disk"), &at("array"), &[]);
    assert!(fs::read(at("disk")).expect("readable") == vec![1; BYTES], "nothing may be written");
    assert_eq!(found["cost_write"], Value::Null, "{found}");
    let found = costs(folder.path(), &at("disk"), &at("array"), &["--overwrite", "--fill", "100ms"]);
    assert!(fs::read(at("disk")).expect("readable") != vec![1; BYTES], "writes were asked for");
    let cost = |io: &str, bytes: u64| {
        let kinds = found["kinds"].as_array().expect("kinds");
        let kind =
            kinds.iter().find(|kind| kind["io"] == io && kind["bytes"] == bytes).expect("it was measured");
        number(&kind["cost"])
    };
    // 4 of each, by the flags above: between a half and the double, however busy the machine is.
    for (io, bytes) in [("read", 65_536), ("write", 16_384)] {
        assert!((2.0..8.0).contains(&cost(io, bytes)), "{io} of {bytes}: {found}");
    }
    let costs = format!("[costs]\nread = {}\nwrite = {}\n", found["cost_read"], found["cost_write"]);
    let file = configured(&folder.path().join("share.toml"), &costs);
    let disk = at("disk");
    let place = ["--name", "a", "--nbd", "127.0.0.1:0", "--backing", &disk];
    done(folder.path(), &[&["share", "disk", "--check", &file], &place[..]].concat());
}
