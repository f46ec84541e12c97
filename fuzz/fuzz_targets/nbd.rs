//! A client of a disk that sends anything.
#![no_main]

#[path = "../../crates/wire/tests/nbd/harness.rs"]
#[allow(dead_code)]
mod harness;

use harness::play;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    assert_eq!(play(data, || usize::MAX), play(data, || 3));
});
