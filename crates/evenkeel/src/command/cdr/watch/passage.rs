//! What became of a file, step by step.

use evenkeel_core::Nanos;
use evenkeel_haul::audit::Kind;
use evenkeel_haul::dispatch::{Dispatched, Retired};
use evenkeel_haul::input::Identity;
use evenkeel_haul::load::{Loaded, LoadedFile};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What an audit found after a load.
#[derive(Clone, Debug, Serialize)]
pub struct AuditOfFile {
    /// How much of each kind.
    pub found: BTreeMap<Kind, u64>,
    /// Records that were in before and have left the table: nobody looked for them.
    pub unchecked: u64,
    /// The file that names each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub named_in: Option<PathBuf>,
}

impl AuditOfFile {
    /// How much was found.
    pub fn total(&self) -> u64 {
        self.found.values().sum()
    }
}

/// How a file was left once all was done with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Left {
    /// It is what was loaded, moved or not, as was asked for.
    #[default]
    AsItWas,
    /// It is another one by now, or has grown, and is where it was.
    Changed,
    /// It could not be moved.
    Unmoved(String),
}

/// How far a file has come, and what its steps brought.
#[derive(Debug, Default)]
pub struct Passage {
    pub loaded: Option<Loaded>,
    pub dispatched: Option<Dispatched>,
    pub retired: Option<Retired>,
    /// Why its records are not in day tables.
    pub not_dispatched: Option<String>,
    /// Why old day tables are still there.
    pub not_retired: Option<String>,
    /// What an audit after the load found, if there was one.
    pub audit: Option<AuditOfFile>,
    /// Whether the file was changed before it could be audited.
    pub is_unlike: bool,
    /// How the file was left once all was done.
    pub left: Left,
    /// Whether a step was tried more than once, so that some of what was in before came by this watch.
    pub is_retried: bool,
    pub load: Nanos,
    pub audit_time: Nanos,
    pub dispatch: Nanos,
    pub retire: Nanos,
}

impl Passage {
    fn file(&self) -> Option<&LoadedFile> {
        self.loaded.as_ref().and_then(|loaded| loaded.files.first())
    }

    /// What the file was that was loaded.
    pub fn identity(&self) -> Option<Identity> {
        self.file().map(|file| file.identity)
    }

    /// Whether all of it was in before.
    pub fn is_known(&self) -> bool {
        !self.is_retried && self.file().is_some_and(|file| file.before > 0 && file.tally.records == 0)
    }

    /// Whether somebody should look at it.
    pub fn is_finding(&self) -> bool {
        let stays = self.dispatched.iter().flat_map(|done| &done.days).any(|day| day.refused.is_some());
        let is_kept = self.retired.as_ref().is_some_and(|done| !done.refused.is_empty());
        stays || is_kept || self.not_dispatched.is_some() || self.not_retired.is_some()
    }

    /// Records, rows and rejects of the file, and how many records were in before.
    pub fn sums(&self) -> (u64, u64, u64, u64) {
        let Some(file) = self.file() else { return (0, 0, 0, 0) };
        let rows: u64 = file.tally.lines.iter().sum();
        (
            file.records_before + file.tally.records,
            file.rows_before + rows,
            file.rejects_before + file.tally.rejects,
            if self.is_retried { 0 } else { file.records_before },
        )
    }

    /// Rows and rejects that were in before, unless this watch has brought them.
    pub fn before(&self) -> (u64, u64) {
        match self.file().filter(|_| !self.is_retried) {
            Some(file) => (file.rows_before, file.rejects_before),
            None => (0, 0),
        }
    }

    /// Tables that were dropped, and how many records with them.
    pub fn dropped(&self) -> (usize, u64) {
        let dropped = self.retired.as_ref().map_or(&[][..], |done| &done.dropped);
        (dropped.len(), dropped.iter().map(|table| table.records).sum())
    }

    /// Time of all steps.
    pub fn time(&self) -> Nanos {
        self.load + self.audit_time + self.dispatch + self.retire
    }

    /// Records that went to day tables.
    pub fn moved(&self) -> u64 {
        self.dispatched.as_ref().map_or(0, |done| done.records)
    }
}
