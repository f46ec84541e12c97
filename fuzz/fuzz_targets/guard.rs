//! The session of the guard as it runs in production, between two sides that say what bytes dictate. The harness judges:
//! permits, memory, and that nothing gets to the server past a login and its check.
#![no_main]

use evenkeel_dev::sessions::bytes::play;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| play(data));
