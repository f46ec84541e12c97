//! Where to: a URL, or a sandbox by name.

use super::Session;
use crate::failure::WithHint;
use anyhow::{Context, Result, anyhow};
use evenkeel_lab::data::tpcw::Scale;
use evenkeel_lab::data::{DataSpec, Stamp};
use evenkeel_lab::sandbox;
use evenkeel_lab::target::{Control, Target};
use evenkeel_lab::workload::{self, Workload};
use std::path::Path;
use std::sync::Arc;

/// A server by `mysql://...` or `sandbox:NAME`.
pub fn target(session: &Session, text: &str) -> Result<Target> {
    let Some(name) = text.strip_prefix("sandbox:") else {
        return Ok(Target::parse(text)?);
    };
    let sandbox =
        sandbox::find(&session.home, name).with_context(|| format!("looking for sandbox {name}"))?;
    Ok(Target { database: Some(DataSpec::DATABASE.to_owned()), ..sandbox.target() })
}

/// Whether this names a file of the user's.
pub fn is_file(workload: &str) -> bool {
    Path::new(workload).extension().is_some_and(|extension| extension == "toml")
}

/// A workload by name, on data of this scale.
pub fn tpcw_workload(name: &str, scale: Scale) -> Result<Arc<dyn Workload>> {
    workload::find(name, scale).hint("`evenkeel explain --list` names all; a file of your own ends in .toml")
}

/// The scale of the TPC-W data on a server.
pub fn scale_of(target: &Target) -> Result<Scale> {
    let mut control = Control::connect(target)?;
    let database = target.database.clone().unwrap_or_default();
    let missing = || anyhow!("database {database:?} at {target} holds no TPC-W data of Evenkeel");
    match Stamp::read(&mut control)? {
        Some(stamp) => Ok(stamp.scale),
        None => Err(missing())
            .hint(format!("fill it by `evenkeel data fill {target}`, or name a workload of your own")),
    }
}
