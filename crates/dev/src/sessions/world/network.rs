//! The network between clients, guard and server, and what the guard's kernel tells of it.

use super::{WIDE, World};
use evenkeel_guard::proxy::session::{Event, Side};
use evenkeel_os::Ready;

impl World {
    pub(super) fn look_for_server(&mut self, at: usize) {
        let silence = self.terms.plan.silence_max;
        self.serve(at, |pair, desk| pair.look_for_server(silence, desk));
        // The kernel's own questions whether the other machine is there, which it asks where nothing else is on its way.
        let slot = &self.slots[at];
        let unheard = slot.far.borrow().vanished.is_some_and(|since| self.now.get() - since > silence);
        if unheard && slot.far.borrow().is_idle() && !slot.is_closed() {
            slot.far.borrow_mut().broken = true;
            self.ready(at, Side::Server, true, true);
        }
    }

    /// The network brings some bytes nearer.
    pub(super) fn carry(&mut self, at: usize) {
        let slot = &mut self.slots[at];
        let (is_near, to_guard) = (self.random.chance(0.5), self.random.chance(0.6));
        let count = match self.random.uniform(0, 3) {
            0 => 1,
            1 => self.random.uniform(1, 40) as usize,
            _ => WIDE,
        };
        let conduit = if is_near { &slot.near } else { &slot.far };
        let moved = conduit.borrow_mut().carry(to_guard, count);
        if moved {
            self.arrived(at, is_near, to_guard);
        }
    }

    /// Something has come to where it was to go: the guard hears of it where it is for it, or where it broke the
    /// connection.
    pub(super) fn arrived(&mut self, at: usize, is_near: bool, to_guard: bool) {
        let side = if is_near { Side::Client } else { Side::Server };
        let conduit = if is_near { &self.slots[at].near } else { &self.slots[at].far };
        let (broken, ended) = (conduit.borrow().broken, conduit.borrow().end_is_there());
        if to_guard || broken {
            self.ready(at, side, ended || broken, broken);
        }
    }

    /// The kernel tells the guard of a socket.
    pub(super) fn ready(&mut self, at: usize, side: Side, ended: bool, write: bool) {
        let slot = &mut self.slots[at];
        if side == Side::Server && slot.pair.session.is_connecting() {
            return self.connect(at);
        }
        let ready = Ready { token: 0, read: true, write, ended, gone: false };
        self.serve(at, |pair, desk| pair.ready(side, ready, desk));
        self.note(at, |slot| {
            let (keeps, hears) = (slot.pair.session.held(), slot.pair.session.hears(Side::Client));
            format!(
                "{side:?} is ready, ended {ended}, room {write}; keeps {keeps}, hears the client {hears}:"
            )
        });
    }

    fn connect(&mut self, at: usize) {
        let mut server = 0;
        self.reach(&mut |gate, _| server = gate.server());
        self.slots[at].server = Some(server);
        self.serve(at, |pair, desk| pair.happens(Event::Connected { server }, desk));
        self.serve(at, |pair, desk| {
            pair.ready(
                Side::Server,
                Ready { token: 0, read: true, write: false, ended: false, gone: false },
                desk,
            )
        });
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
}
