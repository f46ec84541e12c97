//! How sessions come by their permits, for how long they have them and what they lend them for, by what the model server has
//! and does and by the world's own clock: who passes the queue has to hold something, and only so many of a tenant may for
//! what costs nothing; and who lends for a pause has nothing at the server.

use super::slot::Slot;
use super::tenure::Tenure;
use super::{TICK, World};
use evenkeel_guard::proxy::parts::Standing;

/// So many times in turn a session may be found with a permit that it ought to have lent.
const OVERSTAYS_MAX: u32 = 1;

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
        let outstays = slot.outstayed || slot.tenure.is_unsure || length >= self.terms.plan.tenure_max;
        slot.outstayed = standing == Some(Standing::Lent) && outstays;
        slot.lent_at = match standing {
            Some(Standing::Lent) if slot.outstayed => Some(handed),
            Some(Standing::Lent) => slot.lent_at.or(Some(handed)),
            _ => None,
        };
        if entries.lent > 0 {
            slot.overstays = 0;
        }
        // A pause ends where its permit was lent once more, for something else: it was taken back in between.
        let goes_on = slot.pauses && entries.lent == 0;
        slot.pauses = standing == Some(Standing::Lent) && (goes_on || entries.paused > 0);
        if entries.paused > 0 {
            Self::judge_pause(slot)?;
        }
        match entries.unqueued > 0 {
            true => self.judge_passage(at),
            false => Ok(()),
        }
    }

    /// A session has lent its permit as one that has nothing at the server.
    fn judge_pause(slot: &Slot) -> Result<(), String> {
        let reachable = !slot.far.borrow().broken && slot.far.borrow().vanished.is_none();
        match slot.connection.works_for().filter(|_| reachable && !slot.ledger.over) {
            Some(command) => {
                Err(format!("a permit was lent for a pause while the server works for {command:?}"))
            }
            None => Ok(()),
        }
    }

    /// Time has passed, and the guard knows it: who has had permits for too long lends, where anybody may. He may go on at
    /// once, but has to have lent from one time to the next.
    pub(super) fn judge_tenure(&mut self, at: usize) -> Result<(), String> {
        let (mut room, mut present) = (false, 0);
        self.reach(&mut |gate, now| {
            let census = gate.brief_census(now);
            (room, present) = (census.loans < census.loans_max, gate.server());
        });
        let (most, slot) = (self.terms.plan.tenure_max + TICK, &mut self.slots[at]);
        let session = &slot.pair.session;
        let held = session.standing() == Some(Standing::Held) && session.server() == Some(present);
        let over = held && room && slot.tenure.before > most && !slot.tenure.is_unsure && !slot.is_closed();
        slot.overstays = if over { slot.overstays + 1 } else { 0 };
        match slot.overstays > OVERSTAYS_MAX {
            true => Err("a session keeps its permit for longer than it may".into()),
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
            count if count > most => Err(format!(
                "{count} sessions of a tenant passed the queue for what costs nothing, where {most} may"
            )),
            _ => Ok(()),
        }
    }

    /// The server has done something: who holds more by now than what costs nothing, or not even that, is not exempt for it
    /// any more.
    pub(super) fn watch_exemption(&mut self, at: usize, was_solid: bool) {
        let slot = &mut self.slots[at];
        let solid = slot.connection.is_solid();
        if was_solid && !solid {
            slot.soft_from = slot.connection.said_total();
        }
        slot.exempt &= !solid && self.locks.holds_cheap(slot.connection.number());
    }

    /// Whether it holds more than what costs nothing, as far as the guard can know: it has to hear the answer by which that ends.
    fn is_solid(&self, slot: &Slot) -> bool {
        slot.connection.is_solid() || slot.far.borrow().taken() < slot.soft_from
    }

    /// Whether it passed the queue for what costs nothing, and has held one and nothing else since, as far as the guard can
    /// know: a server that is out of reach holds nothing for it.
    fn is_exempt(&self, slot: &Slot) -> bool {
        let reached = slot.ledger.reasons.server().is_none();
        reached && slot.exempt && self.locks.holds_cheap(slot.connection.number()) && !self.is_solid(slot)
    }
}
