//! How often the bounds of a profile hold beside a neighbour, on a server whose capacity is known.

use super::many;
use anyhow::Result;
use evenkeel_core::arrivals::RateError;
use evenkeel_core::bounds::Wanted;
use evenkeel_core::random::Seed;
use evenkeel_dev::simulation::{Shared, TryPlan};
use serde_json::{Value, json};

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

pub fn run(args: &Args) -> Result<()> {
    for &share in &args.shares {
        let seed = Seed(args.seed).child("noisy").numbered((share * 1e6) as u64);
        let tries = many::tries(args.tries, |number| try_one(args, share, number, seed))?;
        tries.iter().for_each(|line| println!("{line}"));
    }
    Ok(())
}

/// A try beside what is true: what the server carries alone, and what it completed beside its neighbour, per second.
fn try_one(args: &Args, share: f64, number: u64, seed: Seed) -> Result<Value, RateError> {
    let plan = TryPlan {
        shared: Shared::beside(share),
        runs: usize::from(args.runs),
        wanted: Wanted { width: 0.0 },
    };
    let (tried, beside) = plan.play_beside_truth(seed.numbered(number))?;
    let (carried, found) = (&tried.answer.carried, tried.answer.alone);
    Ok(json!({
        "share": share, "try": number, "runs": tried.runs, "at_least": carried.at_least, "at_most": carried.at_most,
        "by_itself_low": found.map(|alone| alone.range.low), "by_itself_high": found.map(|alone| alone.range.high),
        "carried_in_twice_as_long": beside, "alone": plan.shared.capacities().1,
    }))
}
