//! Bytes of a client: however they are cut, they say the same or are refused alike.
#![no_main]

#[path = "../../crates/wire/tests/relay/harness.rs"]
#[allow(dead_code)]
mod harness;

use evenkeel_wire::relay::Dialect;
use harness::{Session, play};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((&size, bytes)) = data.split_first() else { return };
    let dialect = Dialect::new(u64::from(size) << 24);
    let (mut whole, mut cut) = (Session::new(dialect), Session::new(dialect));
    let first = whole.client(bytes);
    let second = play(&mut cut, &[(false, bytes)], || usize::from(size) + 1);
    assert_eq!(first, second);
    assert_eq!(whole.notes, cut.notes);
});
