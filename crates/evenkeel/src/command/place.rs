//! Where to: a URL, or a sandbox by name.

use super::Session;
use crate::failure::WithHint;
use anyhow::{Context, Result, anyhow};
use evenkeel_lab::data::{DataError, DataSpec, Stamp, State};
use evenkeel_lab::sandbox;
use evenkeel_lab::target::{Control, Target};
use evenkeel_lab::workload::tpcw::Database;
use evenkeel_lab::workload::{self, Workload};
use std::path::Path;
use std::sync::Arc;

/// A sandbox and the database in it, of `sandbox:NAME` or `sandbox:NAME/DATABASE`.
pub fn named(text: &str) -> Option<(&str, &str)> {
    let name = text.strip_prefix("sandbox:")?;
    Some(name.split_once('/').unwrap_or((name, DataSpec::DATABASE)))
}

/// A server by `mysql://...`, `sandbox:NAME` or `sandbox:NAME/DATABASE`.
pub fn target(session: &Session, text: &str) -> Result<Target> {
    let Some((name, database)) = named(text) else {
        return Ok(Target::parse(text)?);
    };
    let sandbox =
        sandbox::find(&session.home, name).with_context(|| format!("looking for sandbox {name}"))?;
    Ok(Target { database: Some(database.to_owned()), ..sandbox.target() })
}

/// Whether this names a file of the user's.
pub fn is_file(workload: &str) -> bool {
    Path::new(workload).extension().is_some_and(|extension| extension == "toml")
}

/// A workload by name, on a database.
pub fn tpcw_workload(name: &str, database: impl Into<Database>) -> Result<Arc<dyn Workload>> {
    workload::find(name, database)
        .hint("`evenkeel explain --list` names all; a file of your own ends in .toml")
}

/// The TPC-W data on a server, with what write runs have added.
pub fn database(target: &Target) -> Result<Database> {
    let mut control = Control::connect(target)?;
    let name = target.database.clone().unwrap_or_default();
    let Some(stamp) = Stamp::read(&mut control)? else {
        return Err(anyhow!("database {name:?} at {target} holds no TPC-W data of Evenkeel"))
            .hint(format!("fill it by `evenkeel data fill {target}`, or name a workload of your own"));
    };
    if stamp.state == State::Building {
        return Err(DataError::HalfFinished { database: name }.into());
    }
    Ok(Database::read(stamp.scale, &mut control)?)
}
