//! Ticks gathered into the sampling interval of an algorithm: the stretch over which it averages.

use evenkeel_core::control::Sample;

/// The figures of a whole sampling interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Gathered {
    /// Its length in seconds.
    pub seconds: f64,
    /// Transactions that ended well.
    pub completions: u64,
    /// Mean response time in seconds.
    pub response_s: f64,
    /// Most in flight.
    pub in_flight_max: u32,
    /// Whether anything was refused or failed by overload.
    pub dropped: bool,
}

/// Gathers ticks until both a time and a number of completions are reached (Netflix: 1 s and 10).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SamplingInterval {
    length_s: f64,
    completions_min: u64,
    gathered: Gathered,
    response_sum_s: f64,
}

impl SamplingInterval {
    /// An interval that begins with the next tick.
    pub fn new(length_s: f64, completions_min: u64) -> Self {
        Self { length_s, completions_min, gathered: Gathered::default(), response_sum_s: 0.0 }
    }

    /// Adds a tick. If that makes the interval full, gives its figures and begins the next one.
    pub fn add(&mut self, sample: &Sample) -> Option<Gathered> {
        let gathered = &mut self.gathered;
        gathered.seconds += sample.seconds();
        gathered.completions += sample.completions;
        gathered.in_flight_max = gathered.in_flight_max.max(sample.in_flight_max);
        gathered.dropped |= sample.overload > 0;
        self.response_sum_s +=
            sample.response.map_or(0.0, |response| response.mean * sample.completions as f64);
        if gathered.seconds + 1e-9 < self.length_s || gathered.completions < self.completions_min.max(1) {
            return None;
        }
        let response_s = self.response_sum_s / gathered.completions as f64;
        let full = Gathered { response_s, ..*gathered };
        *self = Self::new(self.length_s, self.completions_min);
        Some(full)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_core::Nanos;
    use evenkeel_core::control::Response;

    #[test]
    fn an_interval_is_full_with_its_time_and_its_completions() {
        let response = Some(Response { mean: 0.01, min: 0.01, max: 0.01 });
        let tick = Sample { end: Nanos::from_millis(500), completions: 4, response, ..Sample::default() };
        let mut interval = SamplingInterval::new(1.0, 10);
        assert_eq!(interval.add(&tick), None);
        assert_eq!(interval.add(&tick), None);
        let full = interval.add(&tick).unwrap();
        assert_eq!((full.completions, full.seconds), (12, 1.5));
        assert!((full.response_s - 0.01).abs() < 1e-12);
        assert_eq!(interval.add(&tick), None);
    }
}
