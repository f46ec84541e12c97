//! Both sides of a session, in the form of the captured corpus.
#![no_main]

#[path = "../../crates/wire/tests/relay/harness.rs"]
#[allow(dead_code)]
mod harness;

use harness::{Session, captured, play};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let (dialect, records) = captured(data);
    let (mut whole, mut cut) = (Session::new(dialect), Session::new(dialect));
    let first = play(&mut whole, &records, || usize::MAX);
    let second = play(&mut cut, &records, || 3);
    assert_eq!(first, second);
    assert_eq!(whole.notes, cut.notes);
});
