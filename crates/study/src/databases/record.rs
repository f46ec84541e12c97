//! What is to be run, and what a run brought.

use crate::published::{Number, Numbers};
use evenkeel_core::caveat::Caveat;
use evenkeel_core::share::experiment::Treatment;
use serde::{Deserialize, Serialize};

/// How it is made, beside rounds, most windows and ways, which are the plan's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// Closed clients of each store, without think time.
    pub clients: u32,
    /// Load before measuring begins.
    pub warm_up_s: f64,
    /// Measured time of a run.
    pub duration_s: f64,
    pub size: String,
    pub period_s: f64,
}

/// What tells a run from the others of the study.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Key {
    pub way: Treatment,
    pub most: u32,
    /// Round, from 1.
    pub round: u32,
}

/// A finished run, with what was measured of both hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    pub key: Key,
    pub hosts: [Figures; 2],
    /// Since both loads began, in order of time.
    pub periods: Vec<Period>,
    /// Doubts of the load generator, each once, with the host.
    pub caveats: Vec<Caveat>,
}

/// What a host made in the measured time of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// Orders per minute, those rolled back for want of stock among them, as the benchmark has it.
    pub orders_per_minute: f64,
    pub standard_error: Option<f64>,
    /// Mean time of an order.
    pub response_ms: f64,
    /// Orders rolled back for want of stock.
    pub rolled_back: u64,
    /// Orders that failed, or were given up.
    pub lost: u64,
    /// Of its data disk.
    pub ios_per_s: f64,
    /// Of its data disk, weighted by I/Os.
    pub latency_ms: Option<f64>,
    /// Mean over periods.
    pub window: f64,
    /// I/Os under way or held back, mean over periods.
    pub wanted: f64,
    /// I/Os under way, mean over periods.
    pub outstanding: f64,
    /// Mean over periods.
    pub beta: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Period {
    /// Its end, since both loads began.
    pub at_s: f64,
    pub host: usize,
    pub window: f64,
    /// Mean under way in it.
    pub outstanding: f64,
    /// Mean under way or held back in it.
    pub wanted: f64,
    /// Of the window before: as the published law counts it, by its formula where it does not set the window.
    pub beta: f64,
    /// I/Os per second in it.
    pub ios_per_s: f64,
    /// Their mean latency in seconds.
    pub latency_s: Option<f64>,
}

impl Numbers for Setting {
    fn numbers(&self) -> Vec<Number> {
        vec![
            Number::new("clients", self.clients.into(), 1.0, 100_000.0),
            Number::around_s("warm_up_s", self.warm_up_s),
            Number::measured_s("duration_s", self.duration_s),
            Number::new("period_s", self.period_s, 0.05, 60.0),
        ]
    }
}

impl Setting {
    /// Time of load in a run up to the end of the measured time.
    pub fn run_s(&self) -> f64 {
        self.warm_up_s + self.duration_s
    }
}

impl Run {
    /// Orders of host b over those of host a; `None` where a made none.
    pub fn ratio(&self) -> Option<f64> {
        let [a, b] = &self.hosts;
        (a.orders_per_minute > 0.0).then(|| b.orders_per_minute / a.orders_per_minute)
    }
}
