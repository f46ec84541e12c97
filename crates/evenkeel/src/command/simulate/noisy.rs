//! How often the bounds of a profile hold beside a neighbour, on a server whose capacity is known.

use super::many;
use crate::command::Session;
use crate::failure::WithHint;
use crate::out;
use anyhow::Result;
use evenkeel_core::Nanos;
use evenkeel_core::arrivals::RateError;
use evenkeel_core::bounds::Wanted;
use evenkeel_core::random::Seed;
use evenkeel_core::simulation::{Phases, Shared, Try, TryPlan};
use serde_json::json;
use std::fmt::Write as _;
use std::process::ExitCode;

/// Mean service time of the virtual server.
const SERVICE: Nanos = Nanos::from_millis(4);
/// Mean time that the neighbour takes at once.
const BURST: Nanos = Nanos::from_millis(100);

/// Flags of `evenkeel simulate noisy`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The server works 4 ms on a request in the mean, on one CPU, which a neighbour takes for 100 ms at a time in the mean: a \
share of all time. Each try is a whole profile, as `evenkeel profile --within`: a search, then runs of 8 s one by one. \
Held against what the server carries is what a profile says: at least and at most beside the neighbour, by itself \
without it; gap is from at least to at most and width that of by itself, beside their middle.

Examples:
  evenkeel simulate noisy                                  5, 15 and 30 % taken, 1,000 tries each
  evenkeel simulate noisy --shares 0.15 --runs 16 --json   one level, a line for each try"
)]
pub struct Args {
    /// Shares of the CPU that the neighbour takes, from 0 and below 1
    #[arg(long, value_delimiter = ',', default_value = "0.05,0.15,0.3", value_parser = share)]
    pub shares: Vec<f64>,
    /// Tries of each
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub tries: u64,
    /// Runs that a try has time for, beside the search
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub runs: u16,
    /// Seed of every draw
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// As JSON, one line for each try
    #[arg(long)]
    pub json: bool,
}

fn share(text: &str) -> Result<f64, String> {
    let share: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (0.0..0.95).contains(&share) { Ok(share) } else { Err("from 0 to below 0.95 is needed".to_owned()) }
}

/// A try beside what is true.
struct Judged {
    share: f64,
    number: u64,
    tried: Try,
    /// What the server carries alone, per second.
    alone: f64,
    /// What it completed beside its neighbour in a run of overload twice as long as all runs of the try, per second.
    beside: f64,
}

/// Makes every try, on all processors, and shows how often each bound held.
///
/// # Errors
/// Somebody asked to stop.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let mut text = String::new();
    for &share in &args.shares {
        let seed = Seed(args.seed).child("noisy").numbered((share * 1e6) as u64);
        let tries = many::tries(session, args.tries, |number| try_one(args, share, number, seed))?;
        let tries = tries.into_iter().collect::<Result<Vec<Judged>, RateError>>();
        let tries = tries.hint("this is a fault of the simulation: its rates are always some")?;
        text.push_str(&if args.json {
            tries.iter().map(line).collect()
        } else {
            row(&tries, text.is_empty())
        });
    }
    out::write(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn try_one(args: &Args, share: f64, number: u64, seed: Seed) -> Result<Judged, RateError> {
    let seed = seed.numbered(number);
    let shared = Shared { service: SERVICE, share, burst: BURST };
    let plan = TryPlan {
        shared,
        probe: Phases::seconds(1, 4),
        run: Phases::seconds(2, 8),
        runs: usize::from(args.runs),
        wanted: Wanted { width: 0.0 },
    };
    let tried = plan.play(seed)?;
    let alone = shared.capacities().1;
    let long = Phases::seconds(2, (2.0 * tried.seconds) as u64);
    let beside = shared.run(2.0 * alone, long, seed.child("truth"))?.throughput();
    Ok(Judged { share, number, tried, alone, beside })
}

fn line(judged: &Judged) -> String {
    let Judged { share, number, tried, alone, beside } = judged;
    let (carried, found) = (&tried.answer.carried, tried.answer.alone);
    let told = json!({
        "share": share, "try": number, "runs": tried.runs, "at_least": carried.at_least, "at_most": carried.at_most,
        "by_itself_low": found.map(|alone| alone.range.low), "by_itself_high": found.map(|alone| alone.range.high),
        "carried_in_twice_as_long": beside, "alone": alone,
    });
    format!("{told}\n")
}

fn row(tries: &[Judged], is_first: bool) -> String {
    let count = tries.len().max(1) as f64;
    let part = |holds: &dyn Fn(&Judged) -> bool| {
        format!("{:.3}", tries.iter().filter(|judged| holds(judged)).count() as f64 / count)
    };
    let least = |judged: &Judged| judged.tried.answer.carried.at_least;
    let most = |judged: &Judged| judged.tried.answer.carried.at_most;
    let range = |judged: &Judged| judged.tried.answer.alone.map(|alone| alone.range);
    let mut text = String::new();
    if is_first {
        text.push_str("taken  tries  answered  at least  at most  by itself  gap  width\n");
    }
    let middle = |values: Vec<f64>| median(values).map_or("-".to_owned(), |value| format!("{value:.2}"));
    let gaps = tries.iter().filter_map(|judged| Some((most(judged)? - least(judged)?) / judged.beside));
    let widths = tries.iter().filter_map(|judged| Some(range(judged)?.relative_width()));
    let _ = writeln!(
        text,
        "{:4.0}%  {:5}  {:>8}  {:>8}  {:>7}  {:>9} {:>4}  {:>5}",
        100.0 * tries.first().map_or(0.0, |judged| judged.share),
        tries.len(),
        part(&|judged| least(judged).is_some() && most(judged).is_some() && range(judged).is_some()),
        part(&|judged| least(judged).is_some_and(|least| least <= judged.beside)),
        part(&|judged| most(judged).is_some_and(|most| most >= judged.beside)),
        part(&|judged| range(judged).is_some_and(|own| own.low <= judged.alone && judged.alone <= own.high)),
        middle(gaps.collect()),
        middle(widths.collect()),
    );
    text
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_try_beside_a_neighbour_is_told_with_what_is_true() {
        let args = Args { shares: vec![0.15], tries: 1, runs: 16, seed: 1, json: true };
        let judged = try_one(&args, 0.15, 0, Seed(1)).unwrap();
        assert!((judged.beside / 212.5 - 1.0).abs() < 0.1, "{}", judged.beside);
        let told: serde_json::Value = serde_json::from_str(&line(&judged)).unwrap();
        assert_eq!((&told["alone"], &told["runs"]), (&json!(250.0), &json!(16)));
        let text = row(&[judged], true);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[1].starts_with("  15%      1     1.000"), "{text}");
        assert_eq!(lines[0].len(), lines[1].len(), "{text}");
    }

    #[test]
    fn a_neighbour_that_takes_all_leaves_nothing_to_measure() {
        assert_eq!(share("0.3"), Ok(0.3));
        for text in ["1", "-0.1", "nan", "all"] {
            assert!(share(text).is_err(), "{text}");
        }
    }
}
