//! Vegas (Netflix concurrency-limits, `VegasLimit.java`; after Brakmo and Peterson's TCP Vegas, 1995).
//!
//! With limit `L`, response time `R` of the sampling interval and `R0`, the shortest seen:
//!
//! `q = ceil(L (1 - R0 / R))` transactions wait inside the server. With `l = max(1, floor(log10 L))`:
//!
//! - overload: `L := L - l`
//! - `2 n < L`: `L` stays, because the clients do not fill it
//! - `q <= l`: `L := L + beta l`
//! - `q < alpha l`: `L := L + l`
//! - `q > beta l`: `L := L - l`
//! - else `L` stays.
//!
//! `L` moves by the share `smoothing` of the way. After `jitter probe_multiplier L` intervals, with jitter uniform in
//! 0.5 to 1, `R0` is taken anew from the present response. As published: alpha 3, beta 6, smoothing 1, probe multiplier
//! 30, `1 <= L <= 1,000`, initial 20, samples gathered over 1 s and 10 completions.

use super::interval::{Gathered, SamplingInterval};
use super::{Bounds, Controller, Decision, Reason, Sample};
use crate::random::{Random, Seed};

/// Parameters of the algorithm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Waiting transactions, in units of `log10 L`, below which the limit grows.
    pub alpha: f64,
    /// Waiting transactions, in the same units, above which the limit shrinks.
    pub beta: f64,
    /// Share of the way to the new limit that a step goes.
    pub smoothing: f64,
    /// Intervals between two looks at the shortest response, in units of the limit.
    pub probe_multiplier: f64,
    /// Sampling interval in seconds.
    pub interval_s: f64,
    /// Seed of the jitter.
    pub seed: Seed,
}

impl Default for Settings {
    fn default() -> Self {
        Self { alpha: 3.0, beta: 6.0, smoothing: 1.0, probe_multiplier: 30.0, interval_s: 1.0, seed: Seed(0) }
    }
}

/// The controller between two ticks.
#[derive(Clone, Debug)]
pub struct Vegas {
    bounds: Bounds,
    settings: Settings,
    limit: f64,
    interval: SamplingInterval,
    shortest_s: Option<f64>,
    probe_count: f64,
    jitter: f64,
    random: Random,
    why: Reason,
}

impl Vegas {
    /// Begins with the initial limit of its bounds.
    pub fn new(bounds: Bounds, settings: Settings) -> Self {
        let mut random = Random::new(settings.seed.child("vegas"));
        Self {
            bounds,
            settings,
            limit: f64::from(bounds.initial),
            interval: SamplingInterval::new(settings.interval_s, 10),
            shortest_s: None,
            probe_count: 0.0,
            jitter: 0.5 + 0.5 * random.unit(),
            random,
            why: Reason::Start,
        }
    }

    fn on_interval(&mut self, gathered: &Gathered) {
        let response = gathered.response_s;
        self.probe_count += 1.0;
        if self.probe_count >= self.jitter * self.settings.probe_multiplier * self.limit {
            self.probe_count = 0.0;
            self.jitter = 0.5 + 0.5 * self.random.unit();
            self.shortest_s = Some(response);
            return;
        }
        let shortest = match self.shortest_s {
            Some(shortest) if response >= shortest => shortest,
            _ => {
                self.shortest_s = Some(response);
                return;
            }
        };
        let waiting = (self.limit * (1.0 - shortest / response)).ceil();
        self.why = Reason::Queue { waiting };
        let unit = self.limit.log10().floor().max(1.0);
        let Settings { alpha, beta, smoothing, .. } = self.settings;
        let wanted = if gathered.dropped {
            self.limit - unit
        } else if 2.0 * f64::from(gathered.in_flight_max) < self.limit {
            self.why = Reason::NotFull { in_flight: f64::from(gathered.in_flight_max) };
            return;
        } else if waiting <= unit {
            self.limit + beta * unit
        } else if waiting < alpha * unit {
            self.limit + unit
        } else if waiting > beta * unit {
            self.limit - unit
        } else {
            return;
        };
        self.limit = (1.0 - smoothing) * self.limit + smoothing * self.bounds.clamp(wanted);
    }
}

impl Controller for Vegas {
    fn name(&self) -> &'static str {
        "vegas"
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
    fn it_grows_while_nothing_waits_and_shrinks_when_much_does() {
        let mut vegas = Vegas::new(Bounds { initial: 20, range: (1, 1_000) }, Settings::default());
        // The first interval only gives the shortest response.
        assert_eq!(vegas.update(&second(20, 0.010)).limit, 20);
        // q = ceil(20 (1 - 1)) = 0 <= 1: by beta.
        assert_eq!(vegas.update(&second(20, 0.010)).limit, 26);
        // q = ceil(26 (1 - 10 / 11)) = 3, not below alpha and not above beta: it stays.
        assert_eq!(vegas.update(&second(26, 0.011)).limit, 26);
        // q = ceil(26 / 2) = 13 > 6: by one.
        assert_eq!(vegas.update(&second(26, 0.020)).limit, 25);
        // The clients do not fill it.
        assert_eq!(vegas.update(&second(10, 0.020)).limit, 25);
    }
}
