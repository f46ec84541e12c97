//! The keys of records that an earlier run has dealt with.

use super::block::{Context, Converted};
use super::pool::{self, Sink, Work};
use crate::HaulError;
use crate::blocks::Blocks;
use crate::keys::Seen;
use crate::layout::LayoutFile;
use evenkeel_os::stop::Stop;
use std::io::Read;

pub(crate) fn has_keys(file: &LayoutFile) -> bool {
    file.layout.types().iter().any(|each| !each.key.is_empty())
}

/// Notes the keys of an input, which is read from its beginning, and leaves the lines; `after` is called after each block.
pub(crate) fn see_again(
    context: &Context<'_>,
    stream: impl Read + Send,
    seen: &mut Seen,
    stop: &Stop,
    after: &mut (dyn FnMut() + Send),
) -> Result<(), HaulError> {
    let blocks = Blocks::new(stream, context.file.separator, 0);
    pool::run(blocks, context.path(), &Lines(context), &mut KeySink { seen, context, after }, stop)
}

pub(crate) struct Lines<'a>(pub &'a Context<'a>);

impl Work for Lines<'_> {
    type Scratch = Converted;

    fn work(&self, offset: u64, block: &[u8], scratch: &mut Converted) -> Result<(), HaulError> {
        self.0.convert(offset, block, scratch);
        Ok(())
    }
}

/// Takes the keys and leaves the lines.
struct KeySink<'a> {
    seen: &'a mut Seen,
    context: &'a Context<'a>,
    after: &'a mut (dyn FnMut() + Send),
}

impl Sink<Converted> for KeySink<'_> {
    fn settle(&mut self, offset: u64, block: &[u8], scratch: &mut Converted) -> Result<(), HaulError> {
        self.context.settle(Some(&mut *self.seen), offset, block, scratch)
    }

    fn take(&mut self, _: &Converted) -> Result<(), HaulError> {
        (self.after)();
        Ok(())
    }
}
