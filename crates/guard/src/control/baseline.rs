//! The baseline of each signal: its mean while throughput is near its recent best.

use super::check::{SENSORS, Sensor, values};
use evenkeel_core::control::Sample;

/// Throughput is near its best from this share of it on.
const NEAR: f64 = 0.9;
/// Time constants, in seconds, with which the best throughput is forgotten and with which the baseline is learnt.
const FORGET_S: f64 = 300.0;
const LEARN_S: f64 = 60.0;
/// Ticks are too short to measure throughput, so that it is smoothed with this time constant, in seconds.
const SMOOTH_S: f64 = 2.0;

/// The baseline of each signal.
#[derive(Clone, Debug, Default)]
pub struct Baseline {
    best: f64,
    smooth: f64,
    seconds: f64,
    values: [Option<f64>; SENSORS],
}

impl Baseline {
    /// Learns from a tick. One without a completion says nothing of costs per commit.
    pub fn learn(&mut self, sample: &Sample) {
        let seconds = sample.seconds();
        self.seconds += seconds;
        self.smooth += (sample.work_per_s() - self.smooth) * share(seconds, SMOOTH_S.min(self.seconds));
        self.best *= 1.0 - share(seconds, FORGET_S);
        if self.seconds < SMOOTH_S || sample.completions == 0 {
            return;
        }
        self.best = self.best.max(self.smooth);
        if self.smooth >= NEAR * self.best {
            for (known, now) in self.values.iter_mut().zip(values(&sample.signals)) {
                if let Some(now) = now {
                    let before = known.unwrap_or(now);
                    *known = Some(before + (now - before) * share(seconds, LEARN_S));
                }
            }
        }
    }

    /// A signal over its baseline; `None` where either is not available, or the baseline is zero.
    pub fn ratio(&self, sensor: Sensor, now: f64) -> Option<f64> {
        let index = Sensor::ALL.iter().position(|known| *known == sensor)?;
        self.values[index].filter(|base| *base > 0.0).map(|base| now / base)
    }
}

fn share(seconds: f64, constant: f64) -> f64 {
    if constant > 0.0 { (seconds / constant).clamp(0.0, 1.0) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_core::Nanos;

    fn learn(baseline: &mut Baseline, ticks: u64, completions: u64, cpu: Option<f64>) {
        for _ in 0..ticks {
            let mut sample = Sample {
                end: Nanos::from_millis(100),
                completions,
                work: completions as f64,
                ..Sample::default()
            };
            sample.signals.cpu_per_commit = cpu;
            baseline.learn(&sample);
        }
    }

    #[test]
    fn it_is_learnt_near_the_peak_and_kept_in_collapse() {
        let mut baseline = Baseline::default();
        learn(&mut baseline, 600, 200, Some(0.001));
        learn(&mut baseline, 300, 10, Some(0.010));
        let ratio = baseline.ratio(Sensor::CpuPerCommit, 0.010).expect("learnt");
        assert!((9.0..=10.0).contains(&ratio), "{ratio}");
    }

    #[test]
    fn after_a_lasting_change_the_baseline_follows() {
        let mut baseline = Baseline::default();
        learn(&mut baseline, 600, 200, Some(0.001));
        learn(&mut baseline, 6_000, 50, Some(0.004));
        let ratio = baseline.ratio(Sensor::CpuPerCommit, 0.004).expect("learnt");
        assert!((0.9..1.4).contains(&ratio), "{ratio}");
    }
}
