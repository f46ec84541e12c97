//! A session of the server, as the gate sees it.

use crate::server::{Server, Thd};
use evenkeel_core::Nanos;
use evenkeel_core::admission::{Rejection, TenantId};
use evenkeel_core::gate::{Lane, Place, Rules, Stand};
use evenkeel_core::policy::{After, Command, Passage, Reply, Seen, Session as Policy, is_of_rows, status};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What a lock protects is whole also after a panic: each call changes one thing.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A session, from its first statement on.
pub struct Session {
    pub thread: u64,
    pub thd: Thd,
    pub user: Arc<str>,
    /// Its thread's number for the kernel.
    pub task: AtomicU32,
    pub own: Mutex<Own>,
    /// The place that its transaction runs in.
    pub held: Mutex<Option<Held>>,
    /// When the present statement began, or when the last one ended.
    pub since: AtomicU64,
    /// Whether a statement is at the server.
    pub at_server: AtomicU32,
    seat: (Mutex<Option<Verdict>>, Condvar),
}

#[derive(Clone, Copy, Debug)]
pub struct Held {
    pub place: Place,
    /// Digest of the first statement; 0 where it is not known.
    pub digest: u64,
    /// When the watch looks at it again.
    pub look: Nanos,
    /// Only BEGIN came yet, which says nothing of what follows.
    pub bare: bool,
    /// Whether it did not use the server at the last look.
    pub slept: bool,
    /// When the session got the place.
    pub since: Nanos,
    /// The transaction has ended; the place is the session's own for a moment longer, since its next one is due at once.
    pub kept: bool,
    /// When the statement began that was counted as a runaway last.
    pub ran_away: Nanos,
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Admitted,
    /// It goes on without a place: it was killed, and the server will see that.
    Killed,
    Rejected(Rejection),
}

/// A session that waits.
pub struct Waiting {
    pub session: Arc<Session>,
    pub stand: Stand,
}

impl Session {
    pub fn new(
        server: &Server,
        (thread, thd): (u64, Thd),
        (user, tenant): (&str, TenantId),
        administrator: bool,
    ) -> Self {
        Self {
            thread,
            thd,
            user: Arc::from(user),
            task: AtomicU32::new(0),
            own: Mutex::new(Own::new(server, thd, tenant, administrator)),
            held: Mutex::default(),
            since: AtomicU64::new(0),
            at_server: AtomicU32::new(0),
            seat: (Mutex::default(), Condvar::new()),
        }
    }

    pub fn began(&self, now: Nanos) {
        self.since.store(now.0, Relaxed);
        self.at_server.store(1, Relaxed);
    }

    pub fn ended(&self, now: Nanos) {
        self.since.store(now.0, Relaxed);
        self.at_server.store(0, Relaxed);
    }

    /// How long the present statement has run, or for how long nothing has come since; and whether it is the former.
    pub fn lasts(&self, now: Nanos) -> (Nanos, bool) {
        (now - Nanos(self.since.load(Relaxed)), self.at_server.load(Relaxed) != 0)
    }

    /// Waits for the verdict, or for so long.
    pub fn wait(&self, longest: Duration) -> Option<Verdict> {
        let (seat, changed) = (&self.seat.0, &self.seat.1);
        let waited = changed.wait_timeout_while(lock(seat), longest, |verdict| verdict.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).0.take()
    }

    pub fn decide(&self, verdict: Verdict) {
        *lock(&self.seat.0) = Some(verdict);
        self.seat.1.notify_one();
    }
}

/// What only the session's own thread looks at.
pub struct Own {
    policy: Policy,
    pub tenant: TenantId,
    /// The version of the operator's lists that it knows, and the rules among them.
    pub lists: u64,
    pub rules: Arc<Rules>,
    /// The command at hand; what comes meanwhile belongs to it.
    running: Option<Running>,
    /// Where texts lie of statements that routines and triggers of the command at hand have begun, and not ended.
    inner: Vec<usize>,
    /// The command at hand is one that goes on with its transaction, and was not read.
    goes_on: bool,
    results: u32,
    /// Without autocommit: whether a transaction may be open, which the server does not say.
    touched: bool,
    /// It asked for UNINSTALL.
    pub uninstalls: bool,
    /// Whether its last statement came within a moment of the one before.
    pub prompt: bool,
    /// The digest of a trifle that runs without a place.
    pub trifle: Option<u64>,
    /// Time at the server of the transaction's statements.
    pub busy: Nanos,
    /// The thread that its events come on.
    pub on_thread: usize,
}

