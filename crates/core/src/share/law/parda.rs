//! The published law (Gulati, Ahmad and Waldspurger, FAST 2009).
//!
//! `w <- (1 - gamma) w + gamma (L / Lavg * w + beta)`, clamped, every period; `L` is the threshold, `Lavg` the mean latency
//! over all hosts, `beta = K S` follows the shares `S` of the host's disks, each weighed by how far it fills its part of
//! the window (`nu = min(n / w_i, 1)`). At rest `w_i` is proportional to `beta_i` and `Lavg = L + sum(beta) / X` at
//! throughput `X`; the total settles with a pole of `1 - gamma` a period, the shares with `1 - gamma * sum(beta) / W`,
//! which is slow.

use super::super::{Period, Report, mean_latency};

/// Parameters; the defaults are those of the published experiments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// Latency threshold L in seconds.
    pub threshold_s: f64,
    pub gamma: f64,
    /// Weight of the newest I/O in a host's mean latency.
    pub alpha: f64,
    /// Beta for a share of 1.
    pub k: f64,
    /// Least and most window.
    pub range: (f64, f64),
    pub initial: f64,
}

impl Parameters {
    /// The published ones for a threshold in seconds.
    pub fn published(threshold_s: f64) -> Self {
        Self { threshold_s, gamma: 0.8, alpha: 0.002, k: 1.0, range: (1.0, 64.0), initial: 32.0 }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Parda {
    parameters: Parameters,
    window: f64,
    latency: f64,
    /// Shares of the disks, each as far as it filled its part of the window in the last period.
    used: f64,
    /// The least window, and more latency than the threshold.
    at_floor: bool,
}

impl Parda {
    pub fn new(parameters: Parameters) -> Self {
        Self { parameters, window: parameters.initial, latency: 0.0, used: 0.0, at_floor: false }
    }
}

impl WindowLaw for Parda {
    fn name(&self) -> &'static str {
        "parda"
    }

    fn report(&mut self, period: &Period) -> Report {
        if let Some(latency) = period.latency {
            // Of n I/Os with one mean, each with weight alpha.
            let keep = if self.latency > 0.0 {
                (1.0 - self.parameters.alpha).powf(period.completions as f64)
            } else {
                0.0
            };
            self.latency = keep * self.latency + (1.0 - keep) * latency;
        }
        self.used = period.used_shares(self.window);
        Report { latency: self.latency, ..Report::of(period, self.parameters.range.1) }
    }

    fn update(&mut self, all: &[Report], own: usize) -> f64 {
        let Parameters { threshold_s, gamma, k, range, .. } = self.parameters;
        if let (Some(latency), Some(_)) = (mean_latency(all), all.get(own)) {
            let wanted = threshold_s / latency * self.window + k * self.used;
            self.window = ((1.0 - gamma) * self.window + gamma * wanted).clamp(range.0, range.1);
            self.at_floor = self.window <= range.0 && latency > threshold_s;
        }
        self.window
    }

    fn is_at_floor(&self) -> bool {
        self.at_floor
    }

    fn beta(&self) -> Option<f64> {
        Some(self.parameters.k * self.used)
    }
}

/// A law with what it remembers. Each period it is asked for a [`report`](WindowLaw::report), and when the reports of all hosts
/// have been read, for the window by [`update`](WindowLaw::update).
pub trait WindowLaw: Send {
    fn name(&self) -> &'static str;

    fn report(&mut self, period: &Period) -> Report;

    /// The window from now on, in units of cost. `all` has the latest report of each live host, and `own` is the place of this
    /// host's among them; where that is missing the window stays.
    fn update(&mut self, all: &[Report], own: usize) -> f64;

    /// Whether the latency is above the threshold although the window is as small as the law lets it be: then something that
    /// keeps to no law loads the storage.
    fn is_at_floor(&self) -> bool {
        false
    }

    /// This host's part of the device over the part that its shares give it, where the host is held back and the two stay far
    /// from each other, because the storage is not divided by windows.
    fn unfair(&self) -> Option<f64> {
        None
    }

    /// What shares add to the window by the last period that was reported, where the law has such a figure: the beta of the
    /// published law.
    fn beta(&self) -> Option<f64> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::DiskUse;
    use super::*;

    fn period(latency: f64, wanted: f64) -> Period {
        let disks = vec![DiskUse { shares: 1.0, wanted }];
        Period {
            outstanding: wanted,
            met: wanted,
            latency: Some(latency),
            completions: 1_000,
            disks,
            ..Period::default()
        }
    }

    #[test]
    fn at_the_threshold_the_window_grows_by_gamma_beta() {
        let mut parda = Parda::new(Parameters::published(0.030));
        let report = parda.report(&period(0.030, 100.0));
        assert!((parda.update(&[report], 0) - 32.8).abs() < 1e-9);
    }

    #[test]
    fn a_host_that_fills_half_its_window_has_half_its_beta() {
        let mut parda = Parda::new(Parameters { k: 2.0, ..Parameters::published(0.030) });
        parda.report(&period(0.030, 16.0));
        assert_eq!((parda.used, parda.beta()), (0.5, Some(1.0)));
        let mut parda = Parda::new(Parameters::published(0.030));
        let report = parda.report(&period(0.030, 16.0));
        assert!((parda.update(&[report], 0) - 32.4).abs() < 1e-9);
    }

    #[test]
    fn without_a_latency_the_window_stays() {
        let mut parda = Parda::new(Parameters::published(0.030));
        assert_eq!(parda.update(&[Report::default()], 0), 32.0);
        assert_eq!(parda.update(&[], 0), 32.0);
    }
}
