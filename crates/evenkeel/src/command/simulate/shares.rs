//! Windows of hosts that share storage: the published experiments, and random arrays and mixes.

use super::flags::Args;
use crate::command::Session;
use crate::failure::Stopped;
use crate::out;
use crate::shares::{division, off};
use anyhow::Result;
use evenkeel_core::random::Seed;
use evenkeel_core::share::experiment::{
    Eased, Experiment, Mix, Outcome, Stability, Treatment, costly_mix, judge, kept, mix, published, stability,
};
use evenkeel_core::share::simulation::run;
use serde_json::{Value, json};

/// Seconds between two updates in the published experiments.
const PERIOD_S: f64 = 2.0;
/// Head of the table.
pub const HEADER: &str = "experiment    way            I/Os per s  latency ms     periods  share error          off L  throughput kept\n";

/// Runs every published experiment under every way, and mixes under ours, as far as flags ask for them.
pub fn show(session: &Session, args: &Args) -> Result<()> {
    let seed = Seed(args.seed.unwrap_or(1));
    if args.shares {
        experiments(session, args, seed)?;
    }
    if let Some(count) = args.mixes {
        mixes(session, args, seed, count)?;
    }
    Ok(())
}

fn experiments(session: &Session, args: &Args, seed: Seed) -> Result<()> {
    if !args.json {
        out::write(HEADER)?;
    }
    for experiment in published() {
        for treatment in Treatment::ALL {
            if session.stop.is_set() {
                return Err(Stopped(format!("before {} under {}", experiment.name, treatment.name())).into());
            }
            let outcome = judge(&experiment, &run(&experiment.scenario(treatment, PERIOD_S, seed)));
            let kept = (treatment == Treatment::Evenkeel).then(|| kept(&experiment, PERIOD_S, seed));
            let text = match args.json {
                true => format!("{}\n", as_json(&experiment, treatment, &outcome, kept)),
                false => as_text(&experiment, treatment, &outcome, kept),
            };
            out::write(&text)?;
        }
    }
    Ok(())
}

/// A line of JSON.
pub fn as_json(experiment: &Experiment, treatment: Treatment, outcome: &Outcome, kept: Option<f64>) -> Value {
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

/// A row of the table.
pub fn as_text(
    experiment: &Experiment,
    treatment: Treatment,
    outcome: &Outcome,
    kept: Option<f64>,
) -> String {
    let iops: f64 = outcome.iops.iter().sum();
    let (periods, error) = division(outcome);
    let kept = kept.map_or("-".to_owned(), |kept| format!("{kept:.3}"));
    format!(
        "{:13} {:13} {iops:11.0} {:11.1} {periods:>11} {error:>12} {:>14} {kept:>16}\n",
        experiment.name,
        treatment.name(),
        1e3 * outcome.latency_s,
        off(outcome),
    )
}

fn mixes(session: &Session, args: &Args, seed: Seed, count: u64) -> Result<()> {
    // On usual arrays, and on those where large I/Os and writes cost much.
    let (mut diverged, mut errors) = ([0; 2], Vec::new());
    for number in 0..count {
        for (place, mix) in [mix(seed, number), costly_mix(seed, number)].iter().enumerate() {
            if session.stop.is_set() {
                return Err(Stopped(format!("after {number} of {count} mixes")).into());
            }
            let outcome = stability(mix);
            diverged[place] += u64::from(outcome.diverged());
            errors.extend(outcome.device_error);
            if outcome.diverged() && !args.json {
                out::write(&one(number, mix, &outcome))?;
            }
        }
    }
    errors.sort_by(f64::total_cmp);
    let quantile = |part: f64| errors.get((part * errors.len() as f64) as usize).or(errors.last()).copied();
    let (half, most) = (quantile(0.5), quantile(0.95));
    let text = match args.json {
        true => json!({
            "seed": seed.0, "mixes": count, "diverged": diverged[0], "diverged_costly": diverged[1],
            "device_error_median": half, "device_error_p95": most, "device_judged": errors.len(),
        })
        .to_string(),
        false => format!(
            "{} of {count} random arrays and mixes of seed {} diverged, and {} of {count} on which large I/Os and writes cost \
             much; the worst host's device time is off its share by {:.1} % in the median and {:.1} % at 95 % of the {} in \
             which two hosts at least are held back",
            diverged[0],
            seed.0,
            diverged[1],
            100.0 * half.unwrap_or(0.0),
            100.0 * most.unwrap_or(0.0),
            errors.len(),
        ),
    };
    Ok(out::line(text)?)
}

fn one(number: u64, mix: &Mix, outcome: &Stability) -> String {
    format!(
        "mix {number}: {} hosts on {} spindles, threshold {:.2} ms; {}\n",
        mix.scenario.hosts.len(),
        mix.scenario.array.spindles,
        1e3 * mix.threshold_s,
        verdict(outcome),
    )
}

/// What a run on a mix came to, in words.
pub fn verdict(outcome: &Stability) -> String {
    format!(
        "{}: latency {:.2} of the threshold, {:.0} % of what is wanted outstanding, windows swing by {:.0} %",
        if outcome.diverged() { "diverged" } else { "holds" },
        outcome.latency,
        100.0 * outcome.filled,
        100.0 * outcome.spread,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_core::share::experiment::Division;

    fn outcome(division: Option<Division>) -> Outcome {
        Outcome {
            iops: vec![600.0, 2_400.0],
            latency_s: 0.015,
            windows: vec![9.0, 32.0],
            division,
            over: 0.061,
            under: Some(0.002),
            lull: None,
        }
    }

    fn row(division: Option<Division>) -> String {
        as_text(&published()[5], Treatment::Parda, &outcome(division), None)
    }

    #[test]
    fn shares_that_were_not_judged_are_neither_reached_nor_never_reached() {
        let judged = |periods| row(Some(Division { periods, error: 0.056 }));
        assert!(row(None).contains(" not judged            - "), "{}", row(None));
        assert!(judged(None).contains(" never        5.6 % "), "{}", judged(None));
        assert!(judged(Some(34)).contains(" 34        5.6 % "), "{}", judged(Some(34)));
        assert_eq!(row(None).trim_end().len(), HEADER.trim_end().len(), "{HEADER}{}", row(None));
        let told = as_json(&published()[5], Treatment::Parda, &outcome(None), None);
        assert_eq!((&told["shares_judged"], &told["share_error"]), (&json!(false), &Value::Null));
    }

    #[test]
    fn the_latency_is_told_to_both_sides_of_the_threshold() {
        assert!(row(None).contains(" -0.2 to +6.1 % "), "{}", row(None));
        let free = Outcome { under: None, ..outcome(None) };
        assert_eq!(off(&free), "- to +6.1 %");
    }
}
