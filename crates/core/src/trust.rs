//! Up to which utilisation figures can be trusted, and the capacity within that.
//!
//! A profile is trusted where it would come out the same tomorrow and on the next machine: where repeats of a
//! cell agree (the standard error over runs) and targets agree (the spread between them).
//!
//! The variation study of MySQL on Xen called a profile good where the standard error stayed below 5 ms and
//! targets lay within 20 to 40 ms of one another, at response times of tens to hundreds of milliseconds; beyond,
//! it saw standard errors of 170 to 500 ms. Its absolute figures belong to its disks, so the tolerances here are in
//! percent of the response time: 10 % and 40 % are its 5 ms and 20 ms at 50 ms. What it saw beyond the limit breaks
//! them many times over, while a stable server with a standard deviation of 17 % between runs, as of a guest with
//! busy neighbours, keeps them from three runs on.

use crate::statistics::Estimate;
use std::fmt;

/// Utilisation in percent below which a failure that more load does not confirm is taken for noise: the study
/// saw variation begin at 50 % at the earliest, and never go away again as load rose.
pub const LOW_LOAD: f64 = 50.0;

/// What one rate brought on all targets and in all runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Arrival rate, per second.
    pub rate: f64,
    /// Mean utilisation (theta), percent; `None` where it cannot be seen.
    pub utilisation: Option<f64>,
    /// Whether the response settled.
    pub settled: bool,
    /// Arrivals that failed, timed out or were never sent, percent.
    pub lost: f64,
    /// Targets that should have been measured at this rate; `target_taus` has those that were.
    pub targets: usize,
    /// Mean response time over runs, seconds.
    pub tau: Estimate,
    /// Mean response time of each target, seconds; with fewer than two there is no spread.
    pub target_taus: Vec<f64>,
    /// Completions per second over runs.
    pub throughput: Estimate,
    /// 95th percentile of the response time over runs, seconds.
    pub p95: Estimate,
}

/// How far runs and targets may differ, in percent of the mean response time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// Highest standard error over runs.
    pub standard_error: f64,
    /// Highest distance between the slowest and the fastest target.
    pub spread: f64,
}

/// Arrivals in percent that may be lost: a server that answers only some of its requests looks fast to these.
pub const LOST_MAX: f64 = 1.0;

impl Default for Tolerance {
    fn default() -> Self {
        Self { standard_error: 10.0, spread: 40.0 }
    }
}

/// Why a point is not trusted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reason {
    /// The response did not settle.
    Unsettled,
    /// Too many requests got no answer, percent of the arrivals.
    Lost(f64),
    /// Not every target was measured at this rate.
    TargetsMissing {
        /// How many were.
        measured: usize,
        /// How many there are.
        targets: usize,
    },
    /// Too few runs to know the standard error.
    TooFewRuns(u64),
    /// The standard error over runs, percent of tau.
    StandardError {
        /// What it is.
        percent: f64,
        /// What it may be.
        tolerance: f64,
    },
    /// The spread between targets, percent of tau.
    Spread {
        /// What it is.
        percent: f64,
        /// What it may be.
        tolerance: f64,
    },
}

impl fmt::Display for Reason {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsettled => write!(out, "the response does not settle"),
            Self::Lost(percent) => {
                write!(out, "{percent:.1} % of the requests got no answer, above {LOST_MAX:.1} %")
            }
            Self::TargetsMissing { measured, targets } => {
                write!(out, "{measured} of {targets} targets are measured")
            }
            Self::TooFewRuns(runs) => write!(out, "{runs} run is too few to know the standard error"),
            Self::StandardError { percent, tolerance } => {
                write!(out, "the standard error over runs is {percent:.1} % of tau, above {tolerance:.1} %")
            }
            Self::Spread { percent, tolerance } => {
                write!(out, "targets differ by {percent:.1} % of tau, above {tolerance:.1} %")
            }
        }
    }
}

/// A point that is not trusted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Untrusted {
    /// Arrival rate, per second.
    pub rate: f64,
    /// Utilisation, percent.
    pub utilisation: Option<f64>,
    /// Why.
    pub reason: Reason,
}

impl fmt::Display for Untrusted {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.utilisation {
            Some(theta) => {
                write!(out, "at {} requests/s and {theta:.0} % utilisation {}", self.rate, self.reason)
            }
            None => write!(out, "at {} requests/s {}", self.rate, self.reason),
        }
    }
}

/// The trust limit of a profile.
#[derive(Clone, Debug, PartialEq)]
pub struct TrustLimit {
    /// Highest utilisation of a trusted point, percent; `None` where not even the lowest rate is trusted.
    pub utilisation: Option<f64>,
    /// Highest trusted arrival rate, per second.
    pub rate: Option<f64>,
    /// The first point that is not trusted; `None` where the limit lies above what was measured.
    pub end: Option<Untrusted>,
    /// Untrusteds at low load that the next rate did not confirm: they did not end the trust, and have to be
    /// told with the limit. One at most.
    pub overlooked: Option<Untrusted>,
}

