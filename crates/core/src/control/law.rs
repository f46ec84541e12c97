//! The controllers by name, with their parameters.

use super::{Aimd, Controller, Evenkeel, Fixed, Gradient2, Reflection, Vegas};
use super::{aimd, evenkeel, gradient2, reflection, vegas};

/// A controller and its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Law {
    /// A fixed limit.
    Fixed(u32),
    /// Additive increase, multiplicative decrease.
    Aimd(aimd::Settings),
    /// By the queue that response times tell of.
    Vegas(vegas::Settings),
    /// By the ratio of long-term to present response.
    Gradient2(gradient2::Settings),
    /// The throttling study's rule.
    Reflection(reflection::Settings),
    /// Ours.
    Evenkeel(evenkeel::Settings),
}

/// Names of all controllers; the last is the default.
pub const NAMES: [&str; 6] = ["fixed", "aimd", "vegas", "gradient2", "reflection", "evenkeel"];

impl Law {
    /// By name, as published but for the limit to begin with and the range, which are the caller's.
    pub fn named(name: &str, initial: u32, range: (u32, u32)) -> Option<Self> {
        let (start, span) = (f64::from(initial), (f64::from(range.0), f64::from(range.1)));
        Some(match name {
            "fixed" => Self::Fixed(initial),
            "aimd" => Self::Aimd(aimd::Settings { initial: start, range: span, ..aimd::Settings::default() }),
            "vegas" => {
                Self::Vegas(vegas::Settings { initial: start, range: span, ..vegas::Settings::default() })
            }
            "gradient2" => Self::Gradient2(gradient2::Settings {
                initial: start,
                range: span,
                ..gradient2::Settings::default()
            }),
            "reflection" => {
                Self::Reflection(reflection::Settings { initial, range, ..reflection::Settings::default() })
            }
            "evenkeel" => {
                Self::Evenkeel(evenkeel::Settings { initial, range, ..evenkeel::Settings::default() })
            }
            _ => return None,
        })
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Fixed(_) => NAMES[0],
            Self::Aimd(_) => NAMES[1],
            Self::Vegas(_) => NAMES[2],
            Self::Gradient2(_) => NAMES[3],
            Self::Reflection(_) => NAMES[4],
            Self::Evenkeel(_) => NAMES[5],
        }
    }

    /// The same with another limit to begin with.
    pub fn starting_at(self, initial: u32) -> Self {
        let start = f64::from(initial);
        match self {
            Self::Fixed(_) => Self::Fixed(initial),
            Self::Aimd(settings) => Self::Aimd(aimd::Settings { initial: start, ..settings }),
            Self::Vegas(settings) => Self::Vegas(vegas::Settings { initial: start, ..settings }),
            Self::Gradient2(settings) => Self::Gradient2(gradient2::Settings { initial: start, ..settings }),
            Self::Reflection(settings) => Self::Reflection(reflection::Settings { initial, ..settings }),
            Self::Evenkeel(settings) => Self::Evenkeel(evenkeel::Settings { initial, ..settings }),
        }
    }

    /// The study's rule with means over another span, in seconds, and as many readings in it as published; every other
    /// controller as it is.
    pub fn with_span(self, span_s: f64) -> Self {
        match self {
            Self::Reflection(settings) => Self::Reflection(settings.with_span(span_s)),
            other => other,
        }
    }

    /// The same within another range; a fixed limit has none.
    pub fn within(self, range: (u32, u32)) -> Self {
        let span = (f64::from(range.0), f64::from(range.1));
        match self {
            Self::Fixed(limit) => Self::Fixed(limit),
            Self::Aimd(settings) => Self::Aimd(aimd::Settings { range: span, ..settings }),
            Self::Vegas(settings) => Self::Vegas(vegas::Settings { range: span, ..settings }),
            Self::Gradient2(settings) => Self::Gradient2(gradient2::Settings { range: span, ..settings }),
            Self::Reflection(settings) => Self::Reflection(reflection::Settings { range, ..settings }),
            Self::Evenkeel(settings) => Self::Evenkeel(evenkeel::Settings { range, ..settings }),
        }
    }

    /// The controller.
    pub fn build(&self) -> Box<dyn Controller> {
        match *self {
            Self::Fixed(limit) => Box::new(Fixed::new(limit)),
            Self::Aimd(settings) => Box::new(Aimd::new(settings)),
            Self::Vegas(settings) => Box::new(Vegas::new(settings)),
            Self::Gradient2(settings) => Box::new(Gradient2::new(settings)),
            Self::Reflection(settings) => Box::new(Reflection::new(settings)),
            Self::Evenkeel(settings) => Box::new(Evenkeel::new(settings)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Sample;

    #[test]
    fn every_name_builds_the_controller_of_that_name() {
        for name in NAMES {
            let law = Law::named(name, 8, (1, 1_024)).unwrap();
            assert_eq!((law.name(), law.build().name()), (name, name));
            assert_eq!(law.starting_at(12).build().update(&Sample::default()).limit, 12, "{name}");
            let narrow = Law::named(name, 8, (2, 16)).unwrap();
            assert_eq!(law.within((2, 16)), narrow, "{name}");
        }
        assert_eq!(Law::named("eveenkeel", 8, (1, 8)), None);
    }
}
