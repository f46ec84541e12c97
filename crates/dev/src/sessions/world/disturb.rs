//! What goes wrong in the world, and what its operator does.

use super::World;
use evenkeel_guard::proxy::session::{Event, Side};

impl World {
    /// Something happens to one session that neither side of it wanted.
    pub(super) fn disturb(&mut self, at: usize) {
        let what = self.random.uniform(0, 99);
        self.note(at, |_| format!("disturbance {what}"));
        match what {
            0..=74 => self.disturb_client(at, what),
            75..=79 => {
                let slot = &mut self.slots[at];
                slot.ledger.reasons.gave_way |= !slot.client.was_let_in();
                self.serve(at, |pair, desk| pair.happens(Event::GiveWay, desk));
            }
            80..=92 => self.disturb_server(at, what),
            _ => {}
        }
    }

    fn disturb_client(&mut self, at: usize, what: u64) {
        let slot = &mut self.slots[at];
        match what {
            0..=37 => slot.client.stalled = !slot.client.stalled,
            38..=52 => slot.client.silent = !slot.client.silent,
            53..=65 => {
                let resets = self.random.chance(0.5);
                slot.client.leave(&mut slot.near.borrow_mut(), resets);
                self.arrived(at, true, false);
            }
            // Says nothing more and goes on reading.
            _ => {
                let mut near = slot.near.borrow_mut();
                near.end();
                near.end_said.get_or_insert(self.now.get());
            }
        }
    }

    fn disturb_server(&mut self, at: usize, what: u64) {
        let now = self.now.get();
        let slot = &mut self.slots[at];
        slot.ledger.reasons.now = now;
        match what {
            80..=84 => {
                slot.ledger.reasons.server_ends(now);
                slot.far.borrow_mut().broken = true;
                self.ready(at, Side::Server, true, true);
            }
            85..=86 => {
                slot.ledger.reasons.server_ends(now);
                slot.far.borrow_mut().vanished.get_or_insert(now);
            }
            87..=88 => slot.connection.say_farewell(&mut slot.ledger),
            89..=90 => slot.connection.crash(&mut slot.far.borrow_mut(), &mut self.locks, &mut slot.ledger),
            _ => slot.connection.half_close(&mut slot.far.borrow_mut(), &mut self.locks, &mut slot.ledger),
        }
    }

    /// The operator, or the controller in his place, changes what the gate may do.
    pub(super) fn govern(&mut self) {
        let most = self.random.uniform(1, 5) as usize;
        match self.random.uniform(0, 19) {
            0 => self.fail_over(),
            1..=5 => self.reach(&mut |gate, now| gate.set_limit(now, most)),
            6 => self.reach(&mut |gate, _| gate.set_loans_max(Some(most))),
            _ => return,
        }
        self.deliver(Vec::new());
    }

    /// Another server takes the place of this one: new sessions go there.
    fn fail_over(&mut self) {
        self.reach(&mut |gate, now| {
            gate.new_server(now);
        });
        // The new server's gate knows nobody's exemptions.
        for slot in &mut self.slots {
            slot.exempt = false;
            slot.tenure.becomes_unsure();
        }
    }
}
