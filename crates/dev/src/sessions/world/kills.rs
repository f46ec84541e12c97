//! What others do to sessions: KILL, after which a wait has to end, and what the operator changes.

use super::{Kill, Slot, World};
use evenkeel_core::admission::SessionId;
use evenkeel_core::gate::Lane;
use evenkeel_guard::proxy::parts::Standing;

impl World {
    /// The operator, or the controller in his place, changes what the gate may do.
    pub(super) fn govern(&mut self) {
        let most = self.random.uniform(1, 5) as usize;
        match self.random.uniform(0, 19) {
            // Another server takes the place of this one: new sessions go there.
            0 => {
                self.kills.clear();
                self.reach(&mut |gate, now| {
                    gate.new_server(now);
                });
            }
            1..=5 => self.reach(&mut |gate, now| gate.set_limit(now, Lane::Short, most)),
            6..=7 => self.reach(&mut |gate, now| gate.set_limit(now, Lane::Long, most)),
            _ => return,
        }
        self.deliver(Vec::new());
    }

    /// Sees who waits, and since when.
    pub(super) fn see_waits(&mut self) {
        let now = self.now.get();
        for slot in &mut self.slots {
            let before = slot.waits.filter(|(_, ends)| *ends == slot.ends.len());
            slot.waits = is_waiting(slot).then(|| before.unwrap_or((now, slot.ends.len())));
        }
    }

    /// The number of a session, often of one that waits.
    pub(super) fn someone(&mut self) -> u64 {
        let any = self.random.uniform(0, self.slots.len() as u64 - 1) as usize;
        let waits =
            self.slots.iter().position(|slot| slot.waits.is_some()).filter(|_| self.random.chance(0.7));
        self.slots[waits.unwrap_or(any)].connection.number() as u64
    }

    /// The server has done what a session there asked for: the connection of this number ends, or what it works for.
    pub(super) fn kill(&mut self, at: usize, number: u64, connection: bool) {
        let killer = &self.slots[at];
        let (id, server, (sent, answered)) =
            (killer.id, killer.pair.session.server(), killer.ledger.last_read());
        let mut present = 0;
        self.reach(&mut |gate, _| present = gate.server());
        let found =
            self.slots.iter_mut().find(|slot| slot.connection.number() as u64 == number && slot.id != id);
        let Some(slot) = found else { return };
        slot.ledger.now = self.now.get();
        slot.connection.kill(connection, &mut slot.ledger);
        // At a server that is gone nobody waits.
        let here = server == Some(present) && slot.pair.session.server() == server;
        if let Some((_, wait)) = slot.waits.filter(|(since, _)| *since < sent && here && !connection) {
            self.kills.push(Kill { killer: id, answered, victim: slot.id, wait });
        }
    }

    /// Once a killer's client has heard that it is done, the wait has ended, and not because the victim was let in.
    pub(super) fn judge_kills(&mut self) -> Result<(), String> {
        let slots = &self.slots;
        let find = |id: SessionId| slots.iter().find(|slot| slot.id == id && !slot.is_closed());
        let (mut lost, mut left) = (false, Vec::new());
        for kill in self.kills.drain(..) {
            let (Some(killer), Some(victim)) = (find(kill.killer), find(kill.victim)) else { continue };
            match victim.ends.get(kill.wait) {
                Some(true) => {}
                _ if !killer.ledger.has_heard(kill.answered) => left.push(kill),
                Some(false) => lost = true,
                None => lost |= is_waiting(victim),
            }
        }
        self.kills = left;
        if lost { Err("a KILL QUERY was done, and who waited goes on".into()) } else { Ok(()) }
    }
}

fn is_waiting(slot: &Slot) -> bool {
    !slot.is_closed() && slot.pair.session.standing() == Some(Standing::Waiting)
}
