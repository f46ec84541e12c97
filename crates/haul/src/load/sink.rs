//! Blocks become parts, which are dealt to the connections.

use super::part::Part;
use crate::HaulError;
use crate::blocks::BLOCK;
use crate::convert::{Context, Converted, Sink};
use crate::keys::Seen;
use std::sync::mpsc::SyncSender;

pub(super) struct Deal<'a> {
    pub part: Part,
    pub number: &'a mut u64,
    pub sender: &'a SyncSender<Part>,
    pub limit: u64,
    pub context: &'a Context<'a>,
    pub seen: Option<&'a mut Seen>,
    pub tell: &'a mut (dyn FnMut() + Send),
}

impl Deal<'_> {
    /// Hands on what has been gathered.
    pub fn send(&mut self, is_last: bool) -> Result<(), HaulError> {
        let Part { input, file, end, .. } = self.part;
        let next = Part { input, file, begin: end, end, ..Part::default() };
        let part = std::mem::replace(&mut self.part, next);
        let number = *self.number;
        *self.number += 1;
        // Where all connections have failed, the reason is with them.
        let gone = |_| HaulError::Stopped { path: self.context.path().to_owned(), at: end };
        self.sender.send(Part { number, is_last, ..part }).map_err(gone)
    }
}

impl Sink<Converted> for Deal<'_> {
    fn settle(&mut self, offset: u64, block: &[u8], scratch: &mut Converted) -> Result<(), HaulError> {
        self.context.settle(self.seen.as_deref_mut(), offset, block, scratch)
    }

    fn take(&mut self, block: &Converted) -> Result<(), HaulError> {
        self.part.add(block);
        // Another block would be too much; one that is larger itself is a part alone.
        if self.part.end - self.part.begin + BLOCK as u64 > self.limit {
            self.send(false)?;
        }
        (self.tell)();
        Ok(())
    }
}
