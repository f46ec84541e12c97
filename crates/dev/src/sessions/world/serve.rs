//! What the guard is asked to do with a session, and all that follows for others.

use super::super::pipe::{Conduit, Plug};
use super::World;
use evenkeel_core::Nanos;
use evenkeel_core::admission::{Notice, Rejection};
use evenkeel_guard::proxy::parts::{Attempt, Desk, Flow, Pair, session_of};
use evenkeel_guard::proxy::session::{Context, Event, Session, Side};
use evenkeel_os::Ready;
use std::cell::RefCell;
use std::rc::Rc;

impl World {
    pub(super) fn ready(&mut self, at: usize, side: Side, ended: bool, write: bool) {
        let mut ready = Ready { token: 0, read: true, write, ended, gone: false };
        if side == Side::Server && self.slots[at].pair.session.is_connecting() {
            let mut server = 0;
            self.reach(&mut |gate, _| server = gate.server());
            self.serve(at, |pair, desk| pair.happens(Event::Connected { server }, desk));
            (ready.write, ready.ended) = (false, false);
        }
        self.serve(at, |pair, desk| pair.ready(side, ready, desk));
    }

    pub(super) fn room(&mut self, at: usize, side: Side) {
        let slot = &mut self.slots[at];
        let broken = match side {
            Side::Client => slot.near.borrow().broken,
            Side::Server => slot.far.borrow().broken,
        };
        if slot.pair.link(side).is_blocked() || broken {
            self.ready(at, side, broken, true);
        }
    }

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
        let (mut present, mut long_from) = (0, Nanos::ZERO);
        self.reach(&mut |gate, _| (present, long_from) = (gate.server(), gate.long_from()));
        let slot = &mut self.slots[at];
        if slot.is_closed() {
            return;
        }
        let blocked = slot.pair.client.is_blocked().then(|| slot.near.borrow().waiting());
        let mut actions = Vec::new();
        let cx = Context {
            terms: &self.terms,
            door: &self.door,
            long_from,
            stats: &self.stats,
            server: present,
            led: 0,
            now: self.now.get(),
            notices,
            actions: &mut actions,
        };
        let mut desk = Desk { cx, tls: &self.tls, buffer: &mut self.buffer };
        let mut flow = act(&mut slot.pair, &mut desk);
        while flow == Flow::Again {
            flow = slot.pair.pump(&mut desk);
        }
        for judged in [self.judge_passage(at), self.judge_reading(at, blocked)] {
            if let Err(what) = judged {
                self.wrong.get_or_insert(what);
            }
        }
        if flow == Flow::Closed {
            self.close(at);
        }
    }

    /// The guard drops a session with its sockets and with what it had of the gate.
    fn close(&mut self, at: usize) {
        let slot = &mut self.slots[at];
        slot.closed = Some(self.now.get());
        let spare = || Plug { conduit: Rc::new(RefCell::new(Conduit::new(0))), now: Rc::clone(&self.now) };
        let nobody = Session::new(slot.id, false, self.now.get());
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
                    self.slots[at].ends.push(matches!(notice, Notice::Rejected(_, Rejection::Killed)));
                    self.serve_one(at, &mut notices, |pair, desk| pair.notice(notice, desk));
                }
            }
        }
    }
}
