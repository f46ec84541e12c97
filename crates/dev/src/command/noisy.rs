//! How often the bounds of a profile hold beside a neighbour, on a server whose capacity is known.

use super::many;
use anyhow::Result;
use evenkeel_core::arrivals::RateError;
use evenkeel_core::bounds::Wanted;
use evenkeel_core::random::Seed;
use evenkeel_dev::simulation::{Shared, TryPlan};
use serde_json::{Value, json};

/// Shares of the CPU that the neighbour takes.
const SHARES: [f64; 3] = [0.05, 0.15, 0.3];
/// Runs that a try has time for, beside the search.
const RUNS: usize = 30;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Tries of each
    #[arg(long, default_value_t = 1_000)]
    pub tries: u64,
    /// Seed of every draw
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

pub fn run(args: &Args) -> Result<()> {
    for share in SHARES {
        let seed = Seed(args.seed).child("noisy").numbered((share * 1e6) as u64);
        let tries = many::tries(args.tries, |number| try_one(share, number, seed))?;
        tries.iter().for_each(|line| println!("{line}"));
    }
    Ok(())
}

/// A try beside what is true: what the server carries alone, and what it completed beside its neighbour, per second.
fn try_one(share: f64, number: u64, seed: Seed) -> Result<Value, RateError> {
    let plan = TryPlan { shared: Shared::beside(share), runs: RUNS, wanted: Wanted { width: 0.0 } };
    let (tried, beside) = plan.play_beside_truth(seed.numbered(number))?;
    let (carried, found) = (&tried.answer.carried, tried.answer.alone);
    Ok(json!({
        "share": share, "try": number, "runs": tried.runs, "at_least": carried.at_least, "at_most": carried.at_most,
        "by_itself_low": found.map(|alone| alone.range.low), "by_itself_high": found.map(|alone| alone.range.high),
        "carried_in_twice_as_long": beside, "alone": plan.shared.capacities().1,
    }))
}
