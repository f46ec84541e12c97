//! Files become parts.

use super::files::Planned;
use super::job::{Job, sum};
use super::part::Part;
use super::sink::Deal;
use super::store::{Shared, locked};
use crate::HaulError;
use crate::blocks::Blocks;
use crate::convert::{
    self, Context, Direction, Duplicates, Lines, Progress, Step, Stretch, find_repeated, has_keys,
};
use crate::input::{self, Identity, Input, Opened};
use crate::keys::Repeated;
use std::io::Read;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::mpsc::SyncSender;

impl Job<'_> {
    /// Has all files become parts.
    pub(super) fn read(
        &self,
        planned: &[Planned],
        inputs: &[Input],
        repeated: Option<&Repeated>,
        shared: &Shared<'_>,
        sender: &SyncSender<Part>,
        tell: &mut (dyn FnMut(&Progress) + Send),
    ) -> Result<(), HaulError> {
        let total = Some(planned.iter().filter(|file| !file.done).map(|file| file.identity.size).sum());
        let (mut number, mut before) = (0, 0);
        for (index, file) in planned.iter().enumerate().filter(|(_, file)| !file.done) {
            let path = file.input.path();
            let Opened { stream, read, identity, .. } = input::open(&file.input, file.begin)?;
            if identity != Some(file.identity) {
                return Err(changed(file, file.begin));
            }
            let mut told = || {
                let tally = sum(&locked(&shared.stored));
                let read = before + read.load(Ordering::Relaxed);
                tell(&Progress { step: Step::Load, read, total, tally });
            };
            let (begin, limit) = (file.begin, self.options.part_bytes);
            let part = Part { input: index, file: file.id, begin, end: begin, ..Part::default() };
            let mut deal = Deal { part, number: &mut number, sender, limit, path, tell: &mut told };
            let context = Context {
                file: self.file,
                direction: Direction::Delimit,
                inputs,
                input: (planned.len() + index) as u32,
                places: true,
            };
            let stream = bounded(stream, file);
            let blocks = Blocks::new(stream, self.file.separator, file.begin);
            convert::run(blocks, path, &Lines { context, repeated }, &mut deal, self.stop)?;
            // What grew or was replaced meanwhile is not done; its last record may be half of one.
            if Identity::of(path) != Some(file.identity) {
                return Err(changed(file, deal.part.begin));
            }
            deal.send(true)?;
            before += file.identity.size;
        }
        Ok(())
    }

    /// Which records came before; `None` where nobody asks.
    pub(super) fn repeated(
        &self,
        planned: &[Planned],
        tell: &mut (dyn FnMut(&Progress) + Send),
    ) -> Result<Option<Repeated>, HaulError> {
        if self.duplicates == Duplicates::Keep || !has_keys(self.file) {
            return Ok(None);
        }
        let of = |index: usize, file: &'_ Planned, later: bool| {
            let number = (index + if later { planned.len() } else { 0 }) as u32;
            (number, if later { file.begin..u64::MAX } else { 0..file.begin })
        };
        let mut stretches = Vec::new();
        for later in [false, true] {
            for (index, file) in planned.iter().enumerate() {
                let (number, bytes) = of(index, file, later);
                let is_done = later && file.done;
                if !bytes.is_empty() && !is_done {
                    stretches.push(Stretch { number, input: &file.input, bytes });
                }
            }
        }
        let home =
            self.rejects.parent().filter(|home| !home.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let total = Some(planned.iter().map(|file| file.identity.size).sum());
        let progress = Progress { step: Step::Keys, total, ..Progress::default() };
        find_repeated((self.file, home), &stretches, self.stop, progress, tell).map(Some)
    }
}

/// No further than the file was when it was looked at; of a packed one the end is within it.
fn bounded(stream: Box<dyn Read + Send>, file: &Planned) -> Box<dyn Read + Send> {
    let Input::File(path) = &file.input else { return stream };
    match input::is_packed(path) {
        true => stream,
        false => Box::new(stream.take(file.identity.size.saturating_sub(file.begin))),
    }
}

fn changed(file: &Planned, at: u64) -> HaulError {
    let what = "its size, time or number is another one; what was stored before stays, run again once nobody writes to it";
    HaulError::Changed { path: file.input.path().to_owned(), at, what }
}
