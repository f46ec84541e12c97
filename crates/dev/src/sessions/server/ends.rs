//! How a connection of the model ends, and what is lost by that.

use super::super::ledger::Ledger;
use super::super::locks::Locks;
use super::super::pipe::Conduit;
use super::{Connection, Deed, Phase};

impl Connection {
    /// Says out of turn why it will end, and ends.
    pub fn say_farewell(&mut self, ledger: &mut Ledger) {
        if self.phase == Phase::Ready && !self.ended {
            ledger.reasons.server_ends(ledger.reasons.now);
            ledger.say_farewell(self.fresh);
            self.answer(ledger, 0, b"\xff\x87\x07#70100killed", false);
            self.ended = true;
        }
    }

    /// Ends at once, in the middle of whatever it says or does.
    pub fn crash(&mut self, conduit: &mut Conduit, locks: &mut Locks, ledger: &mut Ledger) {
        if !self.is_closed() {
            self.fall_silent(ledger);
            self.close(conduit, locks);
        }
    }

    /// Says no more, and goes on listening until the other side ends.
    pub fn half_close(&mut self, conduit: &mut Conduit, locks: &mut Locks, ledger: &mut Ledger) {
        if matches!(self.phase, Phase::Ready | Phase::File) {
            locks.drop_all(self.who);
            self.fall_silent(ledger);
            self.phase = Phase::Leaving;
            conduit.end();
        }
    }

    /// What it has not said yet it never will.
    fn fall_silent(&mut self, ledger: &mut Ledger) {
        ledger.reasons.server_ends(ledger.reasons.now);
        ledger.reasons.login_cut |= self.aside > 0;
        ledger.cut(self.unsaid.len() - self.aside);
        self.unsaid.clear();
        self.aside = 0;
    }

    /// Closes its socket.
    pub(super) fn close(&mut self, conduit: &mut Conduit, locks: &mut Locks) -> Deed {
        locks.drop_all(self.who);
        self.phase = Phase::Closed;
        conduit.close();
        Deed::Closed
    }
}
