//! Additive increase, multiplicative decrease (Netflix concurrency-limits, `AIMDLimit.java`): the peer that does best on
//! random plants.
//!
//! Each sampling interval, with limit `L`, most in flight `n` and mean response time `R`:
//!
//! - overload, or `R > timeout`: `L := backoff L`
//! - else `2 n >= L`: `L := L + 1`
//! - else `L` stays, because the clients do not fill it.
//!
//! As published: backoff 0.9, timeout 5 s, `20 <= L <= 200`, initial 20, samples gathered over 1 s and 10 completions.

use super::interval::SamplingInterval;
use evenkeel_core::control::{Bounds, Controller, Decision, Reason, Sample};

/// Parameters of the algorithm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Factor by which overload lowers the limit, below 1.
    pub backoff: f64,
    /// Response time that counts as overload, in seconds.
    pub timeout_s: f64,
    /// Sampling interval in seconds.
    pub interval_s: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { backoff: 0.9, timeout_s: 5.0, interval_s: 1.0 }
    }
}

/// The controller between two ticks.
#[derive(Clone, Debug)]
pub struct Aimd {
    bounds: Bounds,
    settings: Settings,
    limit: f64,
    interval: SamplingInterval,
    why: Reason,
}

impl Aimd {
    /// Begins with the initial limit of its bounds.
    pub fn new(bounds: Bounds, settings: Settings) -> Self {
        let interval = SamplingInterval::new(settings.interval_s, 10);
        Self { bounds, settings, limit: f64::from(bounds.initial), interval, why: Reason::Start }
    }
}

impl Controller for Aimd {
    fn name(&self) -> &'static str {
        "aimd"
    }

    fn update(&mut self, sample: &Sample) -> Decision {
        if let Some(gathered) = self.interval.add(sample) {
            let measured = Reason::Measuring { completions: gathered.completions };
            if gathered.dropped || gathered.response_s > self.settings.timeout_s {
                self.limit *= self.settings.backoff;
                self.why = measured;
            } else if 2.0 * f64::from(gathered.in_flight_max) >= self.limit {
                self.limit += 1.0;
                self.why = measured;
            } else {
                self.why = Reason::NotFull { in_flight: f64::from(gathered.in_flight_max) };
            }
            let (low, high) = self.bounds.range;
            self.limit = self.limit.clamp(f64::from(low), f64::from(high));
        }
        Decision { limit: self.limit.max(1.0) as u32, why: self.why }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_core::Nanos;
    use evenkeel_core::control::Response;

    fn second(in_flight_max: u32, response_s: f64) -> Sample {
        let response = Some(Response { mean: response_s, min: response_s, max: response_s });
        Sample { end: Nanos::from_secs(1), in_flight_max, completions: 100, response, ..Sample::default() }
    }

    #[test]
    fn it_adds_one_while_full_stays_while_not_and_backs_off_when_slow() {
        let published = Bounds { initial: 20, range: (20, 200) };
        let mut aimd = Aimd::new(published, Settings::default());
        assert_eq!(aimd.update(&second(20, 0.1)).limit, 21);
        assert_eq!(aimd.update(&second(5, 0.1)).limit, 21);
        assert_eq!(aimd.update(&second(21, 6.0)).limit, 20);
        let mut free = Aimd::new(Bounds { range: (1, 200), ..published }, Settings::default());
        assert_eq!(free.update(&second(21, 6.0)).limit, 18);
    }
}
