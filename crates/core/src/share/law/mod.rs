//! The laws by which a host sets its window. A law is a formula; it knows the reports of all hosts and no clock.

mod division;
mod evenkeel;
mod fairness;
mod fixed;
mod parda;
mod path;

pub use evenkeel::{CONGESTED, Evenkeel, Settings};
pub use fixed::Fixed;
pub use parda::{Parameters, Parda};

use super::{Period, Report};

/// A law with what it remembers. Each period it is asked for a [`report`](WindowLaw::report), and when the reports of all hosts
/// have been read, for the window by [`update`](WindowLaw::update).
pub trait WindowLaw: Send {
    /// The name of the law in flags and files.
    fn name(&self) -> &'static str;

    /// The report of a period for the other hosts.
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

/// A law with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Law {
    /// Always the same window.
    Fixed(f64),
    /// The published law.
    Parda(Parameters),
    /// Our law.
    Evenkeel(Settings),
}

impl Law {
    /// The window that it begins with.
    pub fn initial(&self) -> f64 {
        match *self {
            Self::Fixed(window) => window,
            Self::Parda(parameters) => parameters.initial,
            Self::Evenkeel(settings) => settings.initial,
        }
    }

    /// The latency threshold in seconds, where the law has one.
    pub fn threshold_s(&self) -> Option<f64> {
        match self {
            Self::Fixed(_) => None,
            Self::Parda(parameters) => Some(parameters.threshold_s),
            Self::Evenkeel(settings) => Some(settings.threshold_s),
        }
    }

    /// The same law with another initial window; a fixed window stays.
    pub fn beginning_with(mut self, window: f64) -> Self {
        match &mut self {
            Self::Fixed(_) => {}
            Self::Parda(parameters) => parameters.initial = window,
            Self::Evenkeel(settings) => settings.initial = window,
        }
        self
    }

    /// The law before its first period.
    pub fn build(&self) -> Box<dyn WindowLaw> {
        match *self {
            Self::Fixed(window) => Box::new(Fixed::new(window)),
            Self::Parda(parameters) => Box::new(Parda::new(parameters)),
            Self::Evenkeel(settings) => Box::new(Evenkeel::new(settings)),
        }
    }
}
