//! How long a run lasts: near saturation longer, since response times depend on one another for longer there.

use super::run::Study;
use crate::store::format::{CellRecord, ProbeRecord};
use evenkeel_core::Nanos;
use evenkeel_core::statistics::pooled::length;

/// Beyond this share of the saturation a queue has no length to plan with, only an end.
const UTILISATION_MAX: f64 = 0.98;

/// Phases of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Phases {
    pub warm_up: Nanos,
    pub measure: Nanos,
}

impl Study<'_> {
    /// Phases of the runs of a cell. The probes of the search are the pilot: no run decides about its own length.
    pub(super) fn phases(&self, cell: &CellRecord) -> Phases {
        let asked = Phases { warm_up: self.spec.warm_up, measure: self.spec.duration };
        grown(asked, self.spec.longest, cell, &self.plan.probes)
    }
}

/// `asked`, or longer where the queue of an M/M/1 server at that share of the saturation remembers for longer; at most
/// `longest`. A rate above the saturation never comes to rest, however long it lasts.
fn grown(asked: Phases, longest: Nanos, cell: &CellRecord, probes: &[ProbeRecord]) -> Phases {
    let own = probes.iter().filter(|probe| probe.series == cell.series);
    let saturation = own.map(|probe| probe.throughput_per_s).fold(0.0, f64::max);
    if saturation <= 0.0 || cell.rate_per_s >= saturation || longest <= asked.measure {
        return asked;
    }
    let utilisation = (cell.rate_per_s / saturation).min(UTILISATION_MAX);
    let found = length(utilisation / (1.0 - utilisation), cell.rate_per_s, asked.measure.as_secs_f64());
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
    fn runs_in_overload_or_without_a_known_saturation_last_as_long_as_was_asked() {
        assert_eq!(of(130.0, Some(100.0), 40), (2, 10));
        assert_eq!(of(95.0, None, 40), (2, 10));
        assert_eq!(of(95.0, Some(100.0), 10), (2, 10));
    }
}
