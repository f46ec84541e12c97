//! A file of which too many records would be refused changes nothing.

use super::files::LoadedFile;
use super::job::Job;
use super::rejects::Rejects;
use super::store::MaxRejects;
use crate::blocks::Blocks;
use crate::convert::{self, Context, Converted, Lines, Sink, Tally};
use crate::input::{self, Opened};
use crate::{HaulError, Progress, Step, refused};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of rejects that are written of a file that is not loaded.
const SHOWN: usize = 16 << 20;

impl Job<'_> {
    /// Converts each file that was not begun, and keeps nothing but the count.
    /// Errors: a file has too many rejects; they are in the file of rejects.
    pub(super) fn check_rejects(
        &self,
        files: &[LoadedFile],
        tell: &mut (dyn FnMut(&Progress) + Send),
    ) -> Result<(), HaulError> {
        if self.options.max_rejects == MaxRejects::Share(1.0) {
            return Ok(());
        }
        let fresh = || files.iter().enumerate().filter(|(_, file)| !file.done && file.before == 0);
        let total = Some(fresh().map(|(_, file)| file.identity.size).sum());
        let mut progress = Progress { step: Step::Check, total, ..Progress::default() };
        for (index, file) in fresh() {
            let Opened { stream, read, .. } = input::open(&file.path, 0)?;
            let mut counted =
                Counted { tally: Tally::default(), rejects: Vec::new(), is_cut: false, read, progress, tell };
            // What comes twice counts as no reject here, and nobody asks where a line lies.
            let context = Context { has_keys: false, places: false, ..self.context(index) };
            let blocks = Blocks::new(stream, self.file.separator, 0);
            convert::run(blocks, &file.path, &Lines(&context), &mut counted, self.stop)?;
            let Counted { tally, rejects, is_cut, .. } = counted;
            progress.read += file.identity.size;
            let most = self.options.max_rejects;
            if most.is_passed(&tally) {
                let mut written = Rejects::open(self.rejects, files)?;
                written.add(&rejects)?;
                let note = written.note().map_or_else(String::new, |note| format!("; {note}"));
                let cut = || format!("the first {} MiB of them alone", SHOWN >> 20);
                let has = if is_cut { cut() } else { "the reasons".to_owned() };
                let reason = tally.reasons.iter().max_by_key(|(_, count)| **count);
                let what = format!(
                    "{}: {} of {} records are rejects (most often: {}), and --max-rejects is {most}: nothing of it is stored; {} has \
                     {has}{note}",
                    file.path.display(),
                    tally.rejects,
                    tally.records,
                    reason.map_or("", |(reason, _)| reason),
                    self.rejects.display()
                );
                return Err(HaulError::Rejects(refused(
                    what,
                    "correct the layout or the file, or raise --max-rejects",
                )));
            }
        }
        Ok(())
    }
}

struct Counted<'a> {
    tally: Tally,
    rejects: Vec<u8>,
    is_cut: bool,
    read: Arc<AtomicU64>,
    progress: Progress,
    tell: &'a mut (dyn FnMut(&Progress) + Send),
}

impl Sink<Converted> for Counted<'_> {
    fn settle(&mut self, _: u64, _: &[u8], _: &mut Converted) -> Result<(), HaulError> {
        Ok(())
    }

    fn take(&mut self, block: &Converted) -> Result<(), HaulError> {
        self.tally.add(&block.tally);
        match self.rejects.len() < SHOWN {
            true => self.rejects.extend_from_slice(&block.rejects),
            false => self.is_cut |= !block.rejects.is_empty(),
        }
        let read = self.progress.read + self.read.load(Ordering::Relaxed);
        (self.tell)(&Progress { read, ..self.progress });
        Ok(())
    }
}
