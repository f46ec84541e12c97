//! Parts are committed one after the other, whatever connection has sent them first.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

#[derive(Default)]
pub(super) struct Turn {
    state: Mutex<State>,
    moved: Condvar,
}

#[derive(Default)]
struct State {
    number: u64,
    /// Whether that part cannot go on unless the others give up what they hold.
    is_held_up: bool,
    is_over: bool,
}

/// What came of waiting for a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waited {
    Mine,
    /// The part before waits for what this one holds.
    GiveWay,
    Over,
}

impl Turn {
    /// Waits for the turn of a part; `may_hold` where it has a transaction that others could wait for.
    pub fn wait(&self, number: u64, may_hold: bool) -> Waited {
        let waits =
            |state: &mut State| !state.is_over && state.number != number && !(may_hold && state.is_held_up);
        let state = self.moved.wait_while(self.state(), waits).unwrap_or_else(PoisonError::into_inner);
        match (state.is_over, state.number == number) {
            (true, _) => Waited::Over,
            (_, true) => Waited::Mine,
            _ => Waited::GiveWay,
        }
    }

    /// The part whose turn it was is committed.
    pub fn pass(&self) {
        let mut state = self.state();
        state.number += 1;
        state.is_held_up = false;
        self.moved.notify_all();
    }

    /// The part whose turn it is waits for another one; false where it is not this part's turn.
    pub fn hold_up(&self, number: u64) -> bool {
        let mut state = self.state();
        let is_turn = state.number == number;
        state.is_held_up |= is_turn;
        self.moved.notify_all();
        is_turn
    }

    pub fn end(&self) {
        self.state().is_over = true;
        self.moved.notify_all();
    }

    pub fn is_over(&self) -> bool {
        self.state().is_over
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_their_turns_in_order_and_give_way_to_one_that_is_held_up() {
        let turn = Turn::default();
        assert_eq!(turn.wait(0, true), Waited::Mine);
        assert!(!turn.hold_up(1) && turn.hold_up(0));
        assert_eq!(turn.wait(1, true), Waited::GiveWay);
        turn.pass();
        assert_eq!(turn.wait(1, true), Waited::Mine);
        turn.end();
        assert_eq!((turn.wait(2, false), turn.is_over()), (Waited::Over, true));
    }
}
