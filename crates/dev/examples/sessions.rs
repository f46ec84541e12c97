//! Plays histories of guarded sessions: `sessions FIRST COUNT`; `sessions FIRST COUNT bytes` plays one session between
//! sides that say what bytes dictate. Its last line is a JSON object: histories, steps, and the first violation of all.
#![allow(clippy::print_stdout, reason = "an example prints its figures")]

use evenkeel_dev::sessions::{Violation, bytes, play};
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().collect();
    let number = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok());
    let (first, count) = (number(1).unwrap_or(1), number(2).unwrap_or(100));
    let dictated = words.get(3).is_some_and(|word| word == "bytes");
    let play: fn(u64) -> Result<u64, Violation> = if dictated { bytes::play_seed } else { play };
    let (mut steps, mut seeds, mut violations) = (0, 0, 0_u8);
    for seed in first..first + count {
        match play(seed) {
            Ok(more) => (steps, seeds) = (steps + more, seeds + 1),
            Err(violation) => {
                println!("{violation}");
                (steps, violations) = (steps + violation.step, 1);
                break;
            }
        }
    }
    println!("{{\"seeds\": {seeds}, \"steps\": {steps}, \"violations\": {violations}}}");
    ExitCode::from(violations)
}
