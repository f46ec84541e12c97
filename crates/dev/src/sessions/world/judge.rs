//! What must never happen, and is judged: after every step what may have come of it, now and then the rest.

use super::slot::Slot;
use super::{BUFFER, ERROR_MAX, FOR_SERVER_MAX, HELD_MAX, REFUSALS_MAX, World};
use crate::sessions::script::Command;
use evenkeel_core::Nanos;
use evenkeel_guard::admission::Census;
use evenkeel_guard::proxy::parts::Standing;
use evenkeel_wire::relay::PENDING_MAX;

impl World {
    /// What the server begins to work for, by a command that began at this byte of all that it was told.
    pub(super) fn judge_work(&self, at: usize, command: &Command, from: u64) -> Result<(), String> {
        let slot = &self.slots[at];
        if slot.spare && !slot.connection.came_as_administrator() {
            return Err(format!("{command:?} of a client beyond the bound of clients"));
        }
        if !command.is_work() || slot.connection.is_administrator() {
            return Ok(());
        }
        match slot.pair.session.standing() {
            Some(Standing::Held) => Ok(()),
            Some(Standing::Lent) => {
                if slot.pauses && !command.idles() {
                    return Err(format!("{command:?} begins under a permit that was lent for a pause"));
                }
                let lent_before = slot.lent_at.is_some_and(|handed| handed <= from);
                match lent_before && !command.idles() {
                    true => {
                        Err(format!("{command:?} was sent after its permit was lent, and not taken back"))
                    }
                    false => Ok(()),
                }
            }
            Some(Standing::Waiting | Standing::Over) | None => {
                Err(format!("{command:?} runs without a permit"))
            }
        }
    }

    pub(super) fn judge(&self, at: usize) -> Result<(), String> {
        self.wrong.clone().map_or(Ok(()), Err)?;
        self.judge_gate()?;
        let slot = &self.slots[at];
        self.judge_permit(slot)?;
        if slot.is_closed() {
            return Ok(());
        }
        self.judge_wait(slot)?;
        Self::judge_memory(slot)?;
        let session = &slot.pair.session;
        let (now, late) = (self.now.get(), self.terms.plan.login_max + Nanos::from_secs(1));
        if session.login_since().is_some_and(|since| now - since > late) {
            return Err("a login has gone on for longer than it may".into());
        }
        // The guard is told at once; the network may have been asked a little later.
        let left = slot.left.is_some_and(|left| now - left > Nanos::from_secs(1));
        match left && session.login_since().is_some() {
            true => Err("a client that is gone is still logging in".into()),
            false => Ok(()),
        }
    }

    /// A session keeps what it read of its client's once, and of its server's once; and the errors of one turn of refusals
    /// with the last words behind them, which may be twice as long.
    fn judge_memory(slot: &Slot) -> Result<(), String> {
        let kept = [
            ("of its client's", slot.pair.session.held(), HELD_MAX),
            ("for its server", slot.pair.server.unsent(), FOR_SERVER_MAX),
            ("for its client", slot.pair.client.unsent(), BUFFER + (REFUSALS_MAX + 2) * ERROR_MAX),
        ];
        if let Some((what, bytes, _)) = kept.into_iter().find(|(_, bytes, most)| bytes > most) {
            return Err(format!("a session keeps too much {what}: {bytes} bytes"));
        }
        match slot.pair.session.under_way() {
            count if count > PENDING_MAX => {
                Err(format!("a session remembers {count} commands that are under way"))
            }
            _ => Ok(()),
        }
    }

    /// A permit stays out for as long as the server works for it, and not for longer than the server can be there.
    fn judge_permit(&self, slot: &Slot) -> Result<(), String> {
        let (broken, vanished) = (slot.far.borrow().broken, slot.far.borrow().vanished);
        let standing = if slot.is_closed() { None } else { slot.pair.session.standing() };
        let has = matches!(standing, Some(Standing::Held | Standing::Lent));
        let works = slot.connection.works_for().filter(|_| !slot.connection.is_administrator());
        if let Some(command) = works.filter(|_| !has && !broken && vanished.is_none()) {
            return Err(format!("the server still works for {command:?}, whose permit went back"));
        }
        // A transaction is work too while nothing of it runs, until the server has ended it.
        let open = slot.connection.is_in_transaction()
            && !slot.connection.is_administrator()
            && !slot.connection.is_closed();
        let ends = slot.ledger.over
            || slot.ledger.reset
            || slot.ledger.streams
            || slot.ledger.reasons.server().is_some();
        if open && !has && !broken && vanished.is_none() && !ends {
            return Err("a transaction is open at the server, and its permit went back".into());
        }
        let silence = self.terms.plan.silence_max + Nanos::from_secs(3);
        let gone = vanished.is_some_and(|since| self.now.get() - since > silence);
        match gone && standing.is_some() {
            true => Err("the permit of a server that is gone is still out".into()),
            false => Ok(()),
        }
    }

