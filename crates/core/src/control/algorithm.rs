use super::{Bounds, Controller, Decision, Evenkeel, Reason, Reflection, Sample, evenkeel, reflection};

/// How a controller finds its limit, with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Algorithm {
    Fixed,
    Reflection(reflection::Settings),
    Evenkeel(evenkeel::Settings),
}

/// Names of all controllers; the last is the default.
pub const NAMES: [&str; 3] = ["fixed", "reflection", "evenkeel"];

impl Algorithm {
    /// All of them in the order of [`NAMES`], with the parameters as published.
    pub fn all() -> [Self; 3] {
        [
            Self::Fixed,
            Self::Reflection(reflection::Settings::default()),
            Self::Evenkeel(evenkeel::Settings::default()),
        ]
    }

    fn build(self, bounds: Bounds) -> Box<dyn Controller> {
        match self {
            Self::Fixed => Box::new(Fixed::new(bounds.initial)),
            Self::Reflection(settings) => Box::new(Reflection::new(bounds, settings)),
            Self::Evenkeel(settings) => Box::new(Evenkeel::new(bounds, settings)),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ControllerSettings {
    pub algorithm: Algorithm,
    pub bounds: Bounds,
}

impl ControllerSettings {
    pub fn named(name: &str, bounds: Bounds) -> Option<Self> {
        let place = NAMES.iter().position(|known| *known == name)?;
        Some(Self { algorithm: Algorithm::all()[place], bounds })
    }

    pub fn name(&self) -> &'static str {
        self.build().name()
    }

    pub fn starting_at(self, initial: u32) -> Self {
        Self { bounds: Bounds { initial, ..self.bounds }, ..self }
    }

    /// The study's controller with means over another span, in seconds, and as many readings in it as published; every
    /// other controller as it is.
    pub fn with_span(self, span_s: f64) -> Self {
        match self.algorithm {
            Algorithm::Reflection(settings) => {
                Self { algorithm: Algorithm::Reflection(settings.with_span(span_s)), ..self }
            }
            _ => self,
        }
    }

    pub fn build(&self) -> Box<dyn Controller> {
        self.algorithm.build(self.bounds)
    }
}

// A limit that an operator sets, as static pools and `max_connections` do.
//
// `L = const`.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixed {
    limit: u32,
}

impl Fixed {
    pub fn new(limit: u32) -> Self {
        Self { limit: limit.max(1) }
    }
}

impl Controller for Fixed {
    fn name(&self) -> &'static str {
        "fixed"
    }

    fn update(&mut self, _: &Sample) -> Decision {
        Decision { limit: self.limit, why: Reason::Fixed }
    }
}
