//! What the guard is asked to do with a session, and all that follows for others.

use super::super::pipe::{Conduit, Plug};
use super::World;
use crate::admission::Notice;
use crate::guard::pair::{Attempt, Desk, Flow, Pair};
use crate::guard::seat::Standing;
use crate::guard::session::{Arrival, Context, Session};
use crate::guard::shared::session_of;
use std::cell::RefCell;
use std::rc::Rc;

impl World {
    /// Lets the guard do something with a session, and all that follows for others.
    pub(super) fn serve(&mut self, at: usize, act: impl FnOnce(&mut Pair<Plug>, &mut Desk<'_>) -> Flow) {
        let mut notices = Vec::new();
        self.serve_one(at, &mut notices, act);
        self.deliver(notices);
    }

    fn serve_one(
        &mut self,
        at: usize,
        notices: &mut Vec<Notice>,
        act: impl FnOnce(&mut Pair<Plug>, &mut Desk<'_>) -> Flow,
    ) {
        let mut present = 0;
        self.reach(&mut |gate, _| present = gate.server());
        let slot = &mut self.slots[at];
        if slot.closed {
            return;
        }
        let mut actions = Vec::new();
        let cx = Context {
            terms: &self.terms,
            door: &self.door,
            kinds: &mut self.kinds,
            stats: &self.stats,
            server: present,
            now: self.now.get(),
            notices,
            actions: &mut actions,
        };
        let mut desk = Desk { cx, tls: &self.tls, buffer: &mut self.buffer };
        let mut flow = act(&mut slot.pair, &mut desk);
        while flow == Flow::Again {
            flow = slot.pair.pump(&mut desk);
        }
        self.watch_loan(at);
        if flow == Flow::Closed {
            self.close(at);
        }
    }

    /// Notes what had gone to the server when a permit was lent.
    fn watch_loan(&mut self, at: usize) {
        let slot = &mut self.slots[at];
        let handed = slot.far.borrow().sent() + slot.pair.server.unsent() as u64;
        slot.lent_at = match slot.pair.session.standing() {
            // Lent for all that its transaction still says.
            Some(Standing::Lent) if slot.pair.session.stays_lent() => Some(handed),
            Some(Standing::Lent) => slot.lent_at.or(Some(handed)),
            _ => None,
        };
    }

    /// The guard drops a session with its sockets and with what it had of the gate.
    fn close(&mut self, at: usize) {
        let slot = &mut self.slots[at];
        slot.closed = true;
        let spare = || Plug { conduit: Rc::new(RefCell::new(Conduit::new(0))), now: Rc::clone(&self.now) };
        let nobody = Session::new(slot.id, Arrival { local: false, spare: false }, self.now.get());
        slot.pair = Pair::new(nobody, spare(), spare(), Attempt::default());
    }

    pub(super) fn deliver(&mut self, mut notices: Vec<Notice>) {
        loop {
            notices.extend(self.gateway.take());
            if notices.is_empty() {
                return;
            }
            for notice in std::mem::take(&mut notices) {
                let id = session_of(notice);
                if let Some(at) = self.slots.iter().position(|slot| slot.id == id && !slot.closed) {
                    self.serve_one(at, &mut notices, |pair, desk| pair.notice(notice, desk));
                }
            }
        }
    }
}
