//! What tests of disks have in common.

use std::fmt::Display;
use std::io::Write;

/// Says on stderr, past the capture of tests, what this machine has no way to test.
pub fn left_out(why: impl Display) {
    let _ = writeln!(std::io::stderr().lock(), "not tested here: {why}");
}
