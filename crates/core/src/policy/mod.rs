//! What a session may hold, and whether its next command may queue.
//!
//! Nothing queues in a session that may hold what others wait for: it would wait for a permit that only
//! those give back who wait for it. What only gives back never needs a permit at all. Where text and
//! answers leave a doubt, the session counts as holding.
//!
//! What is known comes from the text of commands and from status flags of answers. An error packet carries
//! no flag: a deadlock (1213) ended the transaction; anything else, a lock-wait time-out (1205) too, did
//! not. A server with `innodb_rollback_on_timeout=ON` does end it: there the transaction counts as open
//! until the next answer with a flag, and meanwhile stands aside as any idle one. What procedures and
//! triggers do inside is not seen; the liveness rule of the gate is there for that.

mod act;
mod digest;
mod hold;
mod reads;
mod seen;
#[cfg(test)]
mod table;
#[cfg(test)]
mod tests;
mod token;

pub use act::{Act, Statement};
pub use digest::digest_of;
pub use hold::Hold;
pub use reads::is_of_rows;
pub use seen::Seen;

use crate::admission::Outcome;
use crate::number_map::NumberMap;
use hold::Code;
use std::collections::VecDeque;

/// How a command may enter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// It goes on without a permit.
    Bypass,
    /// It needs a permit and takes it at once, if need be above the limit.
    Unqueued,
    /// It needs a permit and waits for it.
    Queued,
}

#[derive(Clone, Copy, Debug)]
pub struct Command<'a> {
    pub code: u8,
    /// SQL text of a query or a preparation, its head at least; `None` where it was not found.
    pub text: Option<&'a [u8]>,
    /// Whether the text is all there.
    pub whole: bool,
    /// Number of the prepared statement that it is about.
    pub statement: Option<u32>,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Reply {
    /// Last status flags in it, also those of a result that came before an error.
    pub status: Option<u16>,
    /// Code of the error packet that ended it.
    pub error: Option<u16>,
    /// Number of the statement that was prepared.
    pub statement: Option<u32>,
    /// Whether there was more than one result.
    pub many: bool,
}

/// Where a session stands after an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct After {
    /// A transaction, or a statement that was one by itself, has ended like this.
    pub ended: Option<Outcome>,
    /// A permit is needed on: a transaction is open, or something is in flight.
    pub open: bool,
    /// What ended, by the digests of its first statements; 0 where nothing is known.
    pub digest: u64,
    /// It was a KILL QUERY.
    pub killed: bool,
}

/// The statement that the server has at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtServer {
    /// Whether it sleeps or waits for a named lock, and so does not use the server.
    pub idles: bool,
    /// Whether it is one statement, and the server done with it when its result is written.
    pub single: bool,
    /// 0 where it is not known.
    pub digest: u64,
}

/// Statements that are remembered; the servers' own default for a whole server.
const PREPARED_MAX: usize = 16_384;
/// MariaDB's number for the statement that was prepared last.
const LAST_PREPARED: u32 = u32::MAX;
/// Statements of a transaction that make up its digest.
const DIGEST_STATEMENTS: u8 = 4;

#[derive(Debug)]
struct Pending {
    code: Code,
    statement: Option<Statement>,
    permit: bool,
    absent: bool,
}

/// One session, from its login on.
#[derive(Debug)]
pub struct Session {
    hold: Hold,
    administrator: bool,
    autocommit: bool,
    backslash_escapes: bool,
    pending: VecDeque<Pending>,
    /// Pending commands that run under a permit.
    under_permit: usize,
    prepared: NumberMap<u32, Statement>,
    last_prepared: Option<Statement>,
    /// More were prepared than are remembered.
    forgets: bool,
    /// The worst error since the transaction began.
    trouble: Option<Outcome>,
    digest: u64,
    statements: u8,
}

impl Session {
    /// After a login with this status. An administrator's commands all bypass.
    pub fn new(status: u16, administrator: bool) -> Self {
        let mut session = Self {
            hold: Hold::default(),
            administrator,
            autocommit: true,
            backslash_escapes: true,
            pending: VecDeque::new(),
            under_permit: 0,
            prepared: NumberMap::default(),
            last_prepared: None,
            forgets: false,
            trouble: None,
            digest: 0,
            statements: 0,
        };
        session.take_flags(status);
        session
    }

    /// Whether all its commands bypass, from now on: another user's.
    pub fn set_administrator(&mut self, administrator: bool) {
        self.administrator = administrator;
    }

    /// Whether all its commands bypass.
    pub fn is_administrator(&self) -> bool {
        self.administrator
    }

