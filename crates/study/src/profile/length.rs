//! How long a run lasts: near saturation longer, since response times depend on one another for longer there; and on a slow server
//! longer, since a run of few arrivals tells nothing.

use super::answer::saturation;
use super::spec::{Budget, StudySpec};
use crate::store::format::{CellRecord, ProbeRecord};
use evenkeel_core::Nanos;
use evenkeel_core::caveat::threshold::{ARRIVALS_MIN, SECONDS_MIN};
use evenkeel_core::statistics::pooled::length;

/// As many arrivals in the mean as make it certain that Poisson arrivals are enough to tell by: of 130, all but 4 in 1,000 runs have
/// 100.
const ARRIVALS: f64 = 1.3 * ARRIVALS_MIN as f64;

/// A run that waits for arrivals lasts this long at most, and no longer than this part of the time that there is: the first bounds
/// need six runs.
const WAITS_MOST: Nanos = Nanos::from_secs(120);
const WAITS_PART: u64 = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Phases {
    pub warm_up: Nanos,
    pub measure: Nanos,
}

/// Phases of the runs of a cell. The probes of the search are the pilot: no run decides about its own length.
pub(super) fn phases(spec: &StudySpec, cell: &CellRecord, probes: &[ProbeRecord]) -> Phases {
    let (duration, budget) = (spec.duration, spec.budget);
    let measure = budget.map_or(duration, |budget| for_arrivals(duration, budget, cell.rate_per_s));
    let asked = Phases { warm_up: spec.warm_up, measure };
    grown(asked, spec.longest, cell, probes)
}

/// The lowest rate per second at which a run of such a sequence has arrivals enough.
pub(super) fn rate_min(duration: Nanos, budget: Budget) -> f64 {
    ARRIVALS / waits(duration, budget).as_secs_f64()
}

/// `duration`, or longer at a rate that has too few arrivals within it.
fn for_arrivals(duration: Nanos, budget: Budget, rate: f64) -> Nanos {
    Nanos::from_secs_f64((ARRIVALS / rate).ceil()).clamp(duration, waits(duration, budget))
}

/// How long a run waits for arrivals at most. One that is too short to tell anything, whatever its rate, does not wait.
fn waits(duration: Nanos, budget: Budget) -> Nanos {
    if duration < Nanos::from_secs(SECONDS_MIN as u64) {
        return duration;
    }
    let part = budget.within.map_or(WAITS_MOST, |within| Nanos(within.0 / WAITS_PART));
    part.min(WAITS_MOST).max(duration)
}

/// `asked`, or longer where the queue of an M/M/1 server at that share of the saturation remembers for longer; at most
/// `longest`. A rate above the saturation never comes to rest, however long it lasts.
fn grown(asked: Phases, longest: Nanos, cell: &CellRecord, probes: &[ProbeRecord]) -> Phases {
    let below = |saturation: &f64| cell.rate_per_s < *saturation && longest > asked.measure;
    let Some(saturation) = saturation(probes, cell.series).filter(below) else { return asked };
    let found = length(saturation, cell.rate_per_s, asked.measure.as_secs_f64());
    let measure = Nanos::from_secs_f64(found.seconds.ceil()).clamp(asked.measure, longest);
    if measure == asked.measure {
        return asked;
    }
    Phases { warm_up: asked.warm_up.max(Nanos::from_secs_f64(found.warm_up).min(longest)), measure }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rate: f64, saturation: Option<f64>, longest: u64) -> (u64, u64) {
        let asked = Phases { warm_up: Nanos::from_secs(2), measure: Nanos::from_secs(10) };
        let cell = CellRecord { id: 1, series: 0, rate_per_s: rate };
        let probe = |throughput| ProbeRecord {
            series: 0,
            rate_per_s: None,
            throughput_per_s: throughput,
            theta_percent: None,
            settled: true,
        };
        let probes: Vec<ProbeRecord> = saturation.map(probe).into_iter().collect();
        let found = grown(asked, Nanos::from_secs(longest), &cell, &probes);
        (found.warm_up.as_secs_f64() as u64, found.measure.as_secs_f64() as u64)
    }

    #[test]
    fn runs_grow_towards_the_saturation_and_no_further_than_they_may() {
        assert_eq!(of(50.0, Some(100.0), 40), (2, 10));
        let (warm_up, measure) = of(80.0, Some(100.0), 80);
        assert!(measure > 40 && measure < 80 && warm_up > 2, "{warm_up} and {measure}");
        assert_eq!(of(95.0, Some(100.0), 40).1, 40);
    }

    #[test]
    fn runs_of_a_slow_server_last_until_their_arrivals_are_enough_and_leave_time_for_others() {
        let seconds = |within: Option<u64>, rate: f64| {
            let budget = Budget { until: None, within: within.map(Nanos::from_secs) };
            for_arrivals(Nanos::from_secs(10), budget, rate).as_secs_f64()
        };
        assert_eq!(seconds(None, 100.0), 10.0);
        assert_eq!(seconds(None, 2.0), 65.0);
        assert_eq!(seconds(None, 0.01), 120.0);
        assert_eq!(seconds(Some(180), 2.0), 22.5);
        assert_eq!(seconds(Some(1), 2.0), 10.0);
        let open = Budget::default();
        assert!((rate_min(Nanos::from_secs(10), open) - 130.0 / 120.0).abs() < 1e-9);
        assert_eq!(rate_min(Nanos::from_secs(1), open), 130.0);
        assert_eq!(for_arrivals(Nanos::from_secs(1), open, 2.0), Nanos::from_secs(1));
    }

    #[test]
    fn runs_in_overload_or_without_a_known_saturation_last_as_long_as_was_asked() {
        assert_eq!(of(130.0, Some(100.0), 40), (2, 10));
        assert_eq!(of(95.0, None, 40), (2, 10));
        assert_eq!(of(95.0, Some(100.0), 10), (2, 10));
    }
}
