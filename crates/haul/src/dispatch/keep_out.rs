//! How a load keeps dispatches away from its tables, and what it sees of one that was killed.

use super::DispatchError;
use super::journal::JOURNAL;
use super::lock::lock;
use super::names::{Names, exists};
use super::take;
use evenkeel_site::server::{Control, TargetError};

/// Keeps dispatches from a source as long as this connection lasts, and finishes what one that was killed left of its renaming.
pub(crate) fn keep_out(control: &mut Control, source: &str) -> Result<(), DispatchError> {
    lock(control, source)?;
    take::put_source_back(control, source)?;
    if exists(control, JOURNAL)? {
        take::tell_manifest(control, source)?;
    }
    Ok(())
}

/// Whether a dispatch that was killed left a source without its name.
pub(crate) fn is_nameless(control: &mut Control, source: &str) -> Result<bool, TargetError> {
    Ok(!exists(control, source)? && exists(control, &Names::of(source).taken)?)
}