impl TrustLimit {
    /// Goes up from the lowest rate until a point fails.
    ///
    /// One failure below [`LOW_LOAD`] is overlooked if the next point is trusted, unless the response did not
    /// settle.
    pub fn of(points: &[Point], tolerance: Tolerance) -> Self {
        let mut rising: Vec<&Point> = points.iter().collect();
        rising.sort_by(|one, other| one.rate.total_cmp(&other.rate));
        let mut limit = Self { utilisation: None, rate: None, end: None, overlooked: None };
        for (index, point) in rising.iter().enumerate() {
            let Some(reason) = reason_against(point, tolerance) else {
                limit.utilisation = limit.utilisation.into_iter().chain(point.utilisation).reduce(f64::max);
                limit.rate = Some(point.rate);
                continue;
            };
            let untrusted = Untrusted { rate: point.rate, utilisation: point.utilisation, reason };
            let confirmed =
                rising.get(index + 1).is_none_or(|next| reason_against(next, tolerance).is_some());
            let is_low = point.utilisation.is_some_and(|theta| theta < LOW_LOAD);
            let is_noise = !confirmed
                && is_low
                && matches!(reason, Reason::StandardError { .. } | Reason::Spread { .. });
            if !is_noise || limit.overlooked.is_some() {
                limit.end = Some(untrusted);
                break;
            }
            limit.overlooked = Some(untrusted);
        }
        limit
    }
}

impl fmt::Display for TrustLimit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.utilisation, &self.end) {
            (Some(utilisation), Some(end)) => {
                write!(out, "trusted up to {utilisation:.0} % utilisation: {end}")?
            }
            (Some(utilisation), None) => {
                write!(out, "trusted up to {utilisation:.0} % utilisation, the highest measured")?;
            }
            (None, Some(end)) if self.rate.is_none() => write!(out, "not trusted at any rate: {end}")?,
            (None, Some(end)) => write!(out, "trusted at lower rates: {end}")?,
            (None, None) if self.rate.is_some() => write!(out, "trusted at every measured rate")?,
            (None, None) => write!(out, "nothing was measured")?,
        }
        match &self.overlooked {
            Some(untrusted) => write!(out, "; overlooked as noise: {untrusted}"),
            None => Ok(()),
        }
    }
}

/// What speaks against a point, if anything.
fn reason_against(point: &Point, tolerance: Tolerance) -> Option<Reason> {
    if !point.settled {
        return Some(Reason::Unsettled);
    }
    if point.lost.is_nan() || point.lost > LOST_MAX {
        return Some(Reason::Lost(point.lost));
    }
    if point.target_taus.len() < point.targets {
        return Some(Reason::TargetsMissing { measured: point.target_taus.len(), targets: point.targets });
    }
    let tau = point.tau.mean;
    let Some(error) = point.tau.standard_error() else {
        return Some(Reason::TooFewRuns(point.tau.n));
    };
    // Written so that what is not a number fails.
    let within = |percent: f64, tolerance: f64| percent <= tolerance;
    let percent = 100.0 * error / tau;
    if !within(percent, tolerance.standard_error) {
        return Some(Reason::StandardError { percent, tolerance: tolerance.standard_error });
    }
    let percent = 100.0 * spread(&point.target_taus) / tau;
    let fails = !within(percent, tolerance.spread);
    fails.then_some(Reason::Spread { percent, tolerance: tolerance.spread })
}

/// Distance between the largest and the smallest value; zero of fewer than two.
fn spread(values: &[f64]) -> f64 {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if values.len() < 2 { 0.0 } else { high - low }
}

/// What a server carries within the trusted range: the figures of the headline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Capacity {
    /// Highest trusted arrival rate, per second.
    pub rate: f64,
    /// Utilisation there, percent; `None` where it cannot be seen.
    pub utilisation: Option<f64>,
    /// Completions per second there.
    pub throughput: Estimate,
    /// 95th percentile of the response time there, seconds.
    pub p95: Estimate,
}

impl Capacity {
    /// The highest trusted point, which has settled; `None` where no point is trusted.
    pub fn of(points: &[Point], limit: &TrustLimit) -> Option<Self> {
        let rate = limit.rate?;
        let point = points.iter().find(|point| point.rate == rate)?;
        let Point { utilisation, throughput, p95, .. } = *point;
        Some(Self { rate, utilisation, throughput, p95 })
    }
}

#[cfg(test)]
mod tests;
