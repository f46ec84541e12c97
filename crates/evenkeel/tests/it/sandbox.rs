//! A sandbox from the command line: up, used again, reloaded, down.

use crate::cli::{evenkeel, refused};
use std::path::Path;

/// Output of a command that must do.
pub fn done(home: &Path, arguments: &[&str]) -> String {
    let output = evenkeel(home, arguments);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{arguments:?}: {text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

/// Output of a measurement, which a busy machine may make worth little.
pub fn measured(home: &Path, arguments: &[&str]) -> String {
    let output = evenkeel(home, arguments);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{arguments:?}: {text}{told}");
    text
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

    let reloaded = done(home.path(), &["data", "reload", "sandbox:a"]);
    assert_eq!(checksum(&reloaded), checksum(&first));
    let dumps = std::fs::read_dir(home.path().join("dumps")).expect("the dump was made in the home");
    assert_eq!(dumps.count(), 0, "the dump goes when the reload is done");
    done(home.path(), &["sandbox", "down", "a"]);
    let stopped = refused(home.path(), &["load", "sandbox:a", "--rate", "1"]);
    let start = format!("hint: start it: evenkeel --home {} sandbox up a\n", home.path().display());
    assert!(stopped.contains(&start), "{stopped}");
    // No flag is ignored, and nothing is proposed that would not help.
    let copy = refused(home.path(), &["sandbox", "up", "a", "--copy-of", "b"]);
    assert!(copy.contains("--copy-of b would not change it") && copy.contains("sandbox clean a"), "{copy}");
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
        "profile mysql://u@127.0.0.1:1/d --memory 1G",
        "profile mysql://u@127.0.0.1:1/d --sandboxes 2",
        "profile mysql://u@127.0.0.1:1/d --ebs 2",
        "study throttling --resume last --repeats 9",
        "study shares --resume last --live",
        "study variation mysql://u@127.0.0.1:1/d --servers 3",
        "study variation --resume last --seed 3",
        "study telecom --resume last --quick",
        "cdr load --layout x --print-table --again",
        "cdr audit mysql://u@127.0.0.1:1/d --export f --type x",
        "cdr generate --print-layout --seed 2",
        "cdr convert f --layout x --into d --rejects r",
        "explain --list --workload tpcw.simple",
    ] {
        let said = refused(home.path(), &line.split(' ').collect::<Vec<_>>());
        assert!(
            ["cannot be used with", "were not provided"].iter().any(|words| said.contains(words)),
            "{line}: {said}"
        );
    }
}

#[test]
fn a_dvd_store_is_filled_checked_and_loaded_by_its_name() {
    let home = tempfile::tempdir().expect("a temporary directory");
    done(home.path(), &["sandbox", "up", "a"]);
    let missing = refused(home.path(), &["load", "sandbox:a", "--workload", "dvdstore", "--clients", "2"]);
    assert!(missing.contains("hint:"), "{missing}");
    let fill = ["data", "fill", "sandbox:a", "--workload", "dvdstore", "--size", "1MB"];
    let filled = done(home.path(), &fill);
    assert!(
        filled.starts_with("DVD Store data: size 1MB, 2000 customers, 3200 products, seed 1"),
        "{filled}"
    );
    assert_eq!(checksum(&done(home.path(), &["data", "check", "sandbox:a/dvdstore"])), checksum(&filled));
    let reloaded = done(home.path(), &["data", "reload", "sandbox:a/dvdstore"]);
    assert_eq!(checksum(&reloaded), checksum(&filled));
    let load =
        ["load", "sandbox:a", "-w", "dvdstore", "--clients", "2", "--think", "10ms", "--duration", "2s"];
    let load = [&load[..], &["--warm-up", "0s"]].concat();
    let text = measured(home.path(), &load);
    for words in ["orders per minute ", "rolled back, out of stock ", "  login ", "  browse ", "  purchase "]
    {
        assert!(text.contains(words), "no {words:?} in {text}");
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
    done(home.path(), &["sandbox", "down", "a"]);
}
