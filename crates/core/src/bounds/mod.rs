//! What a server carries, as bounds that hold: at least, at most, and by itself.
//!
//! A profile that trusts no cell still knows something, and says it here. Three figures, each with 95 % confidence:
//!
//! - *at least*: a rate that the server was seen to carry. Of the rates at which most runs settled, the highest lower bound of
//!   the throughput over all runs of a rate;
//! - *at most*: the lowest rate that it was seen not to carry: most runs did not settle, and their completions stayed
//!   behind their arrivals by more than chance brings;
//! - *by itself*: the rate that it would carry without neighbours, from what it did at saturation while nobody took
//!   its CPUs, or from what was taken there ([`alone`]).
//!
//! Work per request ([`work`]) is beside them: it hardly moves with neighbours, and the utilisation law turns it into
//! the rate at which a resource ends. [`Sequence`] says which run tightens the bounds most.
//!
//! Runs whose generator failed, by lag or by a full CPU, take no part: they are about the generator.

pub mod alone;
pub mod carried;
mod sequence;
pub mod stretches;
pub mod work;

pub use alone::Alone;
pub use carried::{Carried, Fate, Rate};
pub use sequence::{RATES_FIRST, Sequence, Step, Wanted};
pub use work::Work;

use crate::caveat::threshold::{LOST_MAX, RUNS_MIN_COUNT};
use crate::stability::Stability;
use crate::statistics::{Sample, student_quantile};

/// One run of an open load, in numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunAt {
    /// Arrival rate asked for, per second.
    pub rate: f64,
    /// Length of the measured phase, seconds.
    pub seconds: f64,
    /// Arrivals scheduled in it.
    pub arrivals: u64,
    /// Completions in it, whenever their request arrived.
    pub completed: u64,
    /// Share of the arrivals that failed, timed out or were never sent.
    pub lost: f64,
    /// Whether the response came to rest; `None` of a run too short to tell.
    pub settled: Option<bool>,
    /// Whether the measurement itself stands.
    pub valid: bool,
    /// CPU seconds of the server per second; `None` where they cannot be seen.
    pub cpu: Option<f64>,
    /// CPUs that the server may use; `None` where they cannot be seen.
    pub cpus: Option<f64>,
    /// CPU seconds per second that others and the hypervisor took of these CPUs; `None` where they cannot be seen.
    pub taken: Option<f64>,
    /// What was done while nobody disturbed; `None` where that cannot be seen.
    pub clear: Option<Clear>,
}

/// What a run brought in the stretches that nobody disturbed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Clear {
    /// Length of these stretches together, seconds.
    pub seconds: f64,
    /// Completions in them.
    pub completed: u64,
    /// Share of the CPUs' time that others took in them all the same, since a stretch tells no less.
    pub taken: f64,
}

impl RunAt {
    /// Completions per second; zero of a run without length.
    pub fn throughput(&self) -> f64 {
        if self.seconds > 0.0 { self.completed as f64 / self.seconds } else { 0.0 }
    }

    /// Arrivals per second that chance made of the rate.
    pub fn offered(&self) -> f64 {
        if self.seconds > 0.0 { self.arrivals as f64 / self.seconds } else { 0.0 }
    }

    /// Whether server and neighbours together used nearly all of the CPUs, so that CPU is what limits the server.
    fn cpu_is_full(&self) -> bool {
        let full = |cpu: f64, taken: f64, cpus: f64| cpu > 0.0 && cpu + taken >= alone::FULL_MIN * cpus;
        matches!((self.cpu, self.taken, self.cpus), (Some(cpu), Some(taken), Some(cpus)) if full(cpu, taken, cpus))
    }

    /// Whether the server kept up for all that was seen.
    fn kept_up(&self) -> bool {
        self.settled == Some(true) && 100.0 * self.lost <= LOST_MAX
    }

    /// Whether it was seen not to keep up.
    fn fell_behind(&self) -> bool {
        self.settled == Some(false) || 100.0 * self.lost > LOST_MAX
    }
}

/// For [`RunAt::settled`].
pub fn settled(stability: &Stability) -> Option<bool> {
    match stability {
        Stability::Settled => Some(true),
        Stability::Unstable(_) => Some(false),
        Stability::TooShort { .. } => None,
    }
}

/// An interval of rates or of work; the lower end is never negative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Range {
    /// Width beside the middle; infinite around zero.
    pub fn relative_width(&self) -> f64 {
        let middle = f64::midpoint(self.low, self.high);
        if middle > 0.0 { (self.high - self.low) / middle } else { f64::INFINITY }
    }
}

/// All that the runs of one series, or of series that differ in the target alone, say about what is carried.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// What was carried and what was not.
    pub carried: Carried,
    /// What would be carried without neighbours; `None` where nothing tells.
    pub alone: Option<Alone>,
    /// CPU time of the server's CPUs that others took, percent, over all runs; `None` where it cannot be seen.
    pub taken_percent: Option<f64>,
    /// Runs that took no part, because their generator failed.
    pub left_out: usize,
}

impl Answer {
    /// From all runs, in any order.
    pub fn of(runs: &[RunAt]) -> Self {
        let valid: Vec<&RunAt> = runs.iter().filter(|run| run.valid && run.seconds > 0.0).collect();
        let carried = Carried::of(&valid);
        Self {
            alone: Alone::of(&valid, &carried),
            taken_percent: taken(&valid).map(|taken| 100.0 * taken),
            left_out: runs.len() - valid.len(),
            carried,
        }
    }

    /// Whether there is a bound at all.
    pub fn is_something(&self) -> bool {
        self.carried.at_least.is_some() || self.carried.at_most.is_some() || self.alone.is_some()
    }
}

/// The 95 % interval of `sum n / sum T` over runs with `n` completions in `T` seconds; `None` of fewer than two.
///
/// A ratio estimate (Cochran, Sampling Techniques, 3rd ed., chapter 6) on the logarithmic scale, with the variance between
/// runs or that of a Poisson process, `1 / sum n`, and `2 (R - 1)` degrees of freedom.
fn ratio(runs: &[(f64, f64)]) -> Option<Range> {
    let (count, seconds) = runs.iter().fold((0.0, 0.0), |(n, t), run| (n + run.0, t + run.1));
    if runs.len() < RUNS_MIN_COUNT || count <= 0.0 || seconds <= 0.0 {
        return None;
    }
    let mean = count / seconds;
    let length = seconds / runs.len() as f64;
    let residuals: Sample = runs.iter().map(|(n, t)| (n - mean * t) / length / mean).collect();
    let between = residuals.variance()? / runs.len() as f64;
    let error = moderated(between, 1.0 / count).sqrt();
    let half = student_quantile(0.975, 2.0 * (runs.len() as f64 - 1.0)) * error;
    Some(Range { low: mean * (-half).exp(), high: mean * half.exp() })
}

/// The variance of a mean over a few runs, from that between the runs and that which counts of a Poisson process have. Two
/// or three runs may agree by chance, so that the first is at least the mean of both; neighbours make it larger than the
/// second, and then it stands.
fn moderated(between: f64, counts: f64) -> f64 {
    between.max(f64::midpoint(between, counts))
}

/// Share of the CPUs' time that others took over all runs; `None` where it cannot be seen.
fn taken(runs: &[&RunAt]) -> Option<f64> {
    let (mut taken, mut all) = (0.0, 0.0);
    for run in runs {
        if let (Some(seconds), Some(cpus)) = (run.taken, run.cpus) {
            taken += seconds * run.seconds;
            all += cpus * run.seconds;
        }
    }
    (all > 0.0).then(|| (taken / all).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests;
