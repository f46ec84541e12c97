//! The baseline of each signal: its mean while throughput is near its recent best.

use crate::control::{Sample, Signals};
use std::fmt;

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

// Whether a sample can be believed. A sensor that lies is left out; a sample whose figures make no sense is not used.

const TICK_MAX_S: f64 = 5.0;

/// What was wrong with a sample or with the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// The clock stood still or went backwards.
    Clock,
    /// The tick was far too long: this process did not run.
    Gap,
    /// The gate's own figures contradict each other.
    Figures,
    /// A sensor gave an impossible value and is left out.
    Sensor(Sensor),
    /// The controller panicked; it is not asked again.
    Panic,
    /// The controller wants a limit of 0.
    Limit,
}

pub const SENSORS: usize = 10;

/// A sensor for each signal, which has its name.
macro_rules! sensors {
    ($($sensor:ident = $signal:ident,)+) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Sensor {
            $($sensor,)+
        }

        impl Sensor {
            /// All, in the order of [`values`].
            pub const ALL: [Self; SENSORS] = [$(Self::$sensor,)+];

            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$sensor => stringify!($signal),)+
                }
            }

            pub fn of(self, signals: &mut Signals) -> &mut Option<f64> {
                match self {
                    $(Self::$sensor => &mut signals.$signal,)+
                }
            }
        }
    };
}

sensors! {
    CpuPerCommit = cpu_per_commit,
    CyclesPerCommit = cycles_per_commit,
    DtlbMisses = dtlb_misses,
    CacheMisses = cache_misses,
    LockWaitShare = lock_wait_share,
    DeadlocksPerCommit = deadlocks_per_commit,
    MemoryPressure = memory_pressure,
    MemoryUsed = memory_used,
    MemoryFree = memory_free,
    UserCpuShare = user_cpu_share,
}

impl Sensor {
    /// Whether it is a share of a whole.
    fn is_share(self) -> bool {
        matches!(self, Self::LockWaitShare | Self::MemoryPressure | Self::UserCpuShare)
    }
}

/// All signals in the order of [`Sensor::ALL`].
pub fn values(signals: &Signals) -> [Option<f64>; SENSORS] {
    let mut signals = *signals;
    Sensor::ALL.map(|sensor| *sensor.of(&mut signals))
}

/// Removes signals that cannot be and names the first; an error where the sample itself cannot be used.
pub fn check(sample: &mut Sample) -> Result<Option<Fault>, Fault> {
    if sample.end <= sample.start {
        return Err(Fault::Clock);
    }
    if sample.seconds() > TICK_MAX_S {
        return Err(Fault::Gap);
    }
    let response = sample
        .response
        .is_none_or(|r| r.min <= r.max && r.min >= 0.0 && r.max.is_finite() && is_figure(r.mean));
    let figures = [sample.in_flight_mean, sample.queued, sample.work];
    if !response || !figures.into_iter().all(is_figure) || sample.limit == 0 {
        return Err(Fault::Figures);
    }
    let mut lying = None;
    for sensor in Sensor::ALL {
        let value = sensor.of(&mut sample.signals);
        // A share may pass one by the resolution of what it is made of.
        let most = if sensor.is_share() { 1.5 } else { f64::INFINITY };
        if value.is_some_and(|value| !is_figure(value) || value > most) {
            *value = None;
            lying = lying.or(Some(Fault::Sensor(sensor)));
        }
        if sensor.is_share() {
            *value = value.map(|value| value.min(1.0));
        }
    }
    Ok(lying)
}

fn is_figure(value: f64) -> bool {
    value.is_finite() && value >= 0.0
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Clock => f.write_str("the clock stood still"),
            Self::Gap => write!(f, "more than {TICK_MAX_S} s passed between two ticks"),
            Self::Figures => f.write_str("the gate's figures contradict each other"),
            Self::Sensor(sensor) => write!(f, "sensor {} gave an impossible value", sensor.name()),
            Self::Panic => f.write_str("the controller failed"),
            Self::Limit => f.write_str("the controller asked for an impossible limit"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Nanos;

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
