//! The guard's controllers on a virtual clock, and a peer that they are compared with.
//!
//! [`simulation`] runs a controller with clients and a plant; [`trial`] judges it on random plants (decision 3 of docs/decisions.md), and after steps of the
//! number of clients. [`aimd`] is the peer.

pub mod aimd;
#[cfg(test)]
mod scenarios;
pub mod simulation;
pub mod trial;

use aimd::Aimd;
use evenkeel_core::control::{Algorithm, Bounds, Controller, ControllerSettings, algorithm};

/// Who is tried: a controller of the guard, or the peer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Contender {
    Guard(ControllerSettings),
    Aimd(aimd::Settings, Bounds),
}

impl Contender {
    pub fn named(name: &str, bounds: Bounds) -> Result<Self, String> {
        if name == "aimd" {
            return Ok(Self::Aimd(aimd::Settings::FITTED, bounds));
        }
        let settings = ControllerSettings::named(name, bounds).map(Self::Guard);
        settings
            .ok_or_else(|| format!("no controller `{name}`; known are aimd, {}", algorithm::NAMES.join(", ")))
    }

    pub fn name(&self) -> &'static str {
        self.build().name()
    }

    pub fn bounds(&self) -> Bounds {
        match self {
            Self::Guard(settings) => settings.bounds,
            Self::Aimd(_, bounds) => *bounds,
        }
    }

    pub fn starting_at(self, initial: u32) -> Self {
        match self {
            Self::Guard(settings) => Self::Guard(settings.starting_at(initial)),
            Self::Aimd(settings, bounds) => Self::Aimd(settings, Bounds { initial, ..bounds }),
        }
    }

    /// Whether it keeps the limit that it begins with.
    pub fn is_fixed(&self) -> bool {
        matches!(self, Self::Guard(ControllerSettings { algorithm: Algorithm::Fixed, .. }))
    }

    pub fn build(&self) -> Box<dyn Controller> {
        match *self {
            Self::Guard(settings) => settings.build(),
            Self::Aimd(settings, bounds) => Box::new(Aimd::new(bounds, settings)),
        }
    }
}
