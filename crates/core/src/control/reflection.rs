//! The throttling study's controller, in our reading (Elnikety and others, TPC-W shopping mix on MySQL, 2003).
//!
//! Sensors: L1 and L2 data-TLB misses and data-cache misses (overhead), user CPU share and throughput (productivity),
//! read every second and smoothed by an exponential mean over 60 s. Each second, with the relative change of the
//! means since the second before, averaged over the sensors of each kind:
//!
//! - productivity and overhead both rise: `L := L + step`, since there is CPU left
//! - overhead rises and productivity does not: `L := L - step`, since the CPU is full
//! - else `L` stays.
//!
//! A change below `band` does not count. Neither step nor band is in the publication; ours are one transaction and 0.1 %.
//! Where no cache or TLB misses can be read, CPU time per commit stands for overhead; where that is missing as well, `L`
//! stays. The study's authors found its dynamics unsatisfactory, which is why `evenkeel` works otherwise.

use super::{Controller, Decision, Reason, Sample, Signals};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Time constant of the means in seconds.
    pub mean_s: f64,
    pub every_s: f64,
    /// Relative change of a mean that counts.
    pub band: f64,
    pub step: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self { mean_s: 60.0, every_s: 1.0, band: 0.001, step: 1 }
    }
}

impl Settings {
    /// The same with means over another span, in seconds, in which it decides as often as in the published span.
    pub fn with_span(self, span_s: f64) -> Self {
        Self { mean_s: span_s, every_s: span_s * self.every_s / self.mean_s, ..self }
    }
}

/// Number of sensors, in this order: throughput, user CPU share, data-TLB misses, data-cache misses, CPU per commit.
const SENSORS: usize = 5;

#[derive(Clone, Debug)]
pub struct Reflection {
    bounds: Bounds,
    settings: Settings,
    limit: u32,
    means: [Option<f64>; SENSORS],
    before: [Option<f64>; SENSORS],
    since_s: f64,
    completions: u64,
    signals: Signals,
    why: Reason,
}

impl Reflection {
    pub fn new(bounds: Bounds, settings: Settings) -> Self {
        Self {
            bounds,
            settings,
            limit: bounds.initial.max(1),
            means: [None; SENSORS],
            before: [None; SENSORS],
            since_s: 0.0,
            completions: 0,
            signals: Signals::default(),
            why: Reason::Start,
        }
    }

    fn read(&mut self) {
        let throughput = self.completions as f64 / self.since_s;
        let Signals { user_cpu_share, dtlb_misses, cache_misses, cpu_per_commit, .. } = self.signals;
        let seen = [Some(throughput), user_cpu_share, dtlb_misses, cache_misses, cpu_per_commit];
        let weight = (self.since_s / self.settings.mean_s).min(1.0);
        self.before = self.means;
        for (mean, seen) in self.means.iter_mut().zip(seen) {
            if let Some(seen) = seen {
                *mean = Some(mean.map_or(seen, |mean| mean + weight * (seen - mean)));
            }
        }
    }

    /// Mean relative change of some sensors; `None` where none of them is available.
    fn change(&self, sensors: std::ops::Range<usize>) -> Option<f64> {
        let changes: Vec<f64> = sensors
            .filter_map(|sensor| {
                let (now, before) = (self.means[sensor]?, self.before[sensor]?);
                (before > 0.0).then(|| now / before - 1.0)
            })
            .collect();
        (!changes.is_empty()).then(|| changes.iter().sum::<f64>() / changes.len() as f64)
    }

    fn decide(&mut self) {
        let overhead = self.change(2..4).or_else(|| self.change(4..5));
        let (Some(productivity), Some(overhead)) = (self.change(0..2), overhead) else {
            self.why = Reason::NoSignal;
            return;
        };
        self.why = Reason::Reflection { productivity, overhead };
        let Settings { band, step, .. } = self.settings;
        if overhead <= band {
            return;
        }
        let wanted = if productivity > band {
            self.limit.saturating_add(step)
        } else {
            self.limit.saturating_sub(step)
        };
        let (low, high) = self.bounds.range;
        self.limit = wanted.clamp(low.max(1), high.max(1));
    }
}

impl Controller for Reflection {
    fn name(&self) -> &'static str {
        "reflection"
    }

    fn update(&mut self, sample: &Sample) -> Decision {
        self.since_s += sample.seconds();
        self.completions += sample.completions;
        self.signals = sample.signals;
        if self.since_s + 1e-9 >= self.settings.every_s {
            self.read();
            self.decide();
            self.since_s = 0.0;
            self.completions = 0;
        }
        Decision { limit: self.limit, why: self.why }
    }
}

/// The limit that a controller begins with and the range that it never leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    pub initial: u32,
    pub range: (u32, u32),
}

impl Bounds {
    pub fn starting_at(initial: u32) -> Self {
        Self { initial, ..Self::default() }
    }
}

impl Default for Bounds {
    fn default() -> Self {
        Self { initial: 8, range: (1, 1_024) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Nanos;

    fn second(completions: u64, misses: Option<f64>) -> Sample {
        let signals = Signals { dtlb_misses: misses, user_cpu_share: Some(0.5), ..Signals::default() };
        Sample { end: Nanos::from_secs(1), completions, signals, ..Sample::default() }
    }

    #[test]
    fn it_raises_when_both_rise_lowers_when_only_overhead_does_and_stays_else() {
        let mut reflection = Reflection::new(Bounds::default(), Settings::default());
        assert_eq!(reflection.update(&second(100, Some(1.0))).limit, 8);
        assert_eq!(reflection.update(&second(200, Some(2.0))).limit, 9);
        assert_eq!(reflection.update(&second(101, Some(3.0))).limit, 8);
        let stayed = reflection.update(&second(500, Some(0.1)));
        assert_eq!(stayed.limit, 8, "{stayed}");
    }

    #[test]
    fn a_shorter_span_decides_as_often_in_it() {
        let short = Settings::default().with_span(6.0);
        assert!((short.mean_s - 6.0).abs() < 1e-9 && (short.every_s - 0.1).abs() < 1e-9, "{short:?}");
        let published = Settings::default();
        assert_eq!(published.with_span(60.0), published);
    }

    #[test]
    fn without_overhead_it_stays_and_says_so() {
        let mut reflection = Reflection::new(Bounds::default(), Settings::default());
        reflection.update(&second(100, None));
        assert_eq!(reflection.update(&second(200, None)), Decision { limit: 8, why: Reason::NoSignal });
    }
}
