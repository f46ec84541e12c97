//! A conversion of inputs into streams: for pipes. Each is read once and nothing goes on, and records that come twice are found.

use super::again::{Lines, has_keys};
use super::block::{Context, Converted};
use super::pool::{self, Sink};
use super::{Duplicates, Progress, Step, Tally};
use crate::HaulError;
use crate::blocks::Blocks;
use crate::input::{self, Input, Opened};
use crate::keys::{self, Seen};
use crate::layout::LayoutFile;
use evenkeel_os::stop::Stop;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::Ordering;

/// What is to be converted, and how.
#[derive(Clone, Copy)]
pub struct Stream<'a> {
    pub file: &'a LayoutFile,
    /// What is read, each once, in this order.
    pub inputs: &'a [Input],
    /// What becomes of records that come twice, where the layout names a key.
    pub duplicates: Duplicates,
    pub stop: &'a Stop,
}

impl Stream<'_> {
    /// Writes the lines of the first type of record to `lines` and what was refused to `rejects`, in the order of the inputs.
    pub fn run<'o>(
        &self,
        (lines, lines_path): (&'o mut (dyn Write + Send), &'o Path),
        (rejects, rejects_path): (&'o mut (dyn Write + Send), &'o Path),
        tell: &mut (dyn FnMut(&Progress) + Send),
    ) -> Result<Tally, HaulError> {
        let names: Vec<_> = self.inputs.iter().map(|input| input.path().to_owned()).collect();
        let mut outs = [(lines, lines_path), (rejects, rejects_path)];
        let mut tally = Tally::default();
        keys::check_inputs(self.inputs.len())?;
        let looks = self.duplicates == Duplicates::Refuse && has_keys(self.file);
        let mut seen = looks.then(Seen::default);
        for (number, input) in self.inputs.iter().enumerate() {
            let (seen, place) = (seen.as_mut(), number as u32);
            let context =
                Context { file: self.file, names: &names, input: place, has_keys: looks, places: false };
            let Opened { stream, size, read, .. } = input::open(input, 0)?;
            let mut progress = Progress { step: Step::Lines, total: size, ..Progress::default() };
            let mut told = |tally: &Tally| {
                progress.read = read.load(Ordering::Relaxed);
                progress.tally.clone_from(tally);
                tell(&progress);
            };
            let mut sink = Streams {
                outs: &mut outs,
                context: &context,
                seen,
                tally: Tally::default(),
                tell: &mut told,
            };
            let blocks = Blocks::new(stream, self.file.separator, 0);
            pool::run(blocks, input.path(), &Lines(&context), &mut sink, self.stop)?;
            tally.add(&sink.tally);
        }
        for (out, path) in &mut outs {
            out.flush().map_err(HaulError::io("write", path))?;
        }
        Ok(tally)
    }
}

struct Streams<'a, 'b> {
    /// Lines and rejects, with their names.
    outs: &'a mut [(&'b mut (dyn Write + Send), &'b Path); 2],
    context: &'a Context<'a>,
    seen: Option<&'a mut Seen>,
    tally: Tally,
    tell: &'a mut (dyn FnMut(&Tally) + Send),
}

impl Sink<Converted> for Streams<'_, '_> {
    fn settle(&mut self, offset: u64, block: &[u8], scratch: &mut Converted) -> Result<(), HaulError> {
        self.context.settle(self.seen.as_deref_mut(), offset, block, scratch)
    }

    fn take(&mut self, block: &Converted) -> Result<(), HaulError> {
        for ((out, path), bytes) in self.outs.iter_mut().zip([&block.lines[0], &block.rejects]) {
            out.write_all(bytes).map_err(HaulError::io("write", path))?;
        }
        self.tally.add(&block.tally);
        (self.tell)(&self.tally);
        Ok(())
    }
}
