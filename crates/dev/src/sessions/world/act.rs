//! The two sides of a session do something, and what they did is judged.

use super::super::server::Deed;
use super::World;
use super::ends::Heard;
use evenkeel_guard::proxy::session::Side;

impl World {
    pub(super) fn let_client_act(&mut self, at: usize) -> Result<(), String> {
        let slot = &mut self.slots[at];
        let (was_gone, was_broken) = (slot.client.is_gone(), slot.near.borrow().broken);
        let (sent, before) = (slot.ledger.sent_total(), Heard::of(slot));
        slot.ledger.reasons.now = self.now.get();
        slot.client.act(&mut slot.near.borrow_mut(), &mut slot.ledger, &mut self.random)?;
        if slot.ledger.sent_total() > sent {
            self.note(at, |slot| format!("the client says {:?}", slot.ledger.last()));
        }
        self.judge_ending(at, &before)?;
        if !was_gone && !was_broken {
            // Room that it made, and the end that it told, are seen.
            self.room(at, Side::Client);
        }
        Ok(())
    }

    pub(super) fn let_server_act(&mut self, at: usize) -> Result<(), String> {
        let slot = &mut self.slots[at];
        let now = self.now.get();
        let (was_reset, was_solid) = (slot.ledger.reset, slot.connection.is_solid());
        slot.ledger.reasons.now = now;
        let deed = slot.connection.act(
            &mut slot.far.borrow_mut(),
            &mut self.locks,
            &mut slot.ledger,
            (now, &mut self.random),
        )?;
        if slot.ledger.reset && !was_reset {
            Self::judge_reset(slot)?;
        }
        self.watch_exemption(at, was_solid);
        let slot = &self.slots[at];
        let reachable = !slot.far.borrow().broken && slot.far.borrow().vanished.is_none();
        if deed.is_some() {
            self.note(at, |_| format!("the server: {deed:?}"));
        }
        match deed {
            Some(Deed::Usurped(what)) => {
                return Err(format!("the server obeyed {what}, an account that may not come in"));
            }
            Some(Deed::Works { command, at: from }) if reachable => self.judge_work(at, &command, from)?,
            _ => {}
        }
        self.room(at, Side::Server);
        Ok(())
    }
}
