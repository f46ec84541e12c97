//! The laws by which a host sets its window. A law is a formula; it knows the reports of all hosts and no clock.

mod division;
mod evenkeel;
mod fairness;
mod fixed;
mod parda;
mod path;
mod window_law;

pub use evenkeel::{CONGESTED, Evenkeel, Settings};
pub use fixed::Fixed;
pub use parda::{Parameters, Parda};
pub use window_law::WindowLaw;

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
