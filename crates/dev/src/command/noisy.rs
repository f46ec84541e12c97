//! How often the bounds of a profile hold beside a neighbour, on a server whose capacity is known.

use super::many;
use anyhow::Result;
use evenkeel_core::Nanos;
use evenkeel_core::arrivals::RateError;
use evenkeel_core::bounds::Wanted;
use evenkeel_core::random::Seed;
use evenkeel_dev::simulation::{Phases, Shared, Try, TryPlan};
use serde_json::{Value, json};

/// Mean service time of the virtual server.
const SERVICE: Nanos = Nanos::from_millis(4);
/// Mean time that the neighbour takes at once.
const BURST: Nanos = Nanos::from_millis(100);

#[derive(Debug, clap::Args)]
#[command(
    after_help = "The server works 4 ms on a request in the mean, on one CPU, which a neighbour takes for 100 ms at a time in the mean: a \
share of all time. Each try is a whole profile, as `evenkeel profile --within`: a search, then runs of 8 s one by one. \
The bounds of a profile are compared with what the server carries: at least and at most beside the neighbour, by itself without it."
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

/// Makes every try, on all processors.
///
/// # Errors
/// A rate of the simulation is none.
pub fn run(args: &Args) -> Result<()> {
    for &share in &args.shares {
        let seed = Seed(args.seed).child("noisy").numbered((share * 1e6) as u64);
        let tries = many::tries(args.tries, |number| try_one(args, share, number, seed))?;
        tries.iter().for_each(|judged| println!("{}", line(judged)));
    }
    Ok(())
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

fn line(judged: &Judged) -> Value {
    let Judged { share, number, tried, alone, beside } = judged;
    let (carried, found) = (&tried.answer.carried, tried.answer.alone);
    json!({
        "share": share, "try": number, "runs": tried.runs, "at_least": carried.at_least, "at_most": carried.at_most,
        "by_itself_low": found.map(|alone| alone.range.low), "by_itself_high": found.map(|alone| alone.range.high),
        "carried_in_twice_as_long": beside, "alone": alone,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_try_beside_a_neighbour_is_shown_with_what_is_true() {
        let args = Args { shares: vec![0.15], tries: 1, runs: 16, seed: 1 };
        let judged = try_one(&args, 0.15, 0, Seed(1)).unwrap();
        assert!((judged.beside / 212.5 - 1.0).abs() < 0.1, "{}", judged.beside);
        let shown = line(&judged);
        assert_eq!((&shown["alone"], &shown["runs"]), (&json!(250.0), &json!(16)));
    }

    #[test]
    fn a_neighbour_that_takes_all_leaves_nothing_to_measure() {
        assert_eq!(share("0.3"), Ok(0.3));
        for text in ["1", "-0.1", "nan", "all"] {
            assert!(share(text).is_err(), "{text}");
        }
    }
}
