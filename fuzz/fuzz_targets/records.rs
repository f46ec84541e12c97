//! Layouts and records: what holds of all of them is in the file that is shared with a test.
#![no_main]

#[path = "../shared/records.rs"]
mod records;

libfuzzer_sys::fuzz_target!(|data: &[u8]| records::check(data));
