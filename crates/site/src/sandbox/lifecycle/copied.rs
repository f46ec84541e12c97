//! A sandbox whose data directory is that of another one, file by file: the same pages in the same places.

use super::stopped::load_stopped;
use crate::copy::Snapshot;
use crate::sandbox::paths::Paths;
use crate::sandbox::record::{Record, new_password};
use crate::sandbox::{Events, SandboxError, SandboxSpec};
use evenkeel_os::stop::Stop;

/// Copies the data of the sandbox that is to be like, which must be stopped. They appear whole or not at all.
pub(super) fn copy_data(
    spec: &SandboxSpec,
    other: &str,
    paths: &Paths,
    looks: (&Stop, Events<'_>),
) -> Result<(), SandboxError> {
    let (from, _) = stopped(spec, other, looks)?;
    let copied = Snapshot::take(&from.data(), &paths.data());
    copied.map(drop).map_err(|source| SandboxError::Copy { name: other.to_owned(), source })
}

/// The password of a new sandbox: accounts are part of the data, so that of a copy is that of its original.
pub(super) fn password(spec: &SandboxSpec, looks: (&Stop, Events<'_>)) -> Result<String, SandboxError> {
    match &spec.copy_of {
        Some(other) => Ok(stopped(spec, other, looks)?.1.password),
        None => new_password(),
    }
}

fn stopped(
    spec: &SandboxSpec,
    name: &str,
    (stop, events): (&Stop, Events<'_>),
) -> Result<(Paths, Record), SandboxError> {
    let paths = Paths::new(&spec.home, name)?;
    let unknown = || SandboxError::Unknown { name: name.to_owned(), home: spec.home.clone() };
    let record = load_stopped(&paths, stop, events)?.ok_or_else(unknown)?;
    Ok((paths, record))
}
