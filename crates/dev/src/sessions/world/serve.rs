//! What the guard is asked to do with a session, and all that follows for others.

use super::super::pipe::{Conduit, Plug};
use super::World;
use super::slot::Slot;
use evenkeel_guard::admission::Notice;
use evenkeel_guard::proxy::parts::{Attempt, Desk, Flow, Pair, session_of};
use evenkeel_guard::proxy::session::{Arrival, Context, Session};
use std::cell::RefCell;
use std::rc::Rc;

/// What a session has taken of its client's, and what its client has taken of it.
struct Taken {
    blocked: bool,
    told: u64,
    heard: u64,
}

impl Taken {
    fn of(slot: &Slot) -> Self {
        let near = slot.near.borrow();
        Self { blocked: slot.pair.client.is_blocked(), told: near.sent(), heard: near.taken() }
    }

    /// Whoever takes no answers is not asked for more: he could be refused for ever, and each refusal kept for him.
    fn judge(&self, slot: &Slot) -> Result<(), String> {
        let now = Self::of(slot);
        match self.blocked && now.blocked && now.told == self.told && now.heard > self.heard {
            true => Err("a client was read on that takes no answers".into()),
            false => Ok(()),
        }
    }
}

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
        if slot.is_closed() {
            return;
        }
        let before = Taken::of(slot);
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
        let watched = self.watch_permit(at).and_then(|()| before.judge(&self.slots[at]));
        if let Err(what) = self.noted(at, watched) {
            self.wrong.get_or_insert(what);
        }
        if flow == Flow::Closed {
            self.close(at);
        }
    }

    /// The gate may have a session closed only if it was idle, by what the guard heard and said: the server said nothing, and
    /// either it was told nothing or nothing came from the client to tell it.
    fn watch_idle(&mut self, at: usize, notice: Notice) {
        let slot = &mut self.slots[at];
        let (near, far) = (slot.near.borrow(), slot.far.borrow());
        let since = far.heard.max(far.said.min(near.heard));
        let after = self.terms.plan.options.close_after;
        let idle = after.is_some_and(|after| self.now.get() - since >= after);
        slot.ledger.reasons.idle |= idle && matches!(notice, Notice::Close(_));
    }

    /// The guard drops a session with its sockets and with what it had of the gate.
    fn close(&mut self, at: usize) {
        let slot = &mut self.slots[at];
        slot.closed = Some(self.now.get());
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
                if let Some(at) = self.slots.iter().position(|slot| slot.id == id && !slot.is_closed()) {
                    self.watch_idle(at, notice);
                    self.serve_one(at, &mut notices, |pair, desk| pair.notice(notice, desk));
                }
            }
        }
    }
}
