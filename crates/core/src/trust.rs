//! Up to which utilisation figures can be trusted: where repeats of a cell agree (the standard
//! error over runs) and targets agree (the spread between them).
//!
//! The variation study of MySQL on Xen called a profile good where the standard error stayed below 5 ms and targets lay
//! within 20 to 40 ms of one another; beyond, it saw standard errors of 170 to 500 ms. The tolerances here are in percent of
//! the response time: 10 % and 40 % are its 5 ms and 20 ms at 50 ms. The standard error over a few runs is itself an estimate,
//! so its upper bound is what has to keep the tolerance.
//!
//! A measurement that failed is never trusted: its figures are about the generator. A run too short to tell whether the
//! queue settles ends the trust only where no higher rate is trusted, since as long a run has more arrivals there.

mod reason;
mod tolerance;

pub use reason::{Reason, Untrusted};
pub use tolerance::{CONFIDENCE, Tolerance};

use crate::caveat::threshold::{LOST_MAX, LOW_LOAD};
use crate::statistics::{Estimate, standard_error_bound};
use std::fmt;

/// What one rate brought on all targets and in all runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    pub rate: f64,
    /// Mean utilisation (theta), percent; `None` where it cannot be seen.
    pub utilisation: Option<f64>,
    /// Code of the caveat that says how the measurement itself failed at this rate, where it did.
    pub invalid: Option<String>,
    pub settling: Settling,
    /// Arrivals that failed, timed out or were never sent, percent.
    pub lost: f64,
    /// Targets that should have been measured at this rate; `target_taus` has those that were.
    pub targets: usize,
    pub tau: Estimate,
    /// Degrees of freedom of its standard error; infinite where that is known exactly.
    pub tau_degrees: f64,
    /// Mean response time of each target, seconds; with fewer than two there is no spread.
    pub target_taus: Vec<f64>,
}

/// Whether the response of a rate came to rest, over its runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settling {
    /// In more than half of the runs.
    Settled,
    /// In half of the runs or fewer.
    Unsettled,
    /// Too few runs settled, because others were too short to tell.
    TooShort,
}

impl Settling {
    /// Over the runs of a rate: one of many may be called unstable by chance, so more than half have to agree.
    pub fn of(runs: usize, settled: usize, unstable: usize) -> Self {
        match () {
            () if 2 * settled > runs => Self::Settled,
            () if 2 * unstable >= runs => Self::Unsettled,
            () => Self::TooShort,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct TrustLimit {
    /// Highest utilisation of a trusted point, percent; `None` where not even the lowest rate is trusted.
    pub utilisation: Option<f64>,
    pub rate: Option<f64>,
    /// The first point that is not trusted; `None` where the limit lies above what was measured.
    pub end: Option<Untrusted>,
    /// Points that are not trusted and did not end the trust, as higher ones are: at most one failure at low load,
    /// and any number too short to tell. They have to be told with the limit.
    pub overlooked: Vec<Untrusted>,
}

impl TrustLimit {
    /// Goes up from the lowest rate until a point fails.
    ///
    /// One failure below [`LOW_LOAD`] is overlooked if the next point is trusted, unless the response did not
    /// settle. Points too short to tell are overlooked if a higher one is trusted before another fails.
    pub fn of(points: &[Point], tolerance: Tolerance) -> Self {
        let mut rising: Vec<&Point> = points.iter().collect();
        rising.sort_by(|one, other| one.rate.total_cmp(&other.rate));
        let judged = rising.iter().map(|point| (*point, reason_against(point, tolerance)));
        let judged: Vec<(&Point, Option<Reason>)> = judged.collect();
        let mut limit = Self { utilisation: None, rate: None, end: None, overlooked: Vec::new() };
        for (index, (point, reason)) in judged.iter().enumerate() {
            let Some(reason) = reason else {
                limit.utilisation = limit.utilisation.into_iter().chain(point.utilisation).reduce(f64::max);
                limit.rate = Some(point.rate);
                continue;
            };
            let untrusted =
                Untrusted { rate: point.rate, utilisation: point.utilisation, reason: reason.clone() };
            if !limit.overlooks(&untrusted, &judged[index + 1..]) {
                limit.end = Some(untrusted);
                break;
            }
            limit.overlooked.push(untrusted);
        }
        limit
    }

    /// Whether what speaks against a point is no reason to end the trust, seen from the points above it.
    fn overlooks(&self, untrusted: &Untrusted, above: &[(&Point, Option<Reason>)]) -> bool {
        let mut above = above.iter().map(|(_, reason)| reason.as_ref());
        match untrusted.reason {
            Reason::TooShort => above.find(|next| *next != Some(&Reason::TooShort)) == Some(None),
            Reason::Invalid(_) | Reason::StandardError { .. } | Reason::Spread { .. } => {
                let is_low = untrusted.utilisation.is_some_and(|theta| theta < LOW_LOAD);
                let is_first = self.overlooked.iter().all(|one| one.reason == Reason::TooShort);
                is_low && is_first && above.next() == Some(None)
            }
            _ => false,
        }
    }
}

impl fmt::Display for TrustLimit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.utilisation, &self.end) {
            (Some(utilisation), Some(end)) => write!(out, "trusted up to {utilisation:.0} % CPU use: {end}")?,
            (Some(utilisation), None) => {
                write!(out, "trusted up to {utilisation:.0} % CPU use, the highest measured")?;
            }
            (None, Some(end)) if self.rate.is_none() => write!(out, "not trusted at any rate: {end}")?,
            (None, Some(end)) => write!(out, "trusted at lower rates: {end}")?,
            (None, None) if self.rate.is_some() => write!(out, "trusted at every measured rate")?,
            (None, None) => write!(out, "nothing was measured")?,
        }
        self.overlooked.iter().try_for_each(|untrusted| write!(out, "; overlooked: {untrusted}"))
    }
}

impl Point {
    /// Whether its runs differ by more than is trusted, which more of them may mend.
    pub fn is_unsure(&self) -> bool {
        matches!(reason_against(self, Tolerance::default()), Some(Reason::StandardError { .. }))
    }
}

fn reason_against(point: &Point, tolerance: Tolerance) -> Option<Reason> {
    match (point.settling, &point.invalid) {
        (Settling::Unsettled, _) => return Some(Reason::Unsettled),
        (_, Some(code)) => return Some(Reason::Invalid(code.clone())),
        (Settling::TooShort, None) => return Some(Reason::TooShort),
        (Settling::Settled, None) => {}
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
    let percent = 100.0 * at_most(error, point.tau_degrees) / tau;
    if !within(percent, tolerance.standard_error) {
        return Some(Reason::StandardError { percent, tolerance: tolerance.standard_error });
    }
    let percent = 100.0 * spread(&point.target_taus) / tau;
    let fails = !within(percent, tolerance.spread);
    fails.then_some(Reason::Spread { percent, tolerance: tolerance.spread })
}

/// What the standard error is at most, at [`CONFIDENCE`]. A few runs may agree by chance: of three whose standard error is
/// in truth 17 %, 65 of 100 triples show less than 10 %.
fn at_most(error: f64, degrees: f64) -> f64 {
    if degrees == f64::INFINITY { error } else { standard_error_bound(error, degrees, CONFIDENCE) }
}

/// Distance between the largest and the smallest value; zero of fewer than two.
fn spread(values: &[f64]) -> f64 {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if values.len() < 2 { 0.0 } else { high - low }
}

#[cfg(test)]
mod tests;
