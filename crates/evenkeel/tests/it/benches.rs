//! Benches tell good results from bad ones.

use crate::left_out::left_out;
use std::path::Path;
use std::process::Command;

#[test]
fn benches_tell_planted_results_that_are_good_from_those_that_are_bad() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/benches");
    if Command::new("python3").arg("--version").output().is_err() {
        return left_out("python3 is not installed, in which benches are written");
    }
    let output = Command::new("python3").arg("-B").arg(&tests).output().expect("python3 can be started");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {said}", output.status);
    assert!(said.contains("\nOK") && !said.contains("Ran 0 tests"), "{said}");
}
