//! What must never happen, and is judged: after every step what may have come of it, now and then the rest.

use super::script::Command;
use super::world::{BUFFER, SLOTS, Slot, World};
use evenkeel_core::Nanos;
use evenkeel_core::admission::Census;
use evenkeel_guard::proxy::parts::Standing;
use evenkeel_wire::packet::HEADER_BYTES;
use evenkeel_wire::relay::{HEAD_MAX, PENDING_MAX};

/// Most bytes of its client's that a session may keep: a read, and before it the head of a command that was not all there.
const HELD_MAX: usize = BUFFER + HEAD_MAX + HEADER_BYTES;
/// What may wait for a server that does not read: what was read of the client's, and what had been kept of it before.
const FOR_SERVER_MAX: usize = BUFFER + HELD_MAX + 100;
/// Commands that are refused in one turn, whatever was said ahead, and the longest error of the guard's.
const REFUSALS_MAX: usize = 16;
const ERROR_MAX: usize = 120;
/// For so long a session's last words wait for a client that does not read.
const PARTING: Nanos = Nanos::from_secs(2);
/// Codes of the guard's last words: the server is gone, nobody says whose account it is, a login takes too long.
const SERVER_GONE: u16 = 1053;
const ACCOUNT: u16 = 1045;
const LOGIN_TOO_SLOW: u16 = 1159;

impl World {
    /// What the server begins to work for.
    pub fn judge_work(slot: &Slot, command: &Command) -> Result<(), String> {
        let free = !command.is_work() || slot.connection.is_administrator();
        let standing = slot.pair.session.standing();
        match free || matches!(standing, Some(Standing::Held | Standing::Free | Standing::Aside)) {
            true => Ok(()),
            false => Err(format!("{command:?} runs without a permit")),
        }
    }

    /// The guard has told the server to forget a session.
    pub fn judge_reset(slot: &Slot) -> Result<(), String> {
        let near = slot.near.borrow();
        match slot.client.is_gone() || near.has_ended() || near.broken {
            true => Ok(()),
            false => Err("the server was told to forget a session whose client is there".into()),
        }
    }

    /// The client has acted: what it has heard by now of the end of its session, if it had not before.
    pub fn judge_ending(&self, slot: &Slot, was_gone: bool, was_told: bool) -> Result<(), String> {
        if let Some(code) = slot.ledger.last_words.filter(|_| !was_told) {
            let true_words = match code {
                SERVER_GONE | ACCOUNT => slot.ledger.server_ends.is_some(),
                LOGIN_TOO_SLOW => self.is_login_late(slot),
                _ => slot.ledger.babbled,
            };
            if !true_words {
                return Err(format!(
                    "the guard's last words were error {code}, and nobody had a reason for it"
                ));
            }
        }
        if slot.client.has_heard_end() && !was_gone { self.judge_end(slot) } else { Ok(()) }
    }

    /// The client has heard the end of its session: there is a reason for it, and unless the server was lost or the client
    /// took too long, it has heard all that was said.
    fn judge_end(&self, slot: &Slot) -> Result<(), String> {
        let (ledger, near, far) = (&slot.ledger, slot.near.borrow(), slot.far.borrow());
        let (left, login_late) = (near.end_said.is_some(), self.is_login_late(slot));
        if ledger.babbled {
            return Ok(());
        }
        if ledger.server_ends.is_none() && !left && !login_late {
            return Err("a session ended, and nobody had a reason for it".into());
        }
        let first = [ledger.server_ends, near.end_said, far.guard_ended].into_iter().flatten().min();
        let late = slot.closed.zip(first).is_some_and(|(closed, first)| closed - first > PARTING);
        if far.broken || far.vanished.is_some() || late || ledger.login.is_some() {
            return Ok(());
        }
        match ledger.unheard(left) {
            Some(what) => Err(format!("a session ended before its client had heard {what}")),
            None => Ok(()),
        }
    }

    fn is_login_late(&self, slot: &Slot) -> bool {
        slot.ledger.login.is_some_and(|since| self.now.get() - since >= self.terms.plan.login_max)
    }

    /// The guard has done something with a session, by which it may have passed the queue.
    pub fn judge_passage(&self, at: usize) -> Result<(), String> {
        let ledger = &self.slots[at].ledger;
        match self.gateway.was_passed() && !ledger.may_hold && ledger.server_ends.is_none() {
            true => Err("a session passed the queue, and never held anything".into()),
            false => Ok(()),
        }
    }

    /// Whoever takes no answers is not asked for more: he could be refused for ever, and each refusal kept for him. `blocked` is what
    /// waited before the guard did something, where his answers did.
    pub fn judge_reading(&self, at: usize, blocked: Option<(usize, usize)>) -> Result<(), String> {
        let slot = &self.slots[at];
        let (unheard, unread) = slot.near.borrow().waiting();
        let is_read = blocked.is_some_and(|before| unheard == before.0 && unread < before.1);
        match is_read && slot.pair.client.is_blocked() {
            true => Err("a client was read on that takes no answers".into()),
            false => Ok(()),
        }
    }

