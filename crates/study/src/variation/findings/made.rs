//! How a finding is made.

use crate::harness::Finding;
use evenkeel_core::statistics::standard_error_bound;
use evenkeel_core::trust::{CONFIDENCE, Point, Reason, TrustLimit};

/// One that cannot be told here, and why.
pub(super) fn untested(name: &'static str, part: &str, published: &str, why: &str) -> Finding {
    Finding::of(name, part, published, None, why.to_owned())
}

/// Whether all hold: no where one does not, and not known where one of the others is not.
pub(super) fn all(each: &[Option<bool>]) -> Option<bool> {
    match () {
        () if each.contains(&Some(false)) => Some(false),
        () if each.contains(&None) => None,
        () => Some(true),
    }
}

/// Whether runs or servers differ by more than is trusted; `None` where it takes more runs to tell, since of a few the standard error may be
/// too large and need not be, and where a rate is not trusted for what is no difference: a queue that grows, requests that are lost.
pub(super) fn breaks(points: &[Point], limit: &TrustLimit) -> Option<bool> {
    let Some(end) = &limit.end else { return (!points.is_empty()).then_some(false) };
    // What the standard error is at least, with the confidence that trust asks of what it is at most.
    let at_least = |point: &Point| {
        let error = standard_error_bound(point.tau.standard_error()?, point.tau_degrees, 1.0 - CONFIDENCE);
        Some(100.0 * error / point.tau.mean)
    };
    let known = points.iter().find(|point| point.rate == end.rate).and_then(at_least);
    match end.reason {
        Reason::Spread { .. } => Some(true),
        Reason::StandardError { tolerance, .. } => known.filter(|percent| *percent > tolerance).map(|_| true),
        _ => None,
    }
}
