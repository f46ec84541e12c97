//! A conversion of one input into streams: for pipes. Nothing is looked for twice and nothing goes on.

use super::block::{Context, Converted, Direction};
use super::pool::{self, Sink, Work};
use super::{Progress, Step, Tally};
use crate::HaulError;
use crate::blocks::Blocks;
use crate::input::{self, Input, Opened};
use crate::layout::LayoutFile;
use evenkeel_os::stop::Stop;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// Writes the lines of one type of record to `lines` and what was refused to `rejects`, in the order of the input.
///
/// # Errors
/// Anything that cannot be read or written.
pub fn to_stream(
    (file, direction): (&LayoutFile, Direction),
    input: &Input,
    (lines, lines_path): (&mut (dyn Write + Send), &Path),
    (rejects, rejects_path): (&mut (dyn Write + Send), &Path),
    stop: &Stop,
    tell: &mut (dyn FnMut(&Progress) + Send),
) -> Result<Tally, HaulError> {
    let Opened { stream, size, read, .. } = input::open(input, 0)?;
    let inputs = [input.clone()];
    let work = Plain(Context { file, direction, inputs: &inputs, input: 0, places: false });
    let mut progress = Progress { step: Step::Lines, total: size, ..Progress::default() };
    let mut told = |tally: &Tally| {
        progress.read = read.load(Ordering::Relaxed);
        progress.tally.clone_from(tally);
        tell(&progress);
    };
    let mut sink = Streams {
        index: if let Direction::Widen(index) = direction { index } else { 0 },
        outs: [(lines, lines_path.to_owned()), (rejects, rejects_path.to_owned())],
        tally: Tally::default(),
        tell: &mut told,
    };
    pool::run(Blocks::new(stream, file.separator, 0), input.path(), &work, &mut sink, stop)?;
    for (out, path) in &mut sink.outs {
        out.flush().map_err(HaulError::io("write", path))?;
    }
    Ok(sink.tally)
}

struct Plain<'a>(Context<'a>);

impl Work for Plain<'_> {
    type Scratch = Converted;

    fn work(&self, offset: u64, block: &[u8], scratch: &mut Converted) -> Result<(), HaulError> {
        self.0.convert(offset, block, &[], scratch);
        Ok(())
    }
}

struct Streams<'a> {
    /// Index of the type whose lines are written.
    index: usize,
    /// Lines and rejects, with their names.
    outs: [(&'a mut (dyn Write + Send), PathBuf); 2],
    tally: Tally,
    tell: &'a mut (dyn FnMut(&Tally) + Send),
}

impl Sink<Converted> for Streams<'_> {
    fn take(&mut self, block: &Converted) -> Result<(), HaulError> {
        for ((out, path), bytes) in self.outs.iter_mut().zip([&block.lines[self.index], &block.rejects]) {
            out.write_all(bytes).map_err(HaulError::io("write", path))?;
        }
        self.tally.add(&block.tally);
        (self.tell)(&self.tally);
        Ok(())
    }
}
