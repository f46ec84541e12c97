//! A fitted model: the response at each rate.

use super::station::{response, wait};

/// A model, of those that are fitted to a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A delay and the wait for CPUs, with a fitted unevenness.
    Queue,
    /// An open network of CPUs, a disk and a delay.
    Network,
    /// A polynomial of the logarithm.
    Regression,
}

impl Kind {
    /// All of them; of two that err alike the first is used.
    pub const ALL: [Self; 3] = [Self::Queue, Self::Network, Self::Regression];

    /// The model as one word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Network => "network",
            Self::Regression => "regression",
        }
    }

    /// Whether it knows that a server has an end, so that it can be asked beyond what was measured.
    pub fn has_an_end(self) -> bool {
        self != Self::Regression
    }
}

/// What was fitted.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Curve {
    Queue { delay: f64, factor: f64, capacity: f64, servers: f64 },
    Network { delay: f64, capacity: f64, servers: f64, scale: f64, demand: f64 },
    Regression { factors: [f64; 3], unit: f64 },
}

impl Curve {
    /// The response at a rate in seconds; infinite where the server does not carry it.
    pub fn at(&self, rate: f64) -> f64 {
        match *self {
            Self::Queue { delay, factor, capacity, servers } => {
                let wait = wait(rate, capacity, servers);
                // Nothing waits where the factor is zero, but no server goes beyond its capacity.
                if wait.is_finite() { delay + factor * wait } else { f64::INFINITY }
            }
            Self::Network { delay, capacity, servers, scale, demand } => {
                delay + scale * (wait(rate, capacity, servers) + response(rate, demand))
            }
            Self::Regression { factors: [a, b, c], unit } => {
                let x = rate / unit;
                (a + b * x + c * x * x).exp()
            }
        }
    }

    /// The rate that the server does not reach; infinite where the model knows none.
    pub fn end(&self) -> f64 {
        match *self {
            Self::Queue { capacity, .. } => capacity,
            Self::Network { capacity, demand, .. } => capacity.min(1.0 / demand),
            Self::Regression { .. } => f64::INFINITY,
        }
    }
}
