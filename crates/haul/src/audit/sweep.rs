//! One reading of both sides, beside each other.

use super::canon::Canon;
use super::entry::Entry;
use super::records::{Noted, Records};
use super::sums::Wanted;
use super::tables::Tables;
use super::{refused, rows};
use crate::{HaulError, Progress, Step, locked};
use evenkeel_site::server::Control;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

pub(super) struct Sides<'a> {
    pub records: &'a Records<'a>,
    pub tables: &'a Tables,
    pub canon: &'a Canon,
    pub rejects: Option<&'a Path>,
    pub total: Option<u64>,
    pub tell: &'a (dyn Fn(&Progress) + Sync),
}

/// Takes what was noted of rows or of rejects.
pub(super) type TakeEntry<'a> = &'a mut (dyn FnMut(&Entry) -> Result<(), HaulError> + Send);

#[derive(Default)]
pub(super) struct Far {
    pub failed: AtomicBool,
    pub read: AtomicU64,
    pub records: AtomicU64,
}

impl Sides<'_> {
    /// Reads both, as far as their groups are wanted.
    pub fn sweep(
        &self,
        (control, step): (&mut Control, Step),
        wanted: Option<&Wanted>,
        take_records: &mut (dyn FnMut(&Noted) -> Result<(), HaulError> + Send),
        take_rejects: TakeEntry<'_>,
        take_rows: TakeEntry<'_>,
    ) -> Result<(), HaulError> {
        let far = Far::default();
        let mut take_records = |noted: &Noted| {
            far.records.fetch_add(noted.entries.len() as u64 + noted.other_types, Ordering::Relaxed);
            (self.tell)(&self.progress(step, &far));
            take_records(noted)
        };
        let files = || {
            self.records.read(wanted, &far.failed, &far.read, &mut take_records)?;
            self.rejects.map_or(Ok(()), |path| refused::read(self.records, path, wanted, take_rejects))
        };
        let tables = || rows::read(control, (self.tables, self.canon), wanted, &far.failed, take_rows);
        beside(&far.failed, files, tables)
    }

    pub(super) fn progress(&self, step: Step, far: &Far) -> Progress {
        Progress {
            step,
            read: far.read.load(Ordering::Relaxed),
            total: self.total,
            records: far.records.load(Ordering::Relaxed),
            ..Progress::default()
        }
    }
}

/// Does two things at once. Where one fails, `failed` tells the other, and the error is that of the one that failed first.
pub(super) fn beside(
    failed: &AtomicBool,
    one: impl FnOnce() -> Result<(), HaulError> + Send,
    other: impl FnOnce() -> Result<(), HaulError> + Send,
) -> Result<(), HaulError> {
    let first = Mutex::new(None);
    let note = |outcome: Result<(), HaulError>| {
        if let Err(error) = outcome
            && !failed.swap(true, Ordering::Relaxed)
        {
            *locked(&first) = Some(error);
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| note(other()));
        note(one());
    });
    first.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}
