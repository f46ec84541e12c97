//! Which changes may be under way together.
//!
//! With direct I/O a change of half a block reads the block, changes it and writes it back. Another change of that block
//! in between would be lost: such a change runs alone among changes. Reads and flushes are not concerned.

use crate::Work;
use std::collections::{HashMap, VecDeque};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Whole,
    Alone,
}

/// Changes under way, and those that wait for them.
#[derive(Debug, Default)]
pub(super) struct Order {
    under_way: HashMap<u64, Kind>,
    alone: bool,
    waiting: VecDeque<(u64, Work, Kind)>,
}

impl Order {
    /// Gives a work back that may begin; keeps one that may not yet.
    pub fn start(&mut self, id: u64, work: Work, whole: bool) -> Option<Work> {
        let kind = if whole { Kind::Whole } else { Kind::Alone };
        if !self.waiting.is_empty() || !self.may(kind) {
            self.waiting.push_back((id, work, kind));
            return None;
        }
        self.begin(id, kind);
        Some(work)
    }

    fn may(&self, kind: Kind) -> bool {
        !self.alone && (kind == Kind::Whole || self.under_way.is_empty())
    }

    fn begin(&mut self, id: u64, kind: Kind) {
        self.under_way.insert(id, kind);
        self.alone |= kind == Kind::Alone;
    }

    /// A work has ended, a change or not.
    pub fn end(&mut self, id: u64) {
        if self.under_way.remove(&id) == Some(Kind::Alone) {
            self.alone = false;
        }
    }

    /// The next of those that waited and may begin.
    pub fn next(&mut self) -> Option<(u64, Work)> {
        let kind = self.waiting.front()?.2;
        if !self.may(kind) {
            return None;
        }
        let (id, work, kind) = self.waiting.pop_front()?;
        self.begin(id, kind);
        Some((id, work))
    }
}
