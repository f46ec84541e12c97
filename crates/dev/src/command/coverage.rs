//! How often intervals hold where the truth is known: those of a cell, on queues, and bounds of a profile beside a neighbour.

use super::many;
use anyhow::Result;
use evenkeel_core::Nanos;
use evenkeel_core::arrivals::RateError;
use evenkeel_core::bounds::Wanted;
use evenkeel_core::random::Seed;
use evenkeel_dev::simulation::coverage::{Coverage, CoveragePlan, judge};
use evenkeel_dev::simulation::{Shared, TryPlan};
use serde_json::{Value, json};

const LOADS: [f64; 6] = [0.5, 0.6, 0.7, 0.8, 0.9, 0.95];
/// Numbers of runs in a cell.
const REPEATS: [usize; 6] = [3, 4, 5, 6, 8, 10];
const SERVICE: Nanos = Nanos::from_millis(4);
/// Length of a run in overload and of the shortest others: 2,000 service times.
const BASE: Nanos = Nanos::from_secs(8);

#[derive(Debug, clap::Args)]
pub struct Args {
    /// How often each cell is measured
    #[arg(long, default_value_t = 1_000)]
    pub seeds: u64,
    /// Seed of every draw
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// All runs last 8 s, as those of `profile --within` do; else they grow with the load, as those at rates of `--rates` do
    #[arg(long)]
    pub fixed: bool,
}

/// Measures every cell with every seed, on all processors, and shows how often intervals held.
pub fn run(args: &Args) -> Result<()> {
    let plan = CoveragePlan {
        loads: LOADS.into(),
        repeats: REPEATS.into(),
        service: SERVICE,
        base: BASE,
        grow: !args.fixed,
    };
    let tries = many::tries(args.seeds, |number| plan.tries(Seed(args.seed).numbered(number)))?.concat();
    judge(&plan, &tries).iter().for_each(|cell| println!("{}", as_json(cell)));
    Ok(())
}

fn as_json(cell: &Coverage) -> Value {
    json!({
        "load": cell.load, "repeats": cell.repeats, "figure": cell.figure, "tries": cell.tries,
        "shown": cell.shown, "held": cell.held, "below": cell.below, "bounds": cell.bounds,
        "bounds_held": cell.bounds_held, "width_ratio": cell.width, "estimate_mean": cell.mean,
        "run_s": cell.seconds,
    })
}

/// Shares of the CPU that the neighbour takes.
const SHARES: [f64; 3] = [0.05, 0.15, 0.3];
/// Runs that a try has time for, beside the search.
const RUNS: usize = 30;

#[derive(Debug, clap::Args)]
pub struct NoisyArgs {
    /// Tries of each
    #[arg(long, default_value_t = 1_000)]
    pub tries: u64,
    /// Seed of every draw
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

pub fn noisy(args: &NoisyArgs) -> Result<()> {
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
