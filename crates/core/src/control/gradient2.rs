//! Gradient2 (Netflix concurrency-limits, `Gradient2Limit.java`).
//!
//! With limit `L`, response time `R` of the sampling interval and its exponential mean `M` over `long_intervals`
//! (a plain mean of the first ten):
//!
//! - `M > 2 R`: `M := 0.95 M`
//! - `n < L / 2`: `L` stays, because the clients do not fill it
//! - `g = clamp(tolerance M / R, 0.5, 1)`, `L := (1 - smoothing) L + smoothing (g L + queue)`.
//!
//! As published: tolerance 1.5, queue 4, smoothing 0.2, long mean over 600 intervals, `20 <= L <= 200`, initial 20, samples
//! gathered over 1 s and 10 completions. Overload is ignored.
//!
//! With a steady `g` below 1, `L` comes to rest at `queue / (1 - g)`. But `M` follows `R`, so that `g` goes to 1 and `L`
//! rises for ever.

use super::interval::{Gathered, SamplingInterval};
use super::{Bounds, Controller, Decision, Reason, Sample};

/// The long mean begins as the plain mean of so many intervals.
const WARM_UP: f64 = 10.0;

/// Parameters of the algorithm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Factor by which a response may be longer than the mean before the limit falls.
    pub tolerance: f64,
    /// Transactions that may wait inside the server.
    pub queue: f64,
    /// Share of the way to the new limit that a step goes.
    pub smoothing: f64,
    /// Number of intervals in the long mean.
    pub long_intervals: f64,
    /// Sampling interval in seconds.
    pub interval_s: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { tolerance: 1.5, queue: 4.0, smoothing: 0.2, long_intervals: 600.0, interval_s: 1.0 }
    }
}

/// The controller between two ticks.
#[derive(Clone, Debug)]
pub struct Gradient2 {
    bounds: Bounds,
    settings: Settings,
    limit: f64,
    interval: SamplingInterval,
    long_s: f64,
    count: f64,
    why: Reason,
}

impl Gradient2 {
    /// Begins with the initial limit of its bounds.
    pub fn new(bounds: Bounds, settings: Settings) -> Self {
        let interval = SamplingInterval::new(settings.interval_s, 10);
        let limit = f64::from(bounds.initial);
        Self { bounds, settings, limit, interval, long_s: 0.0, count: 0.0, why: Reason::Start }
    }

    fn on_interval(&mut self, gathered: &Gathered) {
        let Settings { tolerance, queue, smoothing, long_intervals, .. } = self.settings;
        let short = gathered.response_s;
        self.count += 1.0;
        let weight = if self.count <= WARM_UP { 1.0 / self.count } else { 2.0 / (long_intervals + 1.0) };
        self.long_s += weight * (short - self.long_s);
        if self.long_s > 2.0 * short {
            self.long_s *= 0.95;
        }
        if 2.0 * f64::from(gathered.in_flight_max) < self.limit {
            self.why = Reason::NotFull { in_flight: f64::from(gathered.in_flight_max) };
            return;
        }
        let gradient = (tolerance * self.long_s / short).clamp(0.5, 1.0);
        self.why = Reason::Gradient { gradient };
        let wanted = gradient * self.limit + queue;
        self.limit = self.bounds.clamp((1.0 - smoothing) * self.limit + smoothing * wanted);
    }
}

impl Controller for Gradient2 {
    fn name(&self) -> &'static str {
        "gradient2"
    }

    fn update(&mut self, sample: &Sample) -> Decision {
        if let Some(gathered) = self.interval.add(sample) {
            self.on_interval(&gathered);
        }
        Decision { limit: self.limit.max(1.0) as u32, why: self.why }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Response;
    use crate::time::Nanos;

    fn second(in_flight_max: u32, response_s: f64) -> Sample {
        let response = Some(Response { mean: response_s, min: response_s, max: response_s });
        Sample { end: Nanos::from_secs(1), in_flight_max, completions: 100, response, ..Sample::default() }
    }

    #[test]
    fn it_grows_by_its_queue_and_shrinks_by_half_the_gradient_at_most() {
        let mut gradient = Gradient2::new(Bounds { initial: 20, range: (20, 200) }, Settings::default());
        // g = 1: 20 + 0.2 * 4.
        gradient.update(&second(20, 0.01));
        assert!((gradient.limit - 20.8).abs() < 1e-9);
        // M = (10 + 100) / 2 = 55 ms, g = 0.825: 0.8 * 20.8 + 0.2 (0.825 * 20.8 + 4) = 20.872.
        gradient.update(&second(21, 0.1));
        assert!((gradient.limit - 20.872).abs() < 1e-9, "{}", gradient.limit);
        // The load was limited by the application here, and not by the limit.
        assert_eq!(gradient.update(&second(5, 0.1)).limit, 20);
    }
}
