//! Controllers by name, and the memory that their transactions may use.

use super::fields::unknown;
use super::types::Size;
use anyhow::{Context, Result};
use evenkeel_core::control::{Algorithm, Bounds, ControllerSettings, algorithm, evenkeel};

keys! {
    /// Bytes that all transactions may use, and that one uses.
    Memory in "" {
        budget: Size,
        each: Size,
    }
}

pub fn named(name: &str, bounds: Bounds) -> Result<ControllerSettings> {
    let settings = ControllerSettings::named(name, bounds);
    settings.with_context(|| unknown("controller", name, &algorithm::NAMES))
}

/// The same with a budget of memory, where the controller knows what that is.
pub fn with_memory(settings: ControllerSettings, memory: Option<&Memory>) -> ControllerSettings {
    let bytes =
        |Memory { budget, each }: &Memory| evenkeel::Memory { budget: budget.0 as f64, each: each.0 as f64 };
    match settings.algorithm {
        Algorithm::Evenkeel(_) => {
            let memory = memory.map(bytes);
            ControllerSettings { algorithm: Algorithm::Evenkeel(evenkeel::Settings { memory }), ..settings }
        }
        _ => settings,
    }
}