    /// It holds something that its texts do not say.
    pub fn holds_more(&mut self) {
        self.hold.apply(Act::Doubt);
    }

    /// Whether a statement outside of transactions is one by itself, by the last answer.
    pub fn commits_by_itself(&self) -> bool {
        self.autocommit
    }

    pub fn hold(&self) -> &Hold {
        &self.hold
    }

    /// Commands that were not answered yet.
    pub fn in_flight(&self) -> usize {
        self.pending.len()
    }

    /// The oldest command under a permit that was not answered yet.
    pub fn at_server(&self) -> Option<AtServer> {
        if self.under_permit == 0 {
            return None;
        }
        let pending = self.pending.iter().find(|pending| pending.permit)?;
        let statement = pending.statement.as_ref();
        Some(AtServer {
            idles: statement.is_some_and(|statement| statement.idles),
            single: statement.is_none_or(|statement| statement.single),
            digest: statement.map_or(0, |statement| statement.digest),
        })
    }

    /// Reads a command, once: while it waits it can be kept in this form.
    pub fn look(&self, command: &Command<'_>) -> Seen {
        let code = Code::of(command.code);
        let text =
            || Statement::read(command.text.unwrap_or_default(), command.whole, self.backslash_escapes);
        let statement = match code {
            Code::Query | Code::Prepare => Some(text()),
            Code::Execute => Some(self.prepared(command.statement)),
            _ => None,
        };
        let absent = code == Code::Execute && self.is_absent(command.statement);
        Seen { code, statement, closes: command.statement.filter(|_| code == Code::Close), absent }
    }

    /// How the command may enter. Changes nothing: it may be asked again. A session that has a permit needs
    /// no other one.
    pub fn passage(&self, seen: &Seen) -> Passage {
        let statement = seen.statement.as_ref();
        let computes = seen.code == Code::Prepare && statement.is_some_and(|s| s.calls);
        let aside = seen.code.bypasses() && !computes;
        if self.administrator || aside || statement.is_some_and(|s| s.bypass) {
            return Passage::Bypass;
        }
        let unread = |act: &Act| matches!(act, Act::Doubt | Act::Hidden);
        let doubt = seen.code == Code::Unknown || statement.is_some_and(|s| s.acts.iter().any(unread));
        match () {
            () if doubt || self.hold.is_any() => Passage::Unqueued,
            // It would wait for places, and use none of what they are for.
            () if statement.is_some_and(|s| s.tableless) => Passage::Bypass,
            () => Passage::Queued,
        }
    }

    /// Whether the server cannot know that statement either: nothing was forgotten, and none is being prepared whose number
    /// a client could guess.
    fn is_absent(&self, number: Option<u32>) -> bool {
        let known = match number {
            Some(LAST_PREPARED) => self.last_prepared.is_some(),
            Some(number) => self.prepared.contains_key(&number),
            None => false,
        };
        !known && !self.forgets && !self.pending.iter().any(|pending| pending.code == Code::Prepare)
    }

    fn prepared(&self, number: Option<u32>) -> Statement {
        let known = match number {
            Some(LAST_PREPARED) => {
                let sent = self.pending.iter().rev().find(|pending| pending.code == Code::Prepare);
                sent.and_then(|pending| pending.statement.as_ref()).or(self.last_prepared.as_ref())
            }
            Some(number) => self.prepared.get(&number),
            None => None,
        };
        known.cloned().unwrap_or_else(Statement::unknown)
    }

    /// The command is sent on; `passage` is how it entered.
    pub fn sent(&mut self, seen: Seen, passage: Passage) {
        let permit = passage != Passage::Bypass;
        if let Some(number) = seen.closes {
            self.prepared.remove(&number);
        }
        if seen.code.is_answered() {
            self.under_permit += usize::from(permit);
            let Seen { code, statement, absent, .. } = seen;
            self.pending.push_back(Pending { code, statement, permit, absent });
        }
    }

    /// The oldest command that was not answered has its answer.
    pub fn replied(&mut self, reply: &Reply) -> After {
        let Some(pending) = self.pending.pop_front() else {
            return After { open: self.is_open(), ..After::default() };
        };
        self.under_permit -= usize::from(pending.permit);
        let before = self.hold.transaction;
        if let Some(flags) = reply.status {
            self.take_flags(flags);
        }
        let ended = match reply.error {
            None => self.succeeded(&pending, reply, before),
            Some(error) => self.failed(&pending, error, before),
        };
        self.after(&pending, ended)
    }

