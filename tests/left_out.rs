//! Tests that this machine has no way to run. One file for the tests of all crates, which take it in by its path: that
//! nothing was tested must never look like a test that passed.

use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Write;

/// Names the file, if there is one, whose lines become the last line of `make test`.
const FILE: &str = "EVENKEEL_SKIPPED";

/// Says that the test that calls this is skipped, and why: on stderr, past the capture of tests, and in that file.
///
/// # Panics
/// The file cannot be written: then nobody would hear of it.
pub fn left_out(why: impl Display) {
    let thread = std::thread::current();
    let why = why.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
    let line = format!("{} ({why})\n", thread.name().unwrap_or("a test"));
    let _ = write!(std::io::stderr().lock(), "skipped: {line}");
    if let Some(path) = std::env::var_os(FILE) {
        // One write of one line: tests of several processes may be skipped at a time.
        let file = OpenOptions::new().create(true).append(true).open(path);
        file.and_then(|mut file| file.write_all(line.as_bytes())).expect("the list of skipped tests");
    }
}
