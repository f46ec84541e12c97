//! What a run of an experiment comes to.

use super::{Experiment, Way};
use crate::random::Seed;
use crate::share::Law;
use crate::share::simulation::{Stretch, Trace, run, share_error};

/// Periods for which shares have to hold to count as reached.
const HOLD: usize = 5;
/// Tolerance of shares that count as reached.
const REACHED: f64 = 0.1;

/// What a run came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// I/Os per second of each host at the end of the first calm stretch.
    pub iops: Vec<f64>,
    /// Mean latency in seconds there.
    pub latency_s: f64,
    /// Mean windows there.
    pub windows: Vec<f64>,
    /// Periods until shares were reached, in the worst calm stretch; `None` where in one they never were.
    pub periods_to_share: Option<usize>,
    /// Largest error of a share at the end of a calm stretch.
    pub share_error: f64,
    /// Highest mean latency over the end of a calm stretch, over the threshold, less one.
    pub overshoot: f64,
}

/// The end of a calm stretch.
fn tail(experiment: &Experiment, (from_s, until_s): Stretch) -> Stretch {
    (from_s.max(until_s - experiment.tail_s), until_s)
}

/// Judges the trace of an experiment.
pub fn judge(experiment: &Experiment, trace: &Trace) -> Outcome {
    let first = tail(experiment, experiment.calm[0].0);
    let mut outcome = Outcome {
        iops: trace.iops(first),
        latency_s: latency(experiment, trace, first),
        windows: trace.windows(first),
        periods_to_share: Some(0),
        share_error: 0.0,
        overshoot: f64::NEG_INFINITY,
    };
    for (stretch, shares) in &experiment.calm {
        let over = latency(experiment, trace, tail(experiment, *stretch)) / experiment.threshold_s - 1.0;
        outcome.overshoot = outcome.overshoot.max(over);
        if shares.iter().all(|share| *share == 0.0) {
            continue;
        }
        let reached = trace.periods_to_share(*stretch, shares, REACHED, HOLD);
        outcome.periods_to_share = outcome.periods_to_share.zip(reached).map(|(worst, this)| worst.max(this));
        let error = share_error(&trace.cost_per_s(tail(experiment, *stretch)), shares);
        outcome.share_error = outcome.share_error.max(error);
    }
    outcome
}

/// Mean latency of those that tell.
fn latency(experiment: &Experiment, trace: &Trace, stretch: Stretch) -> f64 {
    trace.latency_s(stretch, |host| experiment.hosts[host].tells).unwrap_or(0.0)
}

/// Throughput of ours over that of a fixed total window at the same latency, in the first calm stretch.
///
/// The fixed total is divided evenly; its throughput at our latency is interpolated between totals around ours.
pub fn kept(experiment: &Experiment, period_s: f64, seed: Seed) -> f64 {
    let first = tail(experiment, experiment.calm[0].0);
    let figures =
        |trace: &Trace| (latency(experiment, trace, first), trace.cost_per_s(first).iter().sum::<f64>());
    let trace = run(&experiment.scenario(Way::Evenkeel, period_s, seed));
    let (latency_s, ours) = figures(&trace);
    let total: f64 = trace.outstanding(first).iter().sum();
    let members = experiment.hosts.iter().filter(|host| host.tells).count() as f64;
    let fixed = |factor: f64| {
        let window = total * factor / members;
        let law = |host: &crate::share::simulation::HostPlan| {
            if host.tells { Law::Fixed(window) } else { host.law }
        };
        figures(&run(&experiment.with(law, period_s, seed)))
    };
    let (low, high) = (fixed(0.9), fixed(1.1));
    let place = ((latency_s - low.0) / (high.0 - low.0)).clamp(-1.0, 2.0);
    ours / (low.1 + place * (high.1 - low.1))
}
