//! How sessions come by their permits and for how long they have them, by the locks of the model server and by the world's
//! own clock: who passes the queue has to hold something, and only so many of a tenant may for names alone.

use super::{Slot, World};
use crate::guard::seat::Standing;
use evenkeel_core::Nanos;

/// For how long a session has had permits since it asked for one as others do; loans do not count.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tenure {
    before: Nanos,
    since: Option<Nanos>,
}

impl Tenure {
    /// Brings it up to now: its length so far.
    fn goes_on(&mut self, holds: bool, now: Nanos) -> Nanos {
        self.before += self.since.map_or(Nanos::ZERO, |since| now - since);
        self.since = holds.then_some(now);
        self.before
    }
}

impl World {
    /// The guard has done something with a session: how it came by its permit, and what had gone to the server when that was
    /// lent.
    pub(super) fn watch_permit(&mut self, at: usize) -> Result<(), String> {
        let (entries, now) = (self.gateway.entries(), self.now.get());
        let slot = &mut self.slots[at];
        if entries.asked > 0 {
            slot.tenure = Tenure::default();
        }
        let standing = slot.pair.session.standing();
        let length = slot.tenure.goes_on(standing == Some(Standing::Held), now);
        let handed = slot.far.borrow().sent() + slot.pair.server.unsent() as u64;
        // Whose time is up lends for all that its transaction still says.
        slot.outstayed =
            standing == Some(Standing::Lent) && (slot.outstayed || length >= self.terms.plan.tenure_max);
        slot.lent_at = match standing {
            Some(Standing::Lent) if slot.outstayed => Some(handed),
            Some(Standing::Lent) => slot.lent_at.or(Some(handed)),
            _ => None,
        };
        match entries.unqueued > 0 {
            true => self.judge_passage(at),
            false => Ok(()),
        }
    }

    /// A session has passed the queue.
    fn judge_passage(&mut self, at: usize) -> Result<(), String> {
        let most = self.terms.plan.options.named_max;
        let slot = &self.slots[at];
        let unknown = slot.ledger.over || slot.ledger.reasons.server().is_some();
        if unknown || self.is_solid(slot) {
            return Ok(());
        }
        if !slot.ledger.may_hold {
            return Err("a session passed the queue, and never held anything".into());
        }
        self.slots[at].exempt = true;
        let tenant = self.slots[at].connection.user();
        let others = self.slots.iter().enumerate().filter(|(other, slot)| {
            *other != at && slot.connection.user() == tenant && !slot.is_closed() && self.is_exempt(slot)
        });
        match others.count() + 1 {
            count if count > most => {
                Err(format!("{count} sessions of a tenant passed the queue for names, where {most} may"))
            }
            _ => Ok(()),
        }
    }

    /// The server has done something: who holds more than names by now, or no name, is not exempt for one any more.
    pub(super) fn watch_exemption(&mut self, at: usize, was_solid: bool) {
        let slot = &mut self.slots[at];
        let solid = slot.connection.is_solid(&self.locks);
        if was_solid && !solid {
            slot.soft_from = slot.connection.said_total();
        }
        slot.exempt &= !solid && self.locks.holds_name(slot.connection.number());
    }

    /// Whether it holds more than names, as far as the guard can know: it has to hear the answer by which that ends.
    fn is_solid(&self, slot: &Slot) -> bool {
        slot.connection.is_solid(&self.locks) || slot.far.borrow().taken() < slot.soft_from
    }

    /// Whether it passed the queue for a name, and has held one and nothing else since.
    fn is_exempt(&self, slot: &Slot) -> bool {
        slot.exempt && self.locks.holds_name(slot.connection.number()) && !self.is_solid(slot)
    }
}
