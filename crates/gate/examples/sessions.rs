//! Plays histories of guarded sessions: `sessions FIRST COUNT`, or `sessions FIRST story` for one that is told;
//! `sessions FIRST COUNT bytes` plays one session between sides that say what bytes dictate.
//! Its last line is a JSON object: histories, steps, and the first violation of all.

use evenkeel_gate::guard::simulation::{Violation, bytes, play, tell};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let first: u64 = words.next().and_then(|word| word.parse().ok()).unwrap_or(1);
    match words.next().unwrap_or_else(|| "100".to_owned()).as_str() {
        "story" => story(first),
        count => {
            let play = if words.next().as_deref() == Some("bytes") { bytes::play_seed } else { play };
            histories(first, count.parse().unwrap_or(100), play)
        }
    }
}

fn story(seed: u64) -> ExitCode {
    let (told, ended) = tell(seed);
    told.iter().for_each(|line| println!("{line}"));
    println!("{ended:?}");
    if ended.is_ok() { ExitCode::SUCCESS } else { ExitCode::from(1) }
}

fn histories(first: u64, count: u64, play: fn(u64) -> Result<u64, Violation>) -> ExitCode {
    let (mut steps, mut played) = (0, 0);
    for seed in first..first + count {
        match play(seed) {
            Ok(more) => (steps, played) = (steps + more, played + 1),
            Err(violation) => {
                println!("{violation}");
                println!("{{\"seeds\": {played}, \"steps\": {}, \"violations\": 1}}", steps + violation.step);
                return ExitCode::from(1);
            }
        }
    }
    println!("{{\"seeds\": {played}, \"steps\": {steps}, \"violations\": 0}}");
    ExitCode::SUCCESS
}
