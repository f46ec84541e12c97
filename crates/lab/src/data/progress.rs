//! What long data work tells those who watch it.

use super::error::{DataError, Result};
use evenkeel_os::stop::Stop;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Rows,
    /// Secondary indexes are built and statistics taken.
    Indexes,
    /// The server's content is compared with what was sent.
    Verify,
}

/// How far data work has come. Rows and bytes only rise, and stand still while a phase other than
/// `Rows` is the only one at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataProgress {
    pub phase: Phase,
    pub table: &'static str,
    /// Rows written so far, over all tables.
    pub rows_done: u64,
    /// Rows to write, over all tables; before the work ends it may be an estimate.
    pub rows_total: u64,
    pub bytes: u64,
}

/// What the jobs have done so far; shared by all connections.
pub(super) struct Tally {
    pub(super) stop: Stop,
    pub(super) failed: AtomicBool,
    rows: AtomicU64,
    bytes: AtomicU64,
    rows_total: u64,
    at_work: Mutex<(Phase, &'static str)>,
}

impl Tally {
    pub(super) fn new(stop: &Stop, rows_total: u64) -> Self {
        Self {
            stop: stop.clone(),
            failed: AtomicBool::new(false),
            rows: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            rows_total,
            at_work: Mutex::new((Phase::Rows, "")),
        }
    }

    /// Fails when somebody asked to stop or another job failed; called between statements and batches.
    pub(super) fn proceed(&self) -> Result<()> {
        match self.stop.is_set() || self.failed.load(Ordering::Acquire) {
            true => Err(DataError::Stopped),
            false => Ok(()),
        }
    }

    pub(super) fn enter(&self, phase: Phase, table: &'static str) -> Result<()> {
        *self.at_work.lock().unwrap_or_else(PoisonError::into_inner) = (phase, table);
        self.proceed()
    }

    pub(super) fn add(&self, rows: u64, bytes: u64) {
        self.rows.fetch_add(rows, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn progress(&self) -> DataProgress {
        let (phase, table) = *self.at_work.lock().unwrap_or_else(PoisonError::into_inner);
        let rows_done = self.rows.load(Ordering::Relaxed);
        let rows_total = self.rows_total.max(rows_done);
        DataProgress { phase, table, rows_done, rows_total, bytes: self.bytes.load(Ordering::Relaxed) }
    }
}
