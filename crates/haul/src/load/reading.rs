//! Files become parts.

use super::files::LoadedFile;
use super::job::{Job, sum};
use super::part::Part;
use super::store::{Options, Shared};
use crate::audit::{Early, Noted, Noting, Records};
use crate::blocks::{BLOCK, Blocks};
use crate::convert::{Context, Converted, Duplicates, Lines, Sink, Work, has_keys, see_again};
use crate::input::{Identity, Opened};
use crate::keys::Seen;
use crate::{HaulError, Progress, Step, convert, input, keys, locked};
use std::io::Read;
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::sync::mpsc::SyncSender;

impl Job<'_> {
    pub(super) fn read(
        &self,
        (files, mut seen): (&[LoadedFile], Option<&mut Seen>),
        (records, early): (&[Records<'_>], &mut [Early]),
        shared: &Shared<'_>,
        sender: &SyncSender<Part>,
        tell: &mut (dyn FnMut(&Progress) + Send),
    ) -> Result<(), HaulError> {
        let total = Some(files.iter().filter(|file| !file.done).map(|file| file.identity.size).sum());
        let (mut number, mut before) = (0, 0);
        for (index, file) in files.iter().enumerate().filter(|(_, file)| !file.done) {
            let path = file.path.as_path();
            let Opened { stream, read, identity } = input::open(path, file.before)?;
            if identity != Some(file.identity) {
                return Err(changed(file, file.before));
            }
            let mut told = || {
                let read = before + read.load(Ordering::Relaxed);
                let none = Progress { step: Step::Load, total, ..Progress::default() };
                tell(&none.and(read, &sum(&*locked(&shared.stored))));
            };
            let (begin, limit) =
                (file.before, even(file.identity.size.saturating_sub(file.before), self.options));
            let part = Part { input: index, file: file.id, begin, end: begin, ..Part::default() };
            let context = self.context(index);
            let (context, seen) = (&context, seen.as_deref_mut());
            let (number, spare) = (&mut number, &shared.spare);
            let mut deal = Deal { part, number, sender, spare, limit, context, seen, early, tell: &mut told };
            let stream = bounded(stream, file);
            let blocks = Blocks::new(stream, self.file.separator, file.before);
            let notes = records.iter().map(|of| Noting::all(of, index as u32)).collect();
            convert::run(blocks, path, &Hashed { lines: Lines(context), notes }, &mut deal, self.stop)?;
            // What grew or was replaced meanwhile is not done; its last record may be half of one.
            if Identity::of(path) != Some(file.identity) {
                return Err(changed(file, deal.part.begin));
            }
            deal.send(true)?;
            before += file.identity.size;
        }
        Ok(())
    }

    /// The keys of all that is in, which stays in whatever is loaded now; `None` where nobody asks what comes twice.
    pub(super) fn seen_before(
        &self,
        files: &[LoadedFile],
        tell: &mut (dyn FnMut(&Progress) + Send),
    ) -> Result<Option<Seen>, HaulError> {
        if !self.looks_for_duplicates() {
            return Ok(None);
        }
        keys::check_inputs(files.len())?;
        let mut seen = Seen::default();
        let begun = || files.iter().enumerate().filter(|(_, file)| file.before > 0);
        let total = Some(begun().map(|(_, file)| file.identity.size).sum());
        let mut progress = Progress { step: Step::Keys, total, ..Progress::default() };
        for (index, file) in begun() {
            let Opened { stream, read, identity } = input::open(&file.path, 0)?;
            if identity != Some(file.identity) {
                return Err(changed(file, 0));
            }
            let before = progress.read;
            let context = self.context(index);
            see_again(&context, stream.take(file.before), &mut seen, self.stop, &mut || {
                progress.read = before + read.load(Ordering::Relaxed);
                tell(&progress);
            })?;
        }
        Ok(Some(seen))
    }

    pub(super) fn context(&self, index: usize) -> Context<'_> {
        let has_keys = self.looks_for_duplicates();
        Context { file: self.file, names: &self.inputs, input: index as u32, has_keys, places: true }
    }

    fn looks_for_duplicates(&self) -> bool {
        self.duplicates == Duplicates::Refuse && has_keys(self.file)
    }
}

/// Bytes of a part of a file that has so many left: as many as are asked for, or so many less that all connections end at once.
fn even(left: u64, Options { connections, part_bytes, .. }: Options) -> u64 {
    let parts = left.div_ceil(part_bytes.max(1)).max(1).next_multiple_of(connections.max(1) as u64);
    part_bytes.min(left / parts + BLOCK as u64)
}

