//! Plays histories of guarded sessions: `sessions FIRST COUNT`, or `sessions FIRST story` for one that is told;
//! `sessions FIRST COUNT bytes` plays one session between sides that say what bytes dictate.
//! Its last line is a JSON object: histories, steps, and the first violation of all.
#![allow(clippy::print_stdout, reason = "an example prints its figures")]

use evenkeel_dev::sessions::{Violation, bytes, play, tell};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let first: u64 = words.next().and_then(|word| word.parse().ok()).unwrap_or(1);
    match words.next().unwrap_or_else(|| "100".to_owned()).as_str() {
        "story" => story(first),
        count => {
            let dictated = words.next().as_deref() == Some("bytes");
            histories(first, count.parse().unwrap_or(100), dictated)
        }
    }
}

fn story(seed: u64) -> ExitCode {
    let (told, ended) = tell(seed);
    told.iter().for_each(|line| println!("{line}"));
    println!("{ended:?}");
    if ended.is_ok() { ExitCode::SUCCESS } else { ExitCode::from(1) }
}

/// The command that plays a history again; one of sides that say what bytes dictate has no story.
fn replay(seed: u64, dictated: bool) -> String {
    let how = if dictated { "1 bytes" } else { "story" };
    format!("cargo run --release -p evenkeel-dev --example sessions -- {seed} {how}")
}

fn histories(first: u64, count: u64, dictated: bool) -> ExitCode {
    let play: fn(u64) -> Result<u64, Violation> = if dictated { bytes::play_seed } else { play };
    let (mut steps, mut played) = (0, 0);
    for seed in first..first + count {
        match play(seed) {
            Ok(more) => (steps, played) = (steps + more, played + 1),
            Err(violation) => {
                println!("{violation}");
                println!("replay: {}", replay(violation.seed, dictated));
                println!("{{\"seeds\": {played}, \"steps\": {}, \"violations\": 1}}", steps + violation.step);
                return ExitCode::from(1);
            }
        }
    }
    println!("{{\"seeds\": {played}, \"steps\": {steps}, \"violations\": 0}}");
    ExitCode::SUCCESS
}
