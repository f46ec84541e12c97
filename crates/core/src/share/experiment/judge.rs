use super::Experiment;
use crate::share::simulation::{Stretch, Trace, share_error};

/// Periods for which shares have to hold to count as reached.
const HOLD: usize = 5;
/// Tolerance of shares that count as reached.
const REACHED: f64 = 0.1;
/// Of what clients want, the part outstanding below which windows hold somebody back.
const HELD_BACK: f64 = 0.95;
/// Of a lull, the last part: windows take their time to open.
const LATE: f64 = 0.25;

#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// I/Os per second of each host at the end of the first calm stretch.
    pub iops: Vec<f64>,
    pub latency_s: f64,
    pub windows: Vec<f64>,
    /// How the device was divided, over all calm stretches with shares to judge by; `None` where there is none: not judged.
    pub division: Option<Division>,
    pub over: f64,
    /// Most by which it was below, where windows held somebody back, over the threshold; `None` where they nowhere did.
    pub under: Option<f64>,
    pub lull: Option<Eased>,
}

/// How the device was divided among hosts that have shares of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Division {
    /// Periods until shares were reached, in the worst calm stretch; `None` where in one they never were.
    pub periods: Option<usize>,
    pub error: f64,
}

/// What becomes of windows while one host asks for less.
#[derive(Clone, Debug, PartialEq)]
pub struct Eased {
    /// Place of the host among those of the experiment, from 0.
    pub host: usize,
    /// Windows of all hosts late in the lull, over those before it.
    pub opened: Vec<f64>,
    /// Shares that the host uses (the published law's beta over its K) before the lull, late in it, and after it.
    pub used: [f64; 3],
}

/// The end of a calm stretch.
fn tail(experiment: &Experiment, (from_s, until_s): Stretch) -> Stretch {
    (from_s.max(until_s - experiment.tail_s), until_s)
}

pub fn judge(experiment: &Experiment, trace: &Trace) -> Outcome {
    let first = tail(experiment, experiment.calm[0].stretch);
    let (over, under) = off(experiment, trace);
    Outcome {
        iops: trace.iops(first),
        latency_s: latency(experiment, trace, first),
        windows: trace.windows(first),
        division: division(experiment, trace),
        over,
        under,
        lull: eased(experiment, trace),
    }
}

fn division(experiment: &Experiment, trace: &Trace) -> Option<Division> {
    let judged = experiment.calm.iter().filter_map(|calm| Some((calm.stretch, calm.shares.as_ref()?)));
    let one = |(stretch, shares): (Stretch, &Vec<f64>)| Division {
        periods: trace.periods_to_share(stretch, shares, REACHED, HOLD),
        error: share_error(&trace.cost_per_s(tail(experiment, stretch)), shares),
    };
    judged.map(one).reduce(|worst, this| Division {
        periods: worst.periods.zip(this.periods).map(|(worst, this)| worst.max(this)),
        error: worst.error.max(this.error),
    })
}

/// Most by which the latency was above the threshold, and below it where windows held somebody back.
fn off(experiment: &Experiment, trace: &Trace) -> (f64, Option<f64>) {
    let (mut over, mut under) = (0.0_f64, None);
    for stretch in experiment.calm.iter().map(|calm| tail(experiment, calm.stretch)) {
        let off = latency(experiment, trace, stretch) / experiment.threshold_s - 1.0;
        over = over.max(off);
        if holds_back(experiment, trace, stretch) {
            under = Some(under.map_or(-off, |under: f64| under.max(-off)).max(0.0));
        }
    }
    (over, under)
}

/// Whether windows of the hosts that keep to a law hold somebody back.
fn holds_back(experiment: &Experiment, trace: &Trace, stretch: Stretch) -> bool {
    let of = |figures: Vec<f64>| -> f64 {
        figures.iter().zip(&experiment.hosts).filter(|(_, host)| host.reports).map(|(figure, _)| figure).sum()
    };
    of(trace.outstanding(stretch)) < HELD_BACK * of(trace.wanted(stretch))
}

fn eased(experiment: &Experiment, trace: &Trace) -> Option<Eased> {
    let (host, lull) = experiment.lull()?;
    let mut calm = experiment.calm.iter().map(|calm| tail(experiment, calm.stretch));
    let before = calm.clone().find(|stretch| stretch.1 <= lull.0)?;
    let after = calm.find(|stretch| stretch.0 >= lull.1)?;
    let late = (lull.1 - LATE * (lull.1 - lull.0), lull.1);
    let opened =
        trace.windows(late).into_iter().zip(trace.windows(before)).map(|(late, before)| late / before);
    // Without a law there is no window that could open.
    let opened = opened.map(|opened| opened.is_finite().then_some(opened)).collect::<Option<_>>()?;
    let used = [before, late, after].map(|stretch| trace.used(stretch)[host]);
    Some(Eased { host, opened, used })
}

fn latency(experiment: &Experiment, trace: &Trace, stretch: Stretch) -> f64 {
    trace.latency_s(stretch, |host| experiment.hosts[host].reports).unwrap_or(0.0)
}
