//! How a finding is made.

use crate::harness::{Finding, Number, Outcome};
use evenkeel_core::trust::{Point, Reason, TrustLimit};

/// One that cannot be told here, and why.
pub(super) fn untested(name: &'static str, part: &str, published: &str, why: &str) -> Finding {
    Finding {
        name,
        part: part.to_owned(),
        outcome: Outcome::NotTestable,
        published: published.to_owned(),
        here: why.to_owned(),
        numbers: Vec::new(),
    }
}

/// One that was held against ours.
pub(super) fn finding(
    name: &'static str,
    part: &str,
    published: &str,
    holds: Option<bool>,
    here: String,
    numbers: Vec<Number>,
) -> Finding {
    Finding { outcome: Outcome::of(holds), here, numbers, ..untested(name, part, published, "") }
}

/// Whether runs or servers differ by more than is trusted; `None` where it takes more runs to tell: of a few the standard error may be too
/// large, and need not be.
pub(super) fn breaks(points: &[Point], limit: &TrustLimit) -> Option<bool> {
    let Some(end) = &limit.end else { return (!points.is_empty()).then_some(false) };
    let estimated = points
        .iter()
        .find(|point| point.rate == end.rate)
        .and_then(|point| Some(100.0 * point.tau.standard_error()? / point.tau.mean));
    match end.reason {
        Reason::TooFewRuns(_) | Reason::TooShort | Reason::Invalid(_) => None,
        Reason::StandardError { tolerance, .. } => {
            estimated.filter(|percent| *percent > tolerance).map(|_| true)
        }
        _ => Some(true),
    }
}
