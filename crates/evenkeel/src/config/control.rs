//! Controllers by name, and the memory that their transactions may use.

use super::fields::{Fields, list};
use super::units;
use anyhow::{Result, anyhow};
use evenkeel_core::control::{Algorithm, Bounds, ControllerSettings, algorithm, evenkeel};
use evenkeel_lab::workload::similar;
use toml::Value;

pub fn named(name: &str, bounds: Bounds) -> Result<ControllerSettings> {
    let names = algorithm::NAMES;
    ControllerSettings::named(name, bounds).ok_or_else(|| match similar(name, names).first() {
        Some(near) => anyhow!("unknown controller `{name}`, did you mean `{near}`?"),
        None => anyhow!("unknown controller `{name}`, known are {}", list(&names)),
    })
}

/// A budget of memory, under the key `memory`.
///
/// # Errors
/// A size cannot be read.
pub fn memory(fields: &mut Fields) -> Result<Option<evenkeel::Memory>> {
    let Some(table) = fields.optional::<Value>("memory")? else { return Ok(None) };
    let mut fields = Fields::of("memory", table)?;
    let (budget, each) = (size(&mut fields, "budget")?, size(&mut fields, "each")?);
    fields.finish()?;
    Ok(Some(evenkeel::Memory { budget, each }))
}

/// A size in bytes that must be there.
fn size(fields: &mut Fields, key: &'static str) -> Result<f64> {
    let bytes = units::bytes(&fields.required::<String>(key)?);
    bytes.map(|bytes| bytes as f64).map_err(|error| fields.at(key, format!("`{key}`: {error}")))
}

/// The same with a budget of memory, where the controller knows what that is.
pub fn with_memory(settings: ControllerSettings, memory: Option<evenkeel::Memory>) -> ControllerSettings {
    match settings.algorithm {
        Algorithm::Evenkeel(_) => {
            ControllerSettings { algorithm: Algorithm::Evenkeel(evenkeel::Settings { memory }), ..settings }
        }
        _ => settings,
    }
}