    fn after(&mut self, pending: &Pending, ended: Option<Outcome>) -> After {
        if let Some(statement) = pending.statement.as_ref().filter(|_| pending.permit)
            && self.statements < DIGEST_STATEMENTS
        {
            self.statements += 1;
            self.digest = digest::follow(self.digest, statement.digest);
        }
        let digest = self.digest;
        if ended.is_some() || !self.is_open() {
            (self.digest, self.statements, self.trouble) = (0, 0, None);
        }
        After {
            ended: ended.filter(|_| !self.administrator),
            open: self.is_open(),
            digest,
            killed: pending.code != Code::Prepare
                && pending.statement.as_ref().is_some_and(|statement| statement.kills.is_some()),
        }
    }

    fn is_open(&self) -> bool {
        !self.administrator && (self.hold.transaction || self.under_permit > 0)
    }

    fn take_flags(&mut self, flags: u16) {
        self.hold.transaction = flags & status::IN_TRANSACTION != 0;
        self.autocommit = flags & status::AUTOCOMMIT != 0;
        self.backslash_escapes = flags & status::NO_BACKSLASH_ESCAPES == 0;
    }

    fn succeeded(&mut self, pending: &Pending, reply: &Reply, before: bool) -> Option<Outcome> {
        match (pending.code, &pending.statement) {
            (Code::Prepare, Some(statement)) => {
                self.keep(reply.statement, statement.clone());
                return None;
            }
            (Code::Reset, _) => self.start_again(),
            (_, Some(statement)) => {
                statement.acts.iter().for_each(|act| self.hold.apply(*act));
                let procedure = statement.acts.contains(&Act::Call);
                if statement.cut && reply.many && !procedure {
                    self.hold.apply(Act::Doubt);
                }
            }
            _ => {}
        }
        self.ended_well(pending, before)
    }

    fn start_again(&mut self) {
        let transaction = self.hold.transaction;
        self.hold = Hold::default();
        self.hold.transaction = transaction;
        self.prepared.clear();
        (self.last_prepared, self.forgets) = (None, false);
    }

    fn ended_well(&self, pending: &Pending, before: bool) -> Option<Outcome> {
        let acts = pending.statement.as_ref().map_or(&[][..], |statement| &statement.acts);
        let rolled_back = acts.contains(&Act::Rollback) || pending.code == Code::Reset;
        let outcome = if rolled_back { self.trouble.unwrap_or(Outcome::Success) } else { Outcome::Success };
        match (before, self.hold.transaction) {
            (true, false) => Some(outcome),
            // COMMIT AND CHAIN, and a BEGIN that commits what was open.
            (true, true) => {
                let ends = |act: &Act| matches!(act, Act::Commit | Act::Rollback | Act::Begin);
                acts.iter().any(ends).then_some(outcome)
            }
            (false, false) => (pending.permit && pending.code.is_work()).then_some(Outcome::Success),
            (false, true) => None,
        }
    }

    fn failed(&mut self, pending: &Pending, error: u16, before: bool) -> Option<Outcome> {
        let acts = pending.statement.as_ref().map_or(&[][..], |statement| &statement.acts);
        // Of several steps some were done, nobody knows which; what they give counts as kept.
        let takes = |act: &Act| act.takes() && *act != Act::Begin;
        if acts.len() > 1 && pending.code != Code::Prepare && acts.iter().any(takes) {
            self.hold.apply(Act::Doubt);
        }
        let outcome = hold::outcome(error);
        if hold::ends_transaction(error) && !self.hold.xa {
            self.hold.transaction = false;
            return pending.permit.then_some(outcome).or(before.then_some(outcome));
        }
        let doubt = !self.autocommit || acts.iter().any(|act| matches!(act, Act::Call | Act::Doubt));
        // Nothing ran where the server only said that it knows no such statement, or did not prepare one.
        let nothing = pending.absent && hold::is_unknown_statement(error) || acts == [Act::Hidden];
        self.hold.transaction |= doubt && !nothing && pending.permit && pending.code.is_work();
        if self.hold.transaction {
            self.trouble = Some(self.trouble.map_or(outcome, |known| hold::worse(known, outcome)));
            return None;
        }
        (pending.permit && pending.code.is_work()).then_some(outcome)
    }

    fn keep(&mut self, number: Option<u32>, statement: Statement) {
        self.last_prepared = Some(statement.clone());
        let full = self.prepared.len() >= PREPARED_MAX;
        self.forgets |= full;
        if let Some(number) = number.filter(|_| !full) {
            self.prepared.insert(number, statement);
        }
    }
}

/// Bits of the status word that the protocol's answers end with.
pub mod status {
    pub const IN_TRANSACTION: u16 = 0x0001;
    pub const AUTOCOMMIT: u16 = 0x0002;
    pub const NO_BACKSLASH_ESCAPES: u16 = 0x0200;
}
