//! Ends of sessions: each needs a reason that the world knows, and but for few of them nothing may be lost by it.

use super::World;
use super::slot::Slot;
use evenkeel_core::Nanos;

/// For so long a session's last words wait for a client that does not read.
const PARTING: Nanos = Nanos::from_secs(2);
/// Codes of the guard's last words: the server is gone, an account may not come in, a login takes too long, there are too many
/// clients, a transaction was idle for too long, a side has
/// said what is not the protocol.
const SERVER_GONE: u16 = 1053;
const ACCOUNT: u16 = 1045;
const LOGIN_TOO_SLOW: u16 = 1159;
const TOO_MANY: u16 = 1040;
const IDLE: u16 = 1927;
const MALFORMED: u16 = 1835;

/// What a client had heard of beginning and end of its session before it acted.
pub(super) struct Heard {
    gone: bool,
    told: bool,
    in_already: bool,
}

impl Heard {
    pub(super) fn of(slot: &Slot) -> Self {
        let (gone, told) = (slot.client.is_gone(), slot.ledger.last_words.is_some());
        Self { gone, told, in_already: slot.client.was_let_in() }
    }
}

impl World {
    /// The client has acted: what it has heard by now.
    pub(super) fn judge_ending(&mut self, at: usize, before: &Heard) -> Result<(), String> {
        let slot = &mut self.slots[at];
        if slot.client.was_let_in() && !before.in_already && slot.connection.came_barred() {
            return Err("a client was told that it is in, as an account that may not come in".into());
        }
        if slot.client.was_let_in() && slot.ledger.pending() == 0 {
            slot.ledger.reasons.login = None;
        }
        if self.slots[at].client.has_heard_end() && !before.gone {
            self.note(at, |_| "the client hears the end".to_owned());
        }
        let slot = &self.slots[at];
        if let Some(code) = slot.ledger.last_words.filter(|_| !before.told) {
            self.judge_last_words(slot, code)?;
        }
        match slot.client.has_heard_end() && !before.gone {
            true => self.judge_end(slot),
            false => Ok(()),
        }
    }

    /// The guard has told the server to forget a session.
    pub(super) fn judge_reset(slot: &Slot) -> Result<(), String> {
        let near = slot.near.borrow();
        match slot.client.is_gone() || near.has_ended() || near.broken {
            true => Ok(()),
            false => Err("the server was told to forget a session whose client is there".into()),
        }
    }

    /// The client has heard the guard's last words: are they true?
    fn judge_last_words(&self, slot: &Slot, code: u16) -> Result<(), String> {
        let true_words = match code {
            SERVER_GONE => slot.ledger.reasons.server().is_some(),
            // Nobody is let in of whom a server that ends does not tell who he is.
            ACCOUNT => slot.connection.is_barred() || slot.ledger.reasons.server().is_some(),
            LOGIN_TOO_SLOW => self.is_login_late(slot),
            TOO_MANY => slot.spare,
            IDLE => slot.ledger.reasons.idle,
            MALFORMED => slot.ledger.reasons.server().is_some(),
            _ => false,
        };
        match true_words || slot.ledger.over {
            true => Ok(()),
            false => Err(format!("the guard's last words were error {code}, and nobody had a reason for it")),
        }
    }

    /// The client has heard the end of its session.
    fn judge_end(&self, slot: &Slot) -> Result<(), String> {
        let (ledger, near, far) = (&slot.ledger, slot.near.borrow(), slot.far.borrow());
        if ledger.over {
            return Ok(());
        }
        let (server, left) = (ledger.reasons.server(), near.end_said.is_some());
        let (barred, login_late) = (slot.connection.is_barred(), self.is_login_late(slot));
        let told = ledger.last_words.is_some();
        let first = [server, near.end_said, far.guard_ended].into_iter().flatten().min();
        let late = slot.closed.zip(first).is_some_and(|(closed, first)| closed - first > PARTING);
        let reason = server.is_some() || left || login_late || ledger.reasons.idle && (told || late);
        // These two are always told why.
        if !reason && !((barred || slot.spare) && (told || late)) {
            let unread =
                if ledger.has_said_goodbye() { ", whose goodbye the server has not read" } else { "" };
            return Err(format!("a session ended, and nobody had a reason for it{unread}"));
        }
        let out_of_reach = far.broken || far.vanished.is_some() || ledger.reasons.login_cut;
        // Who leaves before he is in is not waited for, and neither is a stream, which has no end.
        let deserted = left && (ledger.streams || !slot.client.was_let_in());
        if out_of_reach || late || login_late || deserted || ledger.reasons.idle {
            return Ok(());
        }
        // Nobody can be asked about an account once the server has ended, and a farewell in one with the OK hides it.
        let unknown = server.is_some() && self.asks(slot) || ledger.last_words == Some(MALFORMED);
        match ledger.unheard(left, barred || unknown) {
            Some(what) => Err(format!("a session ended before its client had heard {what}")),
            None => Ok(()),
        }
    }

    /// Whether the guard has to ask the server for the account of a client that is let in.
    fn asks(&self, slot: &Slot) -> bool {
        let plan = &self.terms.plan;
        plan.backend.is_local() || plan.refuse_host_accounts || slot.connection.is_administrator()
    }

    fn is_login_late(&self, slot: &Slot) -> bool {
        let reasons = &slot.ledger.reasons;
        let late = |since| self.now.get() - since >= self.terms.plan.login_max;
        reasons.gave_way || reasons.login.is_some_and(late)
    }
}
