//! How often what a profile says of its own uncertainty is true: variance components, trust limit, bounds of `--until`.

use super::many;
use anyhow::Result;
use evenkeel_core::arrivals::RateError;
use evenkeel_core::bounds::Wanted;
use evenkeel_core::random::Seed;
use evenkeel_core::variance::Level;
use evenkeel_dev::profile::VirtualProfile;
use evenkeel_dev::simulation::components::{Held, Scenario, scenarios};
use evenkeel_dev::simulation::{Shared, Try, TryPlan};
use evenkeel_study::profile::{summarise, trust_limits};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::convert::Infallible;

/// Repeats of a cell whose trust is tried.
const REPEATS: u32 = 20;
/// Length of its runs in seconds, and of those near the saturation.
const SECONDS: (f64, f64) = (8.0, 16.0);
/// Shares of the CPU that a neighbour takes from a server whose bounds are tried.
const SHARES: [f64; 2] = [0.0, 0.15];
/// Width of the bounds at which such a profile ends, and runs after which it does at the latest.
const UNTIL: (f64, usize) = (0.1, 60);

#[derive(Debug, clap::Args)]
pub struct Args {
    /// How often each is tried
    #[arg(long, default_value_t = 1_000)]
    pub seeds: u64,
    /// Seed of every draw
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

pub fn run(args: &Args) -> Result<()> {
    let seed = Seed(args.seed).child("components");
    let mut rows = Vec::new();
    for (at, scenario) in scenarios().iter().enumerate() {
        let seed = seed.child("variance").numbered(at as u64);
        let tries =
            many::tries(args.seeds, |number| Ok::<_, Infallible>(scenario.attempt(seed.numbered(number))))?;
        rows.extend(of_components(scenario, &tries));
    }
    for (at, (name, profile)) in profiles().iter().enumerate() {
        let seed = seed.child("trust").numbered(at as u64);
        let tries = many::tries(args.seeds, |number| attempt(profile, seed.numbered(number)))?;
        rows.push(of_trust(name, profile, &tries));
    }
    for share in SHARES {
        let seed = seed.child("until").numbered((share * 1e6) as u64);
        let tries = many::tries(args.seeds, |number| until(share, seed.numbered(number)))?;
        rows.push(of_bounds(share, &tries));
    }
    rows.iter().for_each(|row| println!("{row}"));
    Ok(())
}

/// Counts of each level of a design, with a try that said nothing as one that did not hold.
fn of_components(scenario: &Scenario, tries: &[Vec<Held>]) -> Vec<Value> {
    let levels: Vec<Level> = tries
        .iter()
        .max_by_key(|held| held.len())
        .map_or_else(Vec::new, |held| held.iter().map(|one| one.level).collect());
    let row = |level: &Level| {
        let own = || tries.iter().filter_map(|held| held.iter().find(|one| one.level == *level));
        let (below, above) = (own().filter(|one| one.below).count(), own().filter(|one| one.above).count());
        json!({
            "what": "component", "design": scenario.name, "level": level.word(), "truth": scenario.truth(*level), "tries": tries.len(),
            "held": own().count() - below - above, "below": below, "above": above,
        })
    };
    levels.iter().map(row).collect()
}

fn profiles() -> [(&'static str, VirtualProfile); 4] {
    let loads: Vec<f64> = (1..=11).map(|tenth| f64::from(tenth) / 10.0).collect();
    let profile = |targets: Vec<f64>, drift: f64| VirtualProfile {
        targets,
        drift,
        repeats: REPEATS,
        seconds: SECONDS,
        ..VirtualProfile::of_one_cpu(&loads)
    };
    [
        ("runs differ by 5 %", profile(vec![1.0], 0.05)),
        ("runs differ by 8 %", profile(vec![1.0], 0.08)),
        ("runs differ by 15 %", profile(vec![1.0], 0.15)),
        ("two targets differ by 6 %", profile(vec![1.0, 1.06], 0.03)),
    ]
}

struct Trusted {
    limit: Option<f64>,
    /// Mean response of each target at each rate, ms.
    taus: Vec<Vec<f64>>,
}

fn attempt(profile: &VirtualProfile, seed: Seed) -> Result<Trusted, RateError> {
    let (plan, runs) = profile.play(seed)?;
    let limit = trust_limits(&plan, &runs).first().and_then(|(_, limit)| limit.rate);
    let cells = summarise(&plan, &runs).cells;
    let own = |series: usize| {
        cells.iter().filter(|cell| cell.series == series).map(|cell| cell.tau_ms.mean).collect()
    };
    Ok(Trusted { limit, taus: (0..plan.series.len()).map(own).collect() })
}

/// Found limits beside the true one: the highest rate up to which the standard deviation of the mean response over all tries, which is the
/// true standard error of each, and the true difference of the targets keep the tolerances.
fn of_trust(name: &str, profile: &VirtualProfile, tries: &[Trusted]) -> Value {
    let rates = profile.rates();
    let mut counts: BTreeMap<usize, u64> = BTreeMap::new();
    for found in tries {
        let steps = rates.iter().filter(|rate| found.limit.is_some_and(|limit| **rate <= limit)).count();
        *counts.entry(steps).or_default() += 1;
    }
    let keeps = |at: &usize| {
        let targets = 0..profile.targets.len();
        let taus = |target: usize| tries.iter().map(|one| one.taus[target][*at]).collect::<Vec<f64>>();
        let of: Vec<(f64, f64)> = targets.map(|target| moments(&taus(target))).collect();
        let worst = of.iter().map(|(mean, deviation)| deviation / mean).fold(0.0, f64::max);
        let high = of.iter().map(|(mean, _)| *mean).fold(0.0, f64::max);
        let low = of.iter().map(|(mean, _)| *mean).fold(f64::INFINITY, f64::min);
        profile.loads[*at] < 1.0 && 100.0 * worst <= 10.0 && 100.0 * (high - low) / high <= 40.0
    };
    let truth = (0..rates.len()).take_while(keeps).count();
    let found: BTreeMap<String, u64> =
        counts.iter().map(|(steps, count)| (steps.to_string(), *count)).collect();
    json!({ "what": "trust", "server": name, "repeats": profile.repeats, "tries": tries.len(), "true_steps": truth, "found_steps": found })
}

fn moments(values: &[f64]) -> (f64, f64) {
    let sample: evenkeel_core::statistics::Sample = values.iter().copied().collect();
    (sample.mean().unwrap_or(0.0), sample.standard_deviation().unwrap_or(0.0))
}

struct Bounded {
    tried: Try,
    beside: f64,
    alone: f64,
}

fn until(share: f64, seed: Seed) -> Result<Bounded, RateError> {
    let (width, runs) = UNTIL;
    let plan = TryPlan { shared: Shared::beside(share), runs, wanted: Wanted { width } };
    let (tried, beside) = plan.play_beside_truth(seed)?;
    Ok(Bounded { tried, beside, alone: plan.shared.capacities().1 })
}

fn of_bounds(share: f64, tries: &[Bounded]) -> Value {
    let count = |holds: fn(&Bounded) -> Option<bool>| {
        let all: Vec<bool> = tries.iter().filter_map(holds).collect();
        json!({ "shown": all.len(), "held": all.iter().filter(|held| **held).count() })
    };
    let runs: Vec<f64> = tries.iter().map(|one| one.tried.runs as f64).collect();
    json!({
        "what": "until", "share": share, "tries": tries.len(), "runs_mean": moments(&runs).0,
        "at_least": count(|one| Some(one.tried.answer.carried.at_least? <= one.beside)),
        "at_most": count(|one| Some(one.tried.answer.carried.at_most? >= one.beside)),
        "by_itself": count(|one| {
            let range = one.tried.answer.alone?.range;
            Some((range.low..=range.high).contains(&one.alone))
        }),
    })
}
