//! How often the intervals of a cell hold, on queues whose figures are known.

use super::many;
use anyhow::Result;
use evenkeel_core::Nanos;
use evenkeel_core::random::Seed;
use evenkeel_dev::simulation::coverage::{Coverage, CoveragePlan, judge};
use serde_json::{Value, json};

const SERVICE: Nanos = Nanos::from_millis(4);
/// Length of a run in overload and of the shortest others: 2,000 service times.
const BASE: Nanos = Nanos::from_secs(8);

#[derive(Debug, clap::Args)]
#[command(
    after_help = "The server works 4 ms on a request in the mean (M/M/1). Of each seed and load a run of 8 s in overload, 2,000 service \
times, finds the saturation. By that the others are to last 8 to 64 s (--fixed: 8 s), and have two ends or a lower bound. Fewer \
repeats take the first of the runs. \
An interval is to hold in 95 % of all tries: held, below and above are shares of the intervals with two ends, which \
lie about, below and above the truth; bounds are tries with a lower bound alone; width is beside an interval with the \
true variance."
)]
pub struct Args {
    /// Utilisations, above 0 and below 1
    #[arg(long, value_delimiter = ',', default_value = "0.5,0.6,0.7,0.8,0.9,0.95", value_parser = utilisation)]
    pub loads: Vec<f64>,
    /// Numbers of runs in a cell, 2 to 1000
    #[arg(long, value_delimiter = ',', default_value = "3,4,5,6,8,10", value_parser = clap::value_parser!(u16).range(2..=1000))]
    pub repeats: Vec<u16>,
    /// How often each cell is measured
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub seeds: u64,
    /// Seed of every draw
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// All runs last 8 s, as those of `profile --within` do; else they grow with the load, as those at rates of `--rates` do
    #[arg(long)]
    pub fixed: bool,
}

fn utilisation(text: &str) -> Result<f64, String> {
    let load: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if load > 0.0 && load < 1.0 { Ok(load) } else { Err("above 0 and below 1 is needed".to_owned()) }
}

/// Measures every cell with every seed, on all processors, and shows how often intervals held.
pub fn run(args: &Args) -> Result<()> {
    let plan = CoveragePlan {
        loads: args.loads.clone(),
        repeats: args.repeats.iter().map(|&count| usize::from(count)).collect(),
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
