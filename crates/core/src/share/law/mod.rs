//! Laws by which a host sets its window.

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

/// What sets the window of a host, period by period: first [`report`](WindowLaw::report), and when the reports of
/// all hosts have been read, [`update`](WindowLaw::update).
pub trait WindowLaw: Send {
    /// Its name in flags and files.
    fn name(&self) -> &'static str;

    /// What to tell the others of a period.
    fn report(&mut self, period: &Period) -> Report;

    /// The window from now on, in units of cost. `all` has the latest report of each live host, `own` is the place of the
    /// one that this host has told; where it is missing the window stays.
    fn update(&mut self, all: &[Report], own: usize) -> f64;

    /// Whether the latency is above the threshold and the window as small as the law lets it be: something that keeps to
    /// no law loads the storage.
    fn is_at_floor(&self) -> bool {
        false
    }

    /// This host's part of the device over the one that its shares give it, where it is held back and these stay far from
    /// each other: the storage is not divided by windows.
    fn unfair(&self) -> Option<f64> {
        None
    }

    /// What shares add to the window by the period that was reported last, where the law has such a figure: the published
    /// law's beta.
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
    /// Ours.
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

    /// The latency threshold in seconds, where it has one.
    pub fn threshold_s(&self) -> Option<f64> {
        match self {
            Self::Fixed(_) => None,
            Self::Parda(parameters) => Some(parameters.threshold_s),
            Self::Evenkeel(settings) => Some(settings.threshold_s),
        }
    }

    /// The same law that begins with another window; a fixed one stays.
    pub fn beginning_with(mut self, window: f64) -> Self {
        match &mut self {
            Self::Fixed(_) => {}
            Self::Parda(parameters) => parameters.initial = window,
            Self::Evenkeel(settings) => settings.initial = window,
        }
        self
    }

    /// A controller at its beginning.
    pub fn build(&self) -> Box<dyn WindowLaw> {
        match *self {
            Self::Fixed(window) => Box::new(Fixed::new(window)),
            Self::Parda(parameters) => Box::new(Parda::new(parameters)),
            Self::Evenkeel(settings) => Box::new(Evenkeel::new(settings)),
        }
    }
}
