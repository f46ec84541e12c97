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
    /// The sensor of this name gave an impossible value and is left out.
    Sensor(&'static str),
    /// The controller panicked; it is not asked again.
    Panic,
    /// The controller wants a limit of 0.
    Limit,
}

/// A reading of the server: its name, and where a sample has it.
#[derive(Clone, Copy, Debug)]
pub struct Sensor {
    pub name: &'static str,
    /// Whether it is a share of a whole.
    is_share: bool,
    of: fn(&mut Signals) -> &mut Option<f64>,
}

/// All sensors.
pub const SENSORS: [Sensor; 10] = [
    figure("cpu_per_commit", |signals| &mut signals.cpu_per_commit),
    figure("cycles_per_commit", |signals| &mut signals.cycles_per_commit),
    figure("dtlb_misses", |signals| &mut signals.dtlb_misses),
    figure("cache_misses", |signals| &mut signals.cache_misses),
    share("lock_wait_share", |signals| &mut signals.lock_wait_share),
    figure("deadlocks_per_commit", |signals| &mut signals.deadlocks_per_commit),
    share("memory_pressure", |signals| &mut signals.memory_pressure),
    figure("memory_used", |signals| &mut signals.memory_used),
    figure("memory_free", |signals| &mut signals.memory_free),
    share("user_cpu_share", |signals| &mut signals.user_cpu_share),
];

const fn figure(name: &'static str, of: fn(&mut Signals) -> &mut Option<f64>) -> Sensor {
    Sensor { name, is_share: false, of }
}

const fn share(name: &'static str, of: fn(&mut Signals) -> &mut Option<f64>) -> Sensor {
    Sensor { name, is_share: true, of }
}

impl Sensor {
    pub fn of(self, signals: &mut Signals) -> &mut Option<f64> {
        (self.of)(signals)
    }
}

/// All signals in the order of [`SENSORS`].
pub fn values(signals: &Signals) -> [Option<f64>; SENSORS.len()] {
    let mut signals = *signals;
    SENSORS.map(|sensor| *sensor.of(&mut signals))
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
    for sensor in SENSORS {
        let value = sensor.of(&mut sample.signals);
        // A share may pass one by the resolution of what it is made of.
        let most = if sensor.is_share { 1.5 } else { f64::INFINITY };
        if value.is_some_and(|value| !is_figure(value) || value > most) {
            *value = None;
            lying = lying.or(Some(Fault::Sensor(sensor.name)));
        }
        if sensor.is_share {
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
            Self::Sensor(sensor) => write!(f, "sensor {sensor} gave an impossible value"),
            Self::Panic => f.write_str("the controller failed"),
            Self::Limit => f.write_str("the controller asked for an impossible limit"),
        }
    }
}
