//! The end of a history.

use super::slot::{SLOTS, Slot};
use super::{REST, World};
use evenkeel_core::Nanos;

impl World {
    /// Everybody leaves; whatever was wrong with the network is over. All has to come to rest.
    pub fn come_to_rest(&mut self, steps: &mut u64) -> Result<(), String> {
        self.ending = true;
        let end = self.now.get() + REST;
        while self.slots.iter().any(|slot| !slot.is_closed() || slot.connection.is_busy()) {
            if self.now.get() > end {
                return Err(self.restless());
            }
            *steps += 1;
            self.set_time(self.now.get() + Nanos::from_millis(2));
            for at in 0..SLOTS {
                let done = self.finish(at);
                self.noted(at, done)?;
            }
            self.pass_time()?;
        }
        self.judge_rest()
    }

    fn finish(&mut self, at: usize) -> Result<(), String> {
        let slot = &mut self.slots[at];
        slot.client.finish(&mut slot.ledger);
        if slot.ledger.streams || slot.ledger.over {
            slot.client.leave(&mut slot.near.borrow_mut(), false);
            self.arrived(at, true, false);
        }
        for (is_near, to_guard) in [(true, true), (true, false), (false, true), (false, false)] {
            let conduit = if is_near { &self.slots[at].near } else { &self.slots[at].far };
            let moved = conduit.borrow_mut().carry(to_guard, 4_000);
            if moved {
                self.arrived(at, is_near, to_guard);
            }
        }
        self.let_client_act(at)?;
        self.let_server_act(at)?;
        self.judge(at)
    }

    /// Who is still there: what the client does, what it said last, and what its session has.
    fn restless(&self) -> String {
        let open = self.slots.iter().filter(|slot| !slot.is_closed() || slot.connection.is_busy());
        let one = |slot: &Slot| {
            let client = match () {
                () if slot.client.is_gone() => "is gone",
                () if slot.ledger.last_words.is_some() => "was told why its session ends",
                () if !slot.client.was_let_in() => "wants to come in",
                () if slot.ledger.is_answer_due() => "waits for an answer",
                () => "waits for nothing",
            };
            let (said, standing) = (slot.ledger.last(), slot.pair.session.standing());
            format!("no rest for a client that {client}, behind {said:?}, with {standing:?}")
        };
        open.map(one).collect::<Vec<_>>().join("; ")
    }
}