/// No further than the file was when it was looked at; of a packed one the end is within it.
fn bounded(stream: Box<dyn Read + Send>, file: &LoadedFile) -> Box<dyn Read + Send> {
    match input::is_packed(&file.path) {
        true => stream,
        false => Box::new(stream.take(file.identity.size.saturating_sub(file.before))),
    }
}

fn changed(file: &LoadedFile, at: u64) -> HaulError {
    let what = "its size, modification time or inode is different now; what was stored before stays, run again when nothing writes to it";
    HaulError::Changed { path: file.path.clone(), at, what }
}

pub(super) struct Deal<'a> {
    pub part: Part,
    pub number: &'a mut u64,
    pub sender: &'a SyncSender<Part>,
    pub limit: u64,
    pub context: &'a Context<'a>,
    pub seen: Option<&'a mut Seen>,
    pub spare: &'a Mutex<Vec<Part>>,
    pub early: &'a mut [Early],
    pub tell: &'a mut (dyn FnMut() + Send),
}

impl Deal<'_> {
    /// Hands on what has been gathered.
    pub fn send(&mut self, is_last: bool) -> Result<(), HaulError> {
        let Part { input, file, end, .. } = self.part;
        let spare = locked(self.spare).pop().unwrap_or_default();
        let next = Part { input, file, begin: end, end, ..spare };
        let part = std::mem::replace(&mut self.part, next);
        let number = *self.number;
        *self.number += 1;
        // Where all connections have failed, the reason is with them.
        let gone = |_| HaulError::Stopped { path: self.context.path().to_owned(), at: end };
        self.sender.send(Part { number, is_last, ..part }).map_err(gone)
    }
}

/// Makes lines of the records of a block, and hashes for the audit.
struct Hashed<'a> {
    lines: Lines<'a>,
    /// Of each record type; none where no audit wants them.
    notes: Vec<Noting<'a, 'a>>,
}

impl Work for Hashed<'_> {
    type Scratch = (Converted, Vec<Noted>);

    fn work(&self, offset: u64, block: &[u8], (lines, noted): &mut Self::Scratch) -> Result<(), HaulError> {
        noted.resize_with(self.notes.len(), Noted::default);
        self.notes.iter().zip(noted).try_for_each(|(notes, noted)| notes.work(offset, block, noted))?;
        self.lines.work(offset, block, lines)
    }
}

impl Sink<(Converted, Vec<Noted>)> for Deal<'_> {
    fn settle(
        &mut self,
        offset: u64,
        block: &[u8],
        (lines, noted): &mut (Converted, Vec<Noted>),
    ) -> Result<(), HaulError> {
        let mut seen = self.seen.as_deref_mut();
        self.context.settle(seen.as_deref_mut(), offset, block, lines)?;
        match seen {
            Some(seen) if lines.tally.duplicates + lines.tally.contradictions > 0 => {
                noted.iter_mut().try_for_each(|noted| noted.settle(seen))
            }
            _ => Ok(()),
        }
    }

    fn take(&mut self, (block, noted): &(Converted, Vec<Noted>)) -> Result<(), HaulError> {
        self.early.iter_mut().zip(noted).for_each(|(early, noted)| early.add(noted));
        self.part.add(block);
        // Another block would be too much; one that is larger itself is a part alone.
        if self.part.end - self.part.begin + BLOCK as u64 > self.limit {
            self.send(false)?;
        }
        (self.tell)();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{Indexes, MaxRejects, Warnings};

    #[test]
    fn all_connections_get_as_many_parts_of_as_many_bytes() {
        let of = |megabytes: u64, connections| {
            let (indexes, warnings, max_rejects) = (Indexes::Before, Warnings::End, MaxRejects::Count(0));
            let (part_bytes, again, audited) = (32 << 20, false, false);
            let options = Options { connections, indexes, part_bytes, warnings, again, max_rejects, audited };
            even(megabytes << 20, options) - BLOCK as u64
        };
        assert_eq!([of(200, 2), of(10, 2), of(10, 1), of(0, 3)], [25, 5, 10, 0].map(|size: u64| size << 20));
        assert_eq!(of(64, 2), (32 << 20) - BLOCK as u64, "no more than was asked for");
    }
}
