//! How often the intervals of a cell hold, on queues whose figures are known.

use super::many;
use anyhow::Result;
use evenkeel_core::Nanos;
use evenkeel_core::random::Seed;
use evenkeel_dev::simulation::coverage::{Coverage, CoveragePlan, judge};
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
