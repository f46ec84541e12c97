//! Windows of hosts that share storage: the published experiments, and random arrays and mixes.

use anyhow::Result;
use evenkeel_core::random::Seed;
use evenkeel_core::share::experiment::{Eased, Experiment, Outcome, Treatment, experiments, judge};
use evenkeel_core::share::simulation::run;
use evenkeel_dev::mixes::{costly_mix, kept, mix, stability};
use serde_json::{Value, json};

/// Seconds between two updates in the published experiments.
const PERIOD_S: f64 = 2.0;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Seed of every draw
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Debug, clap::Args)]
pub struct MixesArgs {
    /// Number of mixes on usual arrays, and as many on those where large I/Os and writes cost much
    count: u64,
    /// Seed of every draw
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

pub fn run_all(args: &Args) -> Result<()> {
    let seed = Seed(args.seed);
    for experiment in experiments() {
        for treatment in Treatment::ALL {
            let outcome = judge(&experiment, &run(&experiment.scenario(treatment, PERIOD_S, seed)));
            let kept = (treatment == Treatment::Evenkeel).then(|| kept(&experiment, PERIOD_S, seed));
            println!("{}", as_json(&experiment, treatment, &outcome, kept));
        }
    }
    Ok(())
}

fn as_json(experiment: &Experiment, treatment: Treatment, outcome: &Outcome, kept: Option<f64>) -> Value {
    let published = experiment.published(treatment);
    let lull = outcome.lull.as_ref().map(|Eased { host, opened, used }| {
        json!({ "host": host, "opened": opened, "beta": used.map(|used| experiment.k * used) })
    });
    json!({
        "experiment": experiment.name,
        "what": experiment.what,
        "way": treatment.name(),
        "threshold_s": experiment.threshold_s,
        "iops": outcome.iops,
        "latency_s": outcome.latency_s,
        "windows": outcome.windows.iter().map(|window| window.is_finite().then_some(*window)).collect::<Vec<_>>(),
        "shares_judged": outcome.division.is_some(),
        "periods_to_share": outcome.division.and_then(|division| division.periods),
        "share_error": outcome.division.map(|division| division.error),
        "over_threshold": outcome.over,
        "under_threshold": outcome.under,
        "throughput_kept": kept,
        "lull": lull,
        "calibrates": experiment.calibrates,
        "published_iops": published.iops,
        "published_latency_s": published.latency_s,
        "published_hosts": published.hosts.iter().map(|(host, iops)| json!({ "host": host, "iops": iops })).collect::<Vec<_>>(),
        "published_orders_ratio": published.orders,
        "why_off": experiment.why_off,
    })
}

pub fn mixes(args: &MixesArgs) -> Result<()> {
    let seed = Seed(args.seed);
    let (mut diverged, mut errors) = ([0; 2], Vec::new());
    for number in 0..args.count {
        for (place, mix) in [mix(seed, number), costly_mix(seed, number)].iter().enumerate() {
            let outcome = stability(mix);
            diverged[place] += u64::from(outcome.diverged());
            errors.extend(outcome.device_error);
        }
    }
    errors.sort_by(f64::total_cmp);
    let quantile = |part: f64| errors.get((part * errors.len() as f64) as usize).or(errors.last()).copied();
    let told = json!({
        "seed": seed.0, "mixes": args.count, "diverged": diverged[0], "diverged_costly": diverged[1],
        "device_error_median": quantile(0.5), "device_error_p95": quantile(0.95), "device_judged": errors.len(),
    });
    println!("{told}");
    Ok(())
}
