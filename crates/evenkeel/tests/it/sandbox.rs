//! A sandbox from the command line: up, used again, reloaded, down.

use crate::cli::{evenkeel, refused};
use std::path::Path;

/// Output of a command that must do.
fn done(home: &Path, arguments: &[&str]) -> String {
    let output = evenkeel(home, arguments);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{arguments:?}: {text}{}", String::from_utf8_lossy(&output.stderr));
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
}