    /// Who holds what others wait for waits for nobody. Only locks that cost nothing may be more than the operator lets
    /// pass the queue.
    fn judge_wait(&self, slot: &Slot) -> Result<(), String> {
        let waits = slot.pair.session.standing() == Some(Standing::Waiting);
        let bounded = self.terms.plan.options.named_max < self.slots.len();
        // Once a side has broken the protocol, the model server only says yes, and forgets no lock for it.
        let excused = slot.ledger.over || bounded && !slot.connection.is_in_transaction();
        match waits && !excused && self.locks.holds(slot.connection.number()) {
            true => Err("a command waits in a session that holds a lock".into()),
            false => Ok(()),
        }
    }

    /// The gate knows of as many permits as sessions have, and lets in no more than it may.
    fn judge_gate(&self) -> Result<(), String> {
        let (mut server, mut census) = (0, Census::default());
        self.reach(&mut |gate, now| (server, census) = (gate.server(), gate.brief_census(now)));
        let count = |wanted: Standing| {
            let present = |slot: &&Slot| !slot.is_closed() && slot.pair.session.server() == Some(server);
            self.slots
                .iter()
                .filter(present)
                .filter(|slot| slot.pair.session.standing() == Some(wanted))
                .count()
        };
        let found = (census.running, census.lent + census.loans + census.asleep, census.waiting);
        let held = (count(Standing::Held), count(Standing::Lent), count(Standing::Waiting));
        if found != held {
            return Err(format!("running, lent, waiting: the gate knows {found:?}, sessions have {held:?}"));
        }
        self.gateway.verdict()
    }

    /// Permits count at the tenants whose sessions have them. A session that is about to become somebody else may count at
    /// any.
    pub(super) fn judge_shares(&self) -> Result<(), String> {
        let (mut server, mut census) = (0, Census::default());
        self.reach(&mut |gate, now| (server, census) = (gate.server(), gate.census(now)));
        let has = |slot: &&Slot| {
            let session = &slot.pair.session;
            let permit = matches!(session.standing(), Some(Standing::Held | Standing::Lent));
            permit && !slot.is_closed() && session.server() == Some(server)
        };
        let changes = |slot: &Slot| slot.ledger.reasons.login.is_some() || slot.ledger.over;
        let (unclear, sure): (Vec<&Slot>, Vec<&Slot>) =
            self.slots.iter().filter(has).partition(|slot| changes(slot));
        for tenant in census.tenants.iter() {
            let (found, name) = (tenant.in_flight, &tenant.name);
            let least = sure.iter().filter(|slot| slot.connection.user() == name).count();
            if found < least || found > least + unclear.len() {
                let unclear = unclear.len();
                return Err(format!(
                    "{name} has {found} permits, its sessions {least}, and {unclear} may be its"
                ));
            }
        }
        Ok(())
    }

    /// No tenant passes the queue with more sessions than it may.
    pub(super) fn judge_tenants(&self) -> Result<(), String> {
        let most = self.terms.plan.options.named_max;
        let mut exempt = 0;
        self.reach(&mut |gate, now| {
            exempt = gate.census(now).tenants.iter().map(|tenant| tenant.exempt).max().unwrap_or(0);
        });
        match exempt > most {
            true => Err(format!("{exempt} sessions of a tenant pass the queue, where {most} may")),
            false => Ok(()),
        }
    }

    /// With the last session everything is back.
    pub(super) fn judge_rest(&self) -> Result<(), String> {
        let mut census = Census::default();
        self.reach(&mut |gate, now| census = gate.census(now));
        let left =
            census.running + census.lent + census.loans + census.asleep + census.waiting + census.unqueued;
        if left != 0 || census.tenants.iter().any(|tenant| tenant.in_flight > 0 || tenant.waiting > 0) {
            return Err(format!("permits are left behind: {census:?}"));
        }
        match census.tenants.iter().any(|tenant| tenant.exempt > 0) {
            true => Err(format!("sessions that are gone are exempt from the queue: {census:?}")),
            false => Ok(()),
        }
    }
}
