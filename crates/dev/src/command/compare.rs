//! How often a comparison is wrong, and whether the runs that it asks for are enough, on queues whose figures are known.

use super::many;
use anyhow::Result;
use evenkeel_core::Nanos;
use evenkeel_core::arrivals::RateError;
use evenkeel_core::experiment::{Better, Comparison, Margin, Pair, Verdict};
use evenkeel_core::random::{Random, Seed};
use evenkeel_dev::simulation::VirtualCell;
use serde_json::{Value, json};

const SERVICE: Nanos = Nanos::from_millis(4);
/// How much slower the second server is, where the two differ.
const APART: f64 = 1.1;
/// Within which they would count as the same.
const MARGIN: f64 = 0.05;
/// Utilisations of both servers, one of them for each pair.
const LOADS: [f64; 3] = [0.3, 0.5, 0.7];
/// Runs on each side, of which each pair has some number.
const RUNS: (u64, u64) = (3, 8);
/// By so much a machine's speed differs from run to run, a standard deviation of the logarithm, one of them for each pair.
const DRIFTS: [f64; 3] = [0.0, 0.02, 0.05];
/// More runs than these are not made, however many are asked for.
const RUNS_MOST: u64 = 1_500;
/// More often than this nobody asks.
const LOOKS_MOST: usize = 5;
/// Length of a run and of its warm-up, seconds.
const RUN: (f64, f64) = (2.0, 8.0);

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Pairs of servers that are alike, and as many of two that differ
    #[arg(long, default_value_t = 1_000)]
    pub pairs: u64,
    /// Seed of every draw
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// Makes every pair, on all processors.
pub fn run(args: &Args) -> Result<()> {
    for ratio in [1.0, APART] {
        let seed = Seed(args.seed).child("compare").numbered((ratio * 100.0) as u64);
        let tries = many::tries(args.pairs, |number| judge(ratio, seed.numbered(number)))?;
        tries.iter().for_each(|judged| println!("{judged}"));
    }
    Ok(())
}

/// A pair, whose second server has so many times the response time of the first: what each look said, which has as many runs as the one
/// before asked for.
fn judge(ratio: f64, seed: Seed) -> Result<Value, RateError> {
    let mut random = Random::new(seed.child("pair"));
    let load = LOADS[random.uniform(0, LOADS.len() as u64 - 1) as usize];
    let drift = DRIFTS[random.uniform(0, DRIFTS.len() as u64 - 1) as usize];
    let mut wanted = Some(random.uniform(RUNS.0, RUNS.1));
    let (mut pair, mut looks) = (Pair::default(), Vec::new());
    let right = if ratio == 1.0 { "same" } else { "worse" };
    while let Some(runs) = wanted.filter(|runs| *runs <= RUNS_MOST && looks.len() < LOOKS_MOST) {
        // The runs of before are among them.
        for run in pair.first.len() as u64..runs {
            pair.first.push(tau(load, 1.0, drift, seed.child("first").numbered(run))?);
            pair.second.push(tau(load, ratio, drift, seed.child("second").numbered(run))?);
        }
        let found = Comparison::of(std::slice::from_ref(&pair), margin(), Better::Lower);
        let (verdict, runs_more) = match found.map(|found| found.verdict) {
            Some(Verdict::Same) => ("same", None),
            Some(Verdict::Better) => ("better", None),
            Some(Verdict::Worse) => ("worse", None),
            Some(Verdict::NotKnown { runs_more }) => ("not known", runs_more),
            None => ("not known", None),
        };
        looks.push(json!({ "runs": runs, "verdict": verdict, "runs_more": runs_more }));
        wanted = runs_more.map(|more| runs + more);
    }
    let verdict = looks.last().map_or(json!("not known"), |look| look["verdict"].clone());
    // Runs were enough where the second look found what is true.
    let was_enough = looks.get(1).map(|look| look["verdict"] == right);
    Ok(json!({ "true_ratio": ratio, "verdict": verdict, "was_enough": was_enough, "looks": looks }))
}

fn margin() -> Margin {
    Margin::new(MARGIN).unwrap_or_else(|_| unreachable!("a constant above zero"))
}

/// Mean response time of a run, in units of the first server's service time. A server whose every time is longer by a factor answers
/// more slowly by that factor at the same load.
fn tau(load: f64, service: f64, drift: f64, seed: Seed) -> Result<f64, RateError> {
    let cell = VirtualCell { load, service: SERVICE, base: Nanos::from_secs_f64(RUN.1) };
    let run = cell.run(RUN.0, RUN.1, seed.child("run"))?;
    let (sum, count) = run.batches.iter().fold((0.0, 0_u64), |(sum, count), batch| {
        (sum + batch.response_sum.as_secs_f64(), count + batch.completed)
    });
    let speed = (drift * Random::new(seed.child("drift")).normal()).exp();
    Ok(service * speed * sum / count.max(1) as f64 / SERVICE.as_secs_f64())
}
