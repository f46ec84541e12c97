//! Deadlines that never fall: a queue instead of a heap.

use evenkeel_core::Nanos;
use std::collections::VecDeque;

/// One deadline of one session slot. It is void once the epoch of the slot has moved on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Deadline {
    pub at: Nanos,
    pub slot: u32,
    pub epoch: u32,
}

/// Deadlines in the order in which they were set. Each is a constant time after an instant that never falls,
/// so the first is the earliest. Void ones are dropped when they come to the front, and all at once when they
/// are more than half, so that the length stays below twice the slots and some.
#[derive(Debug, Default)]
pub(super) struct Deadlines(VecDeque<Deadline>);

/// Below this length there is nothing to tidy.
const LENGTH_SMALL: usize = 64;

impl Deadlines {
    /// Adds one; `is_live` tells those that still hold, of which there are at most `slots`.
    pub fn push(&mut self, deadline: Deadline, slots: usize, is_live: impl Fn(&Deadline) -> bool) {
        if self.0.len() > LENGTH_SMALL + 2 * slots {
            self.0.retain(|deadline| is_live(deadline));
        }
        self.0.push_back(deadline);
    }

    /// The earliest that holds.
    pub fn first(&mut self, is_live: impl Fn(&Deadline) -> bool) -> Option<Deadline> {
        while let Some(&first) = self.0.front() {
            if is_live(&first) {
                return Some(first);
            }
            self.0.pop_front();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn void_deadlines_are_passed_over_and_do_not_pile_up() {
        let mut deadlines = Deadlines::default();
        let is_live = |deadline: &Deadline| deadline.epoch >= 990;
        for epoch in 0..1_000 {
            deadlines.push(Deadline { at: Nanos(epoch.into()), slot: 0, epoch }, 10, is_live);
            assert!(deadlines.0.len() <= LENGTH_SMALL + 2 * 10 + 1);
        }
        assert_eq!(deadlines.first(is_live), Some(Deadline { at: Nanos(990), slot: 0, epoch: 990 }));
    }
}