/// Whether it asks for UNINSTALL, which sends the events of idle sessions to nobody: their places would never come back, and who waits
/// for them would wait for ever.
pub fn uninstalls(text: &[u8]) -> bool {
    let verb = text.trim_ascii_start().get(..9).unwrap_or_default();
    verb.eq_ignore_ascii_case(b"uninstall")
}

/// How a statement may enter.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub passage: Passage,
    pub digest: u64,
    /// It only begins a transaction.
    pub bare: bool,
    /// It only reads, in a session that holds nothing.
    pub reads: bool,
    /// The lane that its comment says, or a rule.
    pub chosen: Option<Lane>,
}

#[derive(Clone, Copy, Debug)]
struct Running {
    passage: Passage,
    ends: bool,
    /// How many statements the command has, as far as its text says: for each a result comes.
    statements: u32,
}

/// Bytes of a statement that are read: the head says what it does.
const HEAD: usize = 16_384;
/// Deeper than MariaDB and MySQL let routines call each other by default.
const INNER_MAX: usize = 64;
const COM_QUERY: u8 = 3;
const DEADLOCK: u16 = 1213;

impl Own {
    fn new(server: &Server, thd: Thd, tenant: TenantId, administrator: bool) -> Self {
        let mut own = Self {
            policy: Policy::new(status::AUTOCOMMIT, administrator),
            tenant,
            lists: 0,
            rules: Arc::default(),
            running: None,
            inner: Vec::new(),
            goes_on: false,
            results: 0,
            touched: false,
            uninstalls: false,
            prompt: false,
            trifle: None,
            busy: Nanos::ZERO,
            on_thread: 0,
        };
        own.policy = Policy::new(own.status(server, thd), administrator);
        own
    }

    pub fn is_administrator(&self) -> bool {
        self.policy.is_administrator()
    }

    pub fn set_administrator(&mut self, administrator: bool) {
        self.policy.set_administrator(administrator);
    }

    /// A statement of a routine or a trigger begins.
    pub fn begins_inner(&mut self, text: *const u8) {
        if self.inner.len() == INNER_MAX {
            self.inner.remove(0);
        }
        self.inner.push(text as usize);
    }

    /// Whether it was such a statement that has ended. Servers say so of each, with its text where it lay before; a statement that is
    /// none ends the command at hand, with all that its routines have begun.
    pub fn ends_inner(&mut self, text: *const u8) -> bool {
        let at = self.inner.iter().rposition(|inner| *inner == text as usize);
        self.inner.truncate(at.unwrap_or(0));
        at.is_some()
    }

    /// Whether a command is at hand: what comes now is a statement of a routine. Where a text has fewer statements than it seems to, the
    /// next commands count as the rest.
    pub fn is_running(&self) -> bool {
        self.running.is_some() || self.goes_on
    }

    /// A statement comes.
    pub fn begins(&mut self, text: &[u8]) -> Entry {
        let head = text.get(..HEAD).unwrap_or(text);
        let command =
            Command { code: COM_QUERY, text: Some(head), whole: head.len() == text.len(), statement: None };
        let seen: Seen = self.policy.look(&command);
        let hold = self.policy.hold();
        let passage = self.policy.passage(&seen);
        let entry = Entry {
            passage,
            digest: seen.digest(),
            bare: seen.only_begins(),
            reads: seen.reads() && !hold.is_any(),
            chosen: None,
        };
        let (ends, statements) = (seen.ends_transaction(), seen.statements());
        self.running = Some(Running { passage, ends, statements });
        self.results = 0;
        self.policy.sent(seen, passage);
        entry
    }

