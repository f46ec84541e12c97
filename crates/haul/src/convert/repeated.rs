//! The search for records that come twice, over all inputs.

use super::Progress;
use super::block::{Context, Direction};
use super::pool::{self, Sink, Work};
use crate::HaulError;
use crate::blocks::Blocks;
use crate::input::{self, Input, Opened};
use crate::keys::{self, Keys, KeysOfBlock, Repeated};
use crate::layout::LayoutFile;
use evenkeel_os::stop::Stop;
use std::io::Read;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::Ordering;

/// Bytes of an input that are looked at under one number. Records under a lower number come first.
pub(crate) struct Stretch<'a> {
    pub number: u32,
    pub input: &'a Input,
    /// Unpacked; both ends are where a record ends.
    pub bytes: Range<u64>,
}

/// Whether records of this layout have keys.
pub(crate) fn has_keys(file: &LayoutFile) -> bool {
    file.layout.types().iter().any(|each| !each.key.is_empty())
}

/// Which records have the key of one before them; what is noted meanwhile goes to nameless files in a folder.
pub(crate) fn find_repeated(
    (file, home): (&LayoutFile, &Path),
    stretches: &[Stretch<'_>],
    stop: &Stop,
    mut progress: Progress,
    tell: &mut (dyn FnMut(&Progress) + Send),
) -> Result<Repeated, HaulError> {
    if stretches.iter().any(|stretch| u64::from(stretch.number) >= keys::INPUTS) {
        return Err(HaulError::TooMany { what: "inputs", most: keys::INPUTS });
    }
    let mut keys = Keys::new(home)?;
    let mut longest = 0;
    for Stretch { number, input, bytes } in stretches {
        let Opened { stream, read, .. } = input::open(input, bytes.start)?;
        let blocks = Blocks::new(stream.take(bytes.end - bytes.start), file.separator, bytes.start);
        let (before, start) = (progress.read, read.load(Ordering::Relaxed));
        let mut sink = KeySink {
            keys: &mut keys,
            longest: &mut longest,
            after: &mut || {
                progress.read = before + read.load(Ordering::Relaxed) - start;
                tell(&progress);
            },
        };
        let context =
            Context { file, direction: Direction::Delimit, inputs: &[], input: *number, places: false };
        pool::run(blocks, input.path(), &KeyWork(context), &mut sink, stop)?;
    }
    if longest > keys::BYTES {
        return Err(HaulError::TooMany { what: "bytes of one input", most: keys::BYTES });
    }
    keys.judge(longest)
}

struct KeyWork<'a>(Context<'a>);

/// Keys, a line that nobody reads, and where the block ends.
#[derive(Default)]
struct KeyScratch(KeysOfBlock, Vec<u8>, u64);

impl Work for KeyWork<'_> {
    type Scratch = KeyScratch;

    fn work(&self, offset: u64, block: &[u8], scratch: &mut KeyScratch) -> Result<(), HaulError> {
        self.0.keys(offset, block, &mut scratch.1, &mut scratch.0);
        scratch.2 = offset + block.len() as u64;
        Ok(())
    }
}

struct KeySink<'a> {
    keys: &'a mut Keys,
    longest: &'a mut u64,
    after: &'a mut (dyn FnMut() + Send),
}

impl Sink<KeyScratch> for KeySink<'_> {
    fn take(&mut self, scratch: &KeyScratch) -> Result<(), HaulError> {
        *self.longest = (*self.longest).max(scratch.2);
        self.keys.add(&scratch.0)?;
        (self.after)();
        Ok(())
    }
}