    pub fn judge(&self, at: usize) -> Result<(), String> {
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
            ("bytes of its client's", slot.pair.session.held(), HELD_MAX),
            ("bytes for its server", slot.pair.server.unsent(), FOR_SERVER_MAX),
            ("bytes for its client", slot.pair.client.unsent(), BUFFER + (REFUSALS_MAX + 2) * ERROR_MAX),
            ("commands that are under way", slot.pair.session.under_way(), PENDING_MAX),
        ];
        match kept.into_iter().find(|(_, count, most)| count > most) {
            Some((what, count, _)) => Err(format!("a session keeps {count} {what}")),
            None => Ok(()),
        }
    }

    /// A permit stays out for as long as the server works for it, and not for longer than the server can be there.
    fn judge_permit(&self, slot: &Slot) -> Result<(), String> {
        let (broken, vanished) = (slot.far.borrow().broken, slot.far.borrow().vanished);
        let standing = if slot.is_closed() { None } else { slot.pair.session.standing() };
        let has = matches!(standing, Some(Standing::Held | Standing::Free | Standing::Aside));
        let owes = !has && !broken && vanished.is_none() && !slot.connection.is_administrator();
        if let Some(command) = slot.connection.works_for().filter(|_| owes) {
            return Err(format!("the server still works for {command:?}, whose permit went back"));
        }
        // A transaction is work too while nothing of it runs, until the server has ended it.
        let open = slot.connection.is_in_transaction() && !slot.connection.is_closed();
        let ends = slot.ledger.reset || slot.ledger.server_ends.is_some();
        if open && owes && !ends {
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
        let bounded = self.terms.plan.options.named_max < SLOTS;
        let excused = bounded && !slot.connection.is_in_transaction();
        match waits && !excused && self.locks.holds(slot.connection.number()) {
            true => Err("a command waits in a session that holds a lock".into()),
            false => Ok(()),
        }
    }

    /// The gate knows of as many permits as sessions have, and lets in no more than it may.
    fn judge_gate(&self) -> Result<(), String> {
        let (mut server, mut census) = (0, Census::default());
        self.reach(&mut |gate, _| (server, census) = (gate.server(), gate.brief_census()));
        let present = |slot: &&Slot| !slot.is_closed() && slot.pair.session.server() == Some(server);
        let count = |wanted: Standing| {
            let has = |slot: &&Slot| slot.pair.session.standing() == Some(wanted);
            self.slots.iter().filter(present).filter(has).count()
        };
        let found = (census.running(), census.aside, census.waiting() + census.being_killed);
        let held = (count(Standing::Held), count(Standing::Aside), count(Standing::Waiting));
        if found != held {
            return Err(format!("running, aside, waiting: the gate knows {found:?}, sessions have {held:?}"));
        }
        if census.aside > census.aside_max {
            return Err(format!("{} stand aside, where {} may", census.aside, census.aside_max));
        }
        match census.lanes.iter().find(|lane| lane.waiting > 0 && lane.running < lane.limit) {
            Some(lane) => Err(format!("a place is free while somebody waits: {lane:?}")),
            None => self.gateway.verdict(),
        }
    }

    /// Permits count at the tenants whose sessions have them, where that does not change just now; and no tenant passes the
    /// queue with more sessions than it may.
    pub fn judge_tenants(&self) -> Result<(), String> {
        let (mut server, mut census) = (0, Census::default());
        self.reach(&mut |gate, now| (server, census) = (gate.server(), gate.census(now)));
        let has = |slot: &&Slot| {
            let session = &slot.pair.session;
            let permit =
                matches!(session.standing(), Some(Standing::Held | Standing::Free | Standing::Aside));
            permit && !slot.is_closed() && session.server() == Some(server)
        };
        let (unclear, sure): (Vec<&Slot>, Vec<&Slot>) =
            self.slots.iter().filter(has).partition(|slot| slot.ledger.login.is_some());
        let most = self.terms.plan.options.named_max;
        for tenant in census.tenants.iter() {
            let (found, exempt, name) = (tenant.in_flight(), tenant.exempt, &tenant.name);
            let least = sure.iter().filter(|slot| slot.connection.user() == name).count();
            if found < least || found > least + unclear.len() {
                let unclear = unclear.len();
                return Err(format!(
                    "{name} has {found} permits, its sessions {least}, and {unclear} may be its"
                ));
            }
            if exempt > most {
                return Err(format!("{exempt} sessions of {name} pass the queue, where {most} may"));
            }
        }
        Ok(())
    }

    /// With the last session everything is back.
    pub fn judge_rest(&self) -> Result<(), String> {
        let mut census = Census::default();
        self.reach(&mut |gate, now| census = gate.census(now));
        let out = census.running() + census.aside + census.waiting();
        let left: usize =
            census.tenants.iter().map(|tenant| tenant.in_flight() + tenant.waiting + tenant.exempt).sum();
        match out + left {
            0 => Ok(()),
            _ => Err(format!("permits or exemptions are left behind: {census:?}")),
        }
    }
}
