//! The laws by which a host sets its window. A law is a formula; it knows the reports of all hosts and no clock.

mod evenkeel;
mod parda;
mod path;

use super::{Period, Report};
pub use evenkeel::{CONGESTED, Evenkeel, Settings};
pub use parda::{Parameters, Parda, WindowLaw};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Law {
    /// Always the same window.
    Fixed(f64),
    Parda(Parameters),
    Evenkeel(Settings),
}

impl Law {
    pub fn initial(&self) -> f64 {
        match *self {
            Self::Fixed(window) => window,
            Self::Parda(parameters) => parameters.initial,
            Self::Evenkeel(settings) => settings.initial,
        }
    }

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

    pub fn build(&self) -> Box<dyn WindowLaw> {
        match *self {
            Self::Fixed(window) => Box::new(Fixed::new(window)),
            Self::Parda(parameters) => Box::new(Parda::new(parameters)),
            Self::Evenkeel(settings) => Box::new(Evenkeel::new(settings)),
        }
    }
}

// Always the same window: what a queue depth set by hand does.

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fixed {
    window: f64,
}

impl Fixed {
    pub fn new(window: f64) -> Self {
        Self { window }
    }
}

impl WindowLaw for Fixed {
    fn name(&self) -> &'static str {
        "fixed"
    }

    fn report(&mut self, period: &Period) -> Report {
        Report::of(period, self.window)
    }

    fn update(&mut self, _: &[Report], _: usize) -> f64 {
        self.window
    }
}
