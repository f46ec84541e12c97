//! What is to be run, and what a run brought.

use crate::published::{Number, Numbers};
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