    /// A statement comes in a transaction that has its place. Whether no more of it matters than that: most statements are such, and
    /// to read their texts would cost the server some percent.
    pub fn goes_on(&mut self, server: &Server, text: &[u8]) -> bool {
        self.goes_on = self.policy.hold().transaction && server.tells_locks() && is_of_rows(text);
        self.goes_on
    }

    /// Whether such a statement has ended, and the transaction is open as before. Where it is not, the policy has to know.
    pub fn went_on(&mut self, server: &Server, thd: Thd, error: u16) -> bool {
        if !std::mem::take(&mut self.goes_on) {
            return false;
        }
        let open = error == 0 && server.has_begun(thd);
        if !open {
            self.running = Some(Running { passage: Passage::Queued, ends: false, statements: 1 });
            self.results = 0;
            self.policy.sent(Seen::of_rows(), Passage::Queued);
        }
        open
    }

    /// The command, or a statement of it, has ended with this error: where the session stands, once all have.
    pub fn ends(&mut self, server: &Server, thd: Thd, error: u16) -> Option<After> {
        let Some(Running { passage, ends, statements }) = self.running else {
            return Some(self.came_back(server, thd));
        };
        self.results += 1;
        if self.results < statements && error == 0 {
            return None;
        }
        self.running = None;
        let ended = error == DEADLOCK || ends && statements == 1 && error == 0;
        self.touched = !ended && (self.touched || passage != Passage::Bypass);
        let reply = Reply {
            status: Some(self.status(server, thd)),
            error: (error != 0).then_some(error),
            statement: None,
            many: self.results > 1,
        };
        let after = self.policy.replied(&reply);
        self.see_locks(server, thd);
        Some(after)
    }

    /// A command ended that the gate did not see begin: it was reset, or the gate was off.
    fn came_back(&mut self, server: &Server, thd: Thd) -> After {
        self.touched &= !server.commits_by_itself(thd);
        let status = self.status(server, thd);
        let open = status & status::IN_TRANSACTION != 0;
        if self.policy.hold().transaction != open {
            self.policy = Policy::new(status, self.policy.is_administrator());
        }
        self.see_locks(server, thd);
        After { open, ..After::default() }
    }

    /// The session is seen for the first time, or the gate was off meanwhile: without autocommit a transaction may be open.
    pub fn met(&mut self, server: &Server, thd: Thd) {
        self.touched |= !server.commits_by_itself(thd);
        let status = self.status(server, thd);
        if status & status::IN_TRANSACTION != 0 && !self.policy.hold().transaction {
            self.policy = Policy::new(status, self.policy.is_administrator());
        }
        self.see_locks(server, thd);
    }

    /// Locks that a routine took, and such as it holds no more, as after COM_RESET_CONNECTION: where the server says so.
    fn see_locks(&mut self, server: &Server, thd: Thd) {
        let hold = self.policy.hold();
        let (any, solid) = (hold.is_any(), hold.is_solid() || hold.xa);
        match server.holds_locks(thd) {
            Some(true) if !any => self.policy.holds_more(),
            Some(false) if any && !solid => {
                self.policy = Policy::new(self.status(server, thd), self.policy.is_administrator());
            }
            _ => {}
        }
    }

    /// The status word that an answer of the server would end with.
    fn status(&mut self, server: &Server, thd: Thd) -> u16 {
        let by_itself = server.commits_by_itself(thd);
        self.touched &= !by_itself;
        let open = server.has_begun(thd) || self.touched;
        let flag = |set: bool, flag: u16| if set { flag } else { 0 };
        flag(open, status::IN_TRANSACTION) | flag(by_itself, status::AUTOCOMMIT)
    }
}

impl Held {
    pub fn new(lane: Lane, digest: u64, since: Nanos) -> Self {
        Self {
            place: Place { lane, ..Place::default() },
            digest,
            look: Nanos::ZERO,
            bare: false,
            slept: false,
            since,
            kept: false,
            ran_away: Nanos::MAX,
        }
    }
}
