//! Who has a connection takes the next range of whatever table.

use super::manifest::{Exported, Manifest};
use super::progress::Progress;
use super::ranges::KeyRange;
use super::writer::{Writer, hidden};
use super::{ExportError, line};
use crate::HaulError;
use evenkeel_site::server::Control;
use std::collections::VecDeque;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Rows from one word of progress to the next.
const TELL: u64 = 1 << 14;

/// A table that is being exported.
pub(super) struct Pending {
    /// What is known of it before it is whole.
    pub manifest: Manifest,
    /// What is asked of it, to which a range adds its condition.
    pub select: String,
    /// Ranges that are not done.
    pub left: usize,
    /// Files with the number of their range.
    pub files: Vec<(usize, Vec<Exported>)>,
}

/// A range of a table.
pub(super) struct Range {
    /// Index of the table.
    pub table: usize,
    /// Its number among the table's.
    pub number: usize,
    /// Keys of its rows; `None` for all rows of the table.
    pub keys: Option<KeyRange>,
}

/// What all workers share.
pub(super) struct Shared<'a> {
    pub into: &'a Path,
    pub rows_per_file: u64,
    pub ranges: Mutex<VecDeque<Range>>,
    pub pending: Mutex<Vec<Pending>>,
    pub failed: AtomicBool,
    pub first_error: Mutex<Option<HaulError>>,
    pub rows: AtomicU64,
    pub bytes: AtomicU64,
    pub tell: &'a (dyn Fn(&Progress) + Sync),
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared<'_> {
    /// Takes ranges until there is none.
    pub fn work(&self, mut control: Control) {
        while let Some(range) = self.next() {
            if let Err(error) = self.export(&mut control, &range) {
                if !self.failed.swap(true, Ordering::Relaxed) {
                    *locked(&self.first_error) = Some(error);
                }
                return;
            }
        }
    }

    fn next(&self) -> Option<Range> {
        if self.failed.load(Ordering::Relaxed) { None } else { locked(&self.ranges).pop_front() }
    }

    fn export(&self, control: &mut Control, range: &Range) -> Result<(), HaulError> {
        let (select, table) = {
            let pending = locked(&self.pending);
            let table = &pending[range.table];
            (table.select.clone(), table.manifest.table.clone())
        };
        let mut writer =
            Writer::new(self.into, format!("{table}.{:04}", range.number + 1), self.rows_per_file);
        let (mut line, mut refused) = (Vec::new(), None);
        let condition = range.keys.as_ref().map_or_else(String::new, KeyRange::condition);
        let read = control.for_each_row_sent(&format!("{select}{condition}"), &mut |row| {
            if self.failed.load(Ordering::Relaxed) {
                return Err(io::Error::other("another connection failed"));
            }
            line.clear();
            line::put(row.texts(), &mut line).map_err(io::Error::other)?;
            self.tell(line.len());
            writer.write(&line).map_err(|error| {
                refused = Some(error);
                io::Error::other("not written")
            })
        });
        match refused {
            Some(error) => return Err(error),
            None => read.map(drop)?,
        }
        let mut files = writer.finish()?;
        files.iter_mut().for_each(|file| file.keys.clone_from(&range.keys));
        self.done(range, files)
    }

    fn tell(&self, bytes: usize) {
        let rows = self.rows.fetch_add(1, Ordering::Relaxed) + 1;
        let bytes = self.bytes.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64;
        if rows.is_multiple_of(TELL) {
            (self.tell)(&Progress { rows, bytes });
        }
    }

    /// Gives the files of a table their names once all of it is on disk.
    fn done(&self, range: &Range, files: Vec<Exported>) -> Result<(), HaulError> {
        let mut pending = locked(&self.pending);
        let table = &mut pending[range.table];
        table.files.push((range.number, files));
        table.left -= 1;
        if table.left > 0 {
            return Ok(());
        }
        table.files.sort_by_key(|(number, _)| *number);
        table.manifest.files = table.files.drain(..).flat_map(|(_, files)| files).collect();
        table.manifest.sum_up()?;
        table.manifest.announce(self.into)?;
        for file in &table.manifest.files {
            let (from, to) = (hidden(self.into, &file.name), self.into.join(&file.name));
            fs::rename(&from, &to).map_err(HaulError::io("write", &to))?;
        }
        table.manifest.publish(self.into)
    }
}

impl Manifest {
    /// Rows and checksum of all files.
    fn sum_up(&mut self) -> Result<(), ExportError> {
        let mut all = line::Checksum::default();
        for file in &self.files {
            all.join(file.sum().ok_or_else(|| ExportError::Manifest {
                path: file.name.clone(),
                problem: "no checksum".to_owned(),
            })?);
        }
        self.rows = all.rows;
        self.checksum = super::manifest::digits(all);
        Ok(())
    }
}
