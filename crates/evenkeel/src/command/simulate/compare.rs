//! How often a comparison is wrong, and whether the runs that it asks for are enough, on queues whose figures are known.

use super::many;
use crate::command::Session;
use crate::failure::WithHint;
use crate::out;
use anyhow::Result;
use evenkeel_core::Nanos;
use evenkeel_core::arrivals::RateError;
use evenkeel_core::experiment::{Better, Comparison, Margin, Pair, Verdict};
use evenkeel_core::random::{Random, Seed};
use evenkeel_core::simulation::VirtualCell;
use serde_json::json;
use std::process::ExitCode;

/// Mean service time of the first server.
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
/// Length of a run and of its warm-up, seconds.
const RUN: (f64, f64) = (2.0, 8.0);

/// Flags of `evenkeel simulate compare`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Pairs of M/M/1 servers of 4 ms at loads of 0.3, 0.5 and 0.7, 3 to 8 runs of 8 s each, on machines whose speed differs from run to \
run by 0, 2 or 5 %: the mean response times of two that are alike, and of one that is 10 % slower, with a margin of 5 %. Where \
it is not known which is better, as many more runs are made as are asked for.

Examples:
  evenkeel simulate compare --pairs 100            a quick look, in a second
  evenkeel simulate compare --pairs 1000 --json    a line of JSON for each pair"
)]
pub struct Args {
    /// Pairs of servers that are alike, and as many of two that differ
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub pairs: u64,
    /// Seed of every draw
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// As JSON, one line for each pair
    #[arg(long)]
    pub json: bool,
}

/// What came of a pair.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Judged {
    /// True response time of the second as a multiple of the first's.
    ratio: f64,
    verdict: Verdict,
    /// Runs on each side.
    runs: u64,
    /// Whether it was known after the runs that were asked for; `None` where none were asked for.
    was_enough: Option<bool>,
}

/// Makes every pair, on all processors.
///
/// # Errors
/// Somebody asked to stop.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let mut found: Vec<Judged> = Vec::new();
    for ratio in [1.0, APART] {
        let seed = Seed(args.seed).child("compare").numbered((ratio * 100.0) as u64);
        let tries = many::tries(session, args.pairs, |number| judge(ratio, number, seed))?;
        let tries = tries.into_iter().collect::<Result<Vec<Judged>, RateError>>();
        found.extend(tries.hint("this is a fault of the simulation: its rates are always some")?);
    }
    out::write(&if args.json { found.iter().map(line).collect() } else { table(&found) })?;
    Ok(ExitCode::SUCCESS)
}

fn judge(ratio: f64, number: u64, seed: Seed) -> Result<Judged, RateError> {
    let seed = seed.numbered(number);
    let mut random = Random::new(seed.child("pair"));
    let load = LOADS[random.uniform(0, LOADS.len() as u64 - 1) as usize];
    let drift = DRIFTS[random.uniform(0, DRIFTS.len() as u64 - 1) as usize];
    let runs = random.uniform(RUNS.0, RUNS.1);
    let side = |service: f64, count: u64, name: &str| -> Result<Vec<f64>, RateError> {
        (0..count).map(|run| tau(load, service, drift, seed.child(name).numbered(run))).collect()
    };
    let compared = |count: u64| -> Result<Verdict, RateError> {
        let pair = Pair { first: side(1.0, count, "first")?, second: side(ratio, count, "second")? };
        let margin = Margin::new(MARGIN).unwrap_or_else(|_| unreachable!("a constant above zero"));
        let found = Comparison::of(&[pair], margin, Better::Lower);
        Ok(found.map_or(Verdict::NotKnown { runs_more: None }, |found| found.verdict))
    };
    let verdict = compared(runs)?;
    let was_enough = match verdict {
        Verdict::NotKnown { runs_more: Some(more) } if runs + more <= RUNS_MOST => {
            Some(!matches!(compared(runs + more)?, Verdict::NotKnown { .. }))
        }
        _ => None,
    };
    Ok(Judged { ratio, verdict, runs, was_enough })
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

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Same => "same",
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::NotKnown { .. } => "not known",
    }
}

fn line(judged: &Judged) -> String {
    let Judged { ratio, verdict, runs, was_enough } = *judged;
    let runs_more = if let Verdict::NotKnown { runs_more } = verdict { runs_more } else { None };
    format!(
        "{}\n",
        json!({ "true_ratio": ratio, "verdict": word(verdict), "runs": runs, "runs_more": runs_more, "was_enough": was_enough })
    )
}

fn table(found: &[Judged]) -> String {
    let mut text =
        "second is      pairs   same  better  worse  not known  runs asked for were enough\n".to_owned();
    for (ratio, name) in [(1.0, "alike"), (APART, "10 % slower")] {
        let here: Vec<&Judged> = found.iter().filter(|judged| judged.ratio == ratio).collect();
        let part = |what: &str| {
            let count = here.iter().filter(|judged| word(judged.verdict) == what).count();
            format!("{:.3}", count as f64 / here.len().max(1) as f64)
        };
        let asked: Vec<bool> = here.iter().filter_map(|judged| judged.was_enough).collect();
        let enough = asked.iter().filter(|enough| **enough).count();
        text.push_str(&format!(
            "{name:<12} {:>7}  {:>5}  {:>6}  {:>5}  {:>9}  {enough} of {}\n",
            here.len(),
            part("same"),
            part("better"),
            part("worse"),
            part("not known"),
            asked.len()
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_is_the_same_for_the_same_seed_and_is_told() {
        let judged = judge(APART, 3, Seed(1)).unwrap();
        assert_eq!(judged, judge(APART, 3, Seed(1)).unwrap());
        let told: serde_json::Value = serde_json::from_str(&line(&judged)).unwrap();
        assert_eq!(told["true_ratio"], json!(1.1));
        assert_eq!(table(&[judged]).lines().count(), 3);
    }

    #[test]
    fn the_response_of_a_server_is_about_the_theory() {
        let mean = (0..20).map(|run| tau(0.5, 1.1, 0.0, Seed(run)).unwrap()).sum::<f64>() / 20.0;
        assert!((mean / 2.2 - 1.0).abs() < 0.05, "{mean}");
    }
}
