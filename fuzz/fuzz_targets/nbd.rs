//! A client of a disk that sends anything, with and without TLS.
#![no_main]

#[path = "../../crates/wire/tests/nbd/harness.rs"]
#[allow(dead_code)]
mod harness;

use harness::{play, play_tls};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    assert_eq!(play(data, || usize::MAX), play(data, || 3));
    assert_eq!(play_tls(data, || usize::MAX), play_tls(data, || 3));
});
