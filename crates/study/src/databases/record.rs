//! What is to be run.

use crate::published::{Number, Numbers};
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
    /// The measured time, since the loads began.
    pub fn within(&self) -> (f64, f64) {
        (self.warm_up_s, self.warm_up_s + self.duration_s)
    }
}
