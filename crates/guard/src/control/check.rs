//! Whether a sample can be believed. A sensor that lies is left out; a sample whose figures make no sense is not used.

use evenkeel_core::control::{Sample, Signals};
use std::fmt;

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

pub const SENSORS: usize = 11;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sensor {
    CpuPerCommit,
    CyclesPerCommit,
    DtlbMisses,
    CacheMisses,
    SwitchesPerCommit,
    LockWaitShare,
    DeadlocksPerCommit,
    MemoryPressure,
    MemoryUsed,
    MemoryFree,
    UserCpuShare,
}

impl Sensor {
    /// All, in the order of [`values`].
    pub const ALL: [Self; SENSORS] = [
        Self::CpuPerCommit,
        Self::CyclesPerCommit,
        Self::DtlbMisses,
        Self::CacheMisses,
        Self::SwitchesPerCommit,
        Self::LockWaitShare,
        Self::DeadlocksPerCommit,
        Self::MemoryPressure,
        Self::MemoryUsed,
        Self::MemoryFree,
        Self::UserCpuShare,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::CpuPerCommit => "cpu_per_commit",
            Self::CyclesPerCommit => "cycles_per_commit",
            Self::DtlbMisses => "dtlb_misses",
            Self::CacheMisses => "cache_misses",
            Self::SwitchesPerCommit => "switches_per_commit",
            Self::LockWaitShare => "lock_wait_share",
            Self::DeadlocksPerCommit => "deadlocks_per_commit",
            Self::MemoryPressure => "memory_pressure",
            Self::MemoryUsed => "memory_used",
            Self::MemoryFree => "memory_free",
            Self::UserCpuShare => "user_cpu_share",
        }
    }

    /// Whether it is a share of a whole.
    fn is_share(self) -> bool {
        matches!(self, Self::LockWaitShare | Self::MemoryPressure | Self::UserCpuShare)
    }

    pub fn of(self, signals: &mut Signals) -> &mut Option<f64> {
        match self {
            Self::CpuPerCommit => &mut signals.cpu_per_commit,
            Self::CyclesPerCommit => &mut signals.cycles_per_commit,
            Self::DtlbMisses => &mut signals.dtlb_misses,
            Self::CacheMisses => &mut signals.cache_misses,
            Self::SwitchesPerCommit => &mut signals.switches_per_commit,
            Self::LockWaitShare => &mut signals.lock_wait_share,
            Self::DeadlocksPerCommit => &mut signals.deadlocks_per_commit,
            Self::MemoryPressure => &mut signals.memory_pressure,
            Self::MemoryUsed => &mut signals.memory_used,
            Self::MemoryFree => &mut signals.memory_free,
            Self::UserCpuShare => &mut signals.user_cpu_share,
        }
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
