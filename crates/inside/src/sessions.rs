//! The gate inside the server: what sessions do at it.
//!
//! Sessions are spread over shards by their numbers, so that those that need not wait share no lock. Locks are taken in this order: what
//! is a session's own, its place, the gate; a shard's lock is held for no other one.

use crate::clock::Clock;
use crate::machine::{this_pthread, this_task};
use crate::options::{Mode, Options};
use crate::server::{Server, Thd};
use crate::session::{Entry, Held, Own, Session, Verdict, Waiting, lock, uninstalls};
use crate::tally::Tally;
use evenkeel_core::Nanos;
use evenkeel_core::admission::{Notice, SessionId};
use evenkeel_core::gate::{Class, Front, Gate, Lane, Place, lane_of_comment};
use evenkeel_core::number_map::NumberMap;
use evenkeel_core::policy::Passage;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

const SHARDS: usize = 64;
/// A session whose transactions follow each other within a moment goes on for a quantum: to hand its place on after each one would
/// cost the others a wake-up each time.
pub const MOMENT: Nanos = Nanos::from_millis(2);
const QUANTUM: Nanos = Nanos::from_millis(5);
const INTERRUPTED: u16 = 1317;

#[derive(Default)]
pub struct Shard {
    sessions: NumberMap<u64, Arc<Session>>,
    placed: Vec<Arc<Session>>,
    /// Kinds of transactions that are not of the usual sort.
    classes: Arc<NumberMap<u64, Class>>,
    pub threshold: Nanos,
    pub tally: Tally,
}

pub struct Keeper {
    pub gate: Gate,
    pub waiting: NumberMap<u64, Waiting>,
}

pub struct Sessions {
    pub server: Server,
    clock: Clock,
    keeper: Mutex<Keeper>,
    pub fronts: Arc<[Front; 2]>,
    shards: Vec<Mutex<Shard>>,
    pub options: Options,
    pub lease: AtomicU64,
    /// Everything passes: sessions come on threads of a pool, or something panicked.
    pub pooled: AtomicBool,
    pub broken: AtomicBool,
}

pub struct Statement<'a> {
    pub thread: u64,
    pub user: &'a [u8],
    /// The default database, where the server says it.
    pub database: &'a [u8],
    pub text: &'a [u8],
}

impl Sessions {
    pub fn new(server: Server, options: Options, limits: [usize; 2]) -> Self {
        let gate = Gate::new(limits, options.gate());
        Self {
            server,
            clock: Clock::start(),
            fronts: gate.fronts(),
            keeper: Mutex::new(Keeper { gate, waiting: NumberMap::default() }),
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            options,
            lease: AtomicU64::new(0),
            pooled: AtomicBool::new(false),
            broken: AtomicBool::new(false),
        }
    }

    pub fn now(&self) -> Nanos {
        self.clock.now()
    }

    pub fn shard(&self, thread: u64) -> &Mutex<Shard> {
        &self.shards[thread as usize % SHARDS]
    }

    fn known(&self, thread: u64) -> Option<Arc<Session>> {
        lock(self.shard(thread)).sessions.get(&thread).cloned()
    }

    fn session(&self, thd: Thd, thread: u64, user: &[u8]) -> Arc<Session> {
        // A number may come again with another session.
        if let Some(session) = self.known(thread).filter(|session| session.thd == thd) {
            return session;
        }
        let name = String::from_utf8_lossy(user);
        let tenant = self.at_gate(|keeper| keeper.gate.tenant(&name));
        let administrator = self.options.is_administrator(&name);
        let session = Arc::new(Session::new(&self.server, (thread, thd), (&name, tenant), administrator));
        lock(self.shard(thread)).sessions.insert(thread, Arc::clone(&session));
        session
    }

    /// A session shows itself, with its user's name.
    pub fn meet(&self, thd: Thd, thread: u64, user: &[u8]) {
        if self.options.mode() != Mode::Off && !user.is_empty() {
            self.session(thd, thread, user);
        }
    }

    /// The name of a session's user, once it has shown itself.
    pub fn user(&self, thread: u64) -> Option<Arc<str>> {
        self.known(thread).map(|session| Arc::clone(&session.user))
    }

    /// Does something at the gate, and wakes those that it concerns.
    pub fn at_gate<R>(&self, act: impl FnOnce(&mut Keeper) -> R) -> R {
        let mut keeper = lock(&self.keeper);
        let result = act(&mut keeper);
        let mut woken = Vec::new();
        while let Some(notice) = keeper.gate.notice() {
            let (SessionId(session), verdict) = match notice {
                Notice::Admitted(session, _) => (session, Verdict::Admitted),
                Notice::Rejected(session, rejection) => (session, Verdict::Rejected(rejection)),
            };
            if let Some(waiting) = keeper.waiting.remove(&session) {
                woken.push((waiting.session, verdict));
            }
        }
        drop(keeper);
        woken.into_iter().for_each(|(session, verdict)| session.decide(verdict));
        result
    }

    /// A statement of a client comes. It returns once the statement may run; false where it is refused.
    pub fn begins(&self, thd: Thd, statement: &Statement<'_>) -> bool {
        if self.options.mode() == Mode::Off || !self.server.is_client(thd) {
            return true;
        }
        let session = self.session(thd, statement.thread, statement.user);
        let mut own = lock(&session.own);
        if own.is_running() {
            own.begins_inner(statement.text.as_ptr());
            return true;
        }
        if self.is_next(&session, &mut own, statement.text) {
            return true;
        }
        let entry = self.read(&session, &mut own, statement);
        let Entry { passage, digest, bare, reads, chosen } = entry;
        let class = self.class(session.thread, digest);
        let learnt = if class == Some(Class::Long) { Lane::Long } else { Lane::Short };
        let mut lane = chosen.unwrap_or(learnt);
        if self.goes_on(&session, &mut own, &entry, lane) {
            return true;
        }
        let trifle = class == Some(Class::Trifle) && chosen != Some(Lane::Long);
        if trifle && reads && self.server.commits_by_itself(thd) {
            own.trifle = Some(digest);
            session.began(self.now());
            return true;
        }
        let tenant = own.tenant;
        own.busy = Nanos::ZERO;
        drop(own);
        let verdict = match passage {
            Passage::Unqueued => {
                self.fronts[lane as usize].enter_above();
                Verdict::Admitted
            }
            _ => self.enter(&session, &mut lane, digest * u64::from(chosen.is_none()), tenant),
        };
        match verdict {
            Verdict::Admitted => self.place(&session, lane, (digest, bare)),
            // The server ends it, if need be because its client is gone.
            Verdict::Killed if self.server.is_killed(thd) && self.server.ends_killed() => {}
            Verdict::Killed => {
                return !self.server.refuse(thd, INTERRUPTED, c"Query execution was interrupted");
            }
            Verdict::Rejected(rejection) => return self.refuse(thd, rejection),
        }
        true
    }

    /// What was learnt of a kind of transactions, as the session's shard knows it.
    pub fn class(&self, thread: u64, digest: u64) -> Option<Class> {
        lock(self.shard(thread)).classes.get(&digest).copied()
    }

    /// Whether it is the next statement of a transaction that has its place, and no more of it matters.
    fn is_next(&self, session: &Session, own: &mut Own, text: &[u8]) -> bool {
        let mut place = lock(&session.held);
        let Some(held) = place.as_mut().filter(|held| !held.kept && !held.bare) else { return false };
        if own.lists != self.options.lists_version() || !own.goes_on(&self.server, text) {
            return false;
        }
        self.notice_thread(session, &mut own.on_thread);
        self.comes_back(held);
        session.began(self.now());
        true
    }

    /// The client of a transaction sends its next statement.
    fn comes_back(&self, held: &mut Held) {
        if held.place.aside {
            self.at_gate(|keeper| keeper.gate.step_back(&mut held.place));
        }
        held.slept = false;
    }

    /// Whether the session has a place already, or needs none.
    fn goes_on(&self, session: &Session, own: &mut Own, entry: &Entry, lane: Lane) -> bool {
        let passes = entry.passage == Passage::Bypass;
        let mut place = lock(&session.held);
        if place.as_ref().is_none_or(|held| held.kept) {
            own.prompt = session.lasts(self.now()).0 < MOMENT;
            if passes || lane == Lane::Long {
                self.gives_back(session, &mut place);
            }
        }
        let Some(held) = place.as_mut().filter(|_| !passes) else { return passes };
        if held.kept {
            *held = Held { bare: entry.bare, ..Held::new(lane, entry.digest, held.since) };
            own.busy = Nanos::ZERO;
        } else {
            self.comes_back(held);
            if std::mem::take(&mut held.bare) {
                held.digest = entry.digest;
                if entry.chosen == Some(Lane::Long) {
                    self.at_gate(|keeper| keeper.gate.move_to_long(self.now(), &mut held.place));
                }
            }
        }
        session.began(self.now());
        true
    }

    /// What the statement is, and whose.
    fn read(&self, session: &Session, own: &mut Own, statement: &Statement<'_>) -> Entry {
        self.notice_thread(session, &mut own.on_thread);
        if own.lists != self.options.lists_version() {
            own.lists = self.options.lists_version();
            own.rules = self.options.rules();
            let name = String::from_utf8_lossy(statement.user);
            own.set_administrator(self.options.is_administrator(&name));
            own.met(&self.server, session.thd);
        }
        own.uninstalls = own.is_administrator() && uninstalls(statement.text);
        if own.uninstalls {
            self.options.open_until(self.now() + Nanos::from_secs(60));
            self.open();
        }
        let entry = own.begins(statement.text);
        if entry.passage == Passage::Bypass {
            return entry;
        }
        let ruled = || own.rules.lane(statement.user, statement.database, entry.digest);
        Entry { chosen: lane_of_comment(statement.text).or_else(ruled), ..entry }
    }

    fn place(&self, session: &Arc<Session>, lane: Lane, (digest, bare): (u64, bool)) {
        let now = self.now();
        // In this order: a place with the time of the statement before would look like one that lasts.
        session.began(now);
        *lock(&session.held) = Some(Held { bare, ..Held::new(lane, digest, now) });
        lock(self.shard(session.thread)).placed.push(Arc::clone(session));
    }

    /// Text goes to MySQL's log: while a command is at hand, that of a routine's statement.
    pub fn begins_inner(&self, thread: u64, text: &[u8]) {
        let Some(session) = self.known(thread) else { return };
        let mut own = lock(&session.own);
        if own.is_running() {
            own.begins_inner(text.as_ptr());
        }
    }

    /// A command, or one of several statements in it, has ended with this error.
    pub fn ends(&self, thd: Thd, thread: u64, (error, text): (u16, &[u8])) {
        if self.options.mode() == Mode::Off && self.is_empty() {
            return;
        }
        let Some(session) = self.known(thread) else { return };
        let now = self.now();
        let mut own = lock(&session.own);
        if own.ends_inner(text.as_ptr()) {
            return;
        }
        let (lasted, at_server) = session.lasts(now);
        let lasted = self.worked(&session, lasted);
        if own.went_on(&self.server, thd, error) {
            own.busy += lasted;
            session.ended(now);
            return;
        }
        let Some(after) = own.ends(&self.server, thd, error) else { return };
        if std::mem::take(&mut own.uninstalls) && error != 0 {
            self.options.open_until(Nanos::ZERO);
        }
        if let Some(digest) = own.trifle.take() {
            let mut shard = lock(self.shard(thread));
            let threshold = shard.threshold;
            shard.tally.trifle(digest, lasted, threshold);
            return;
        }
        let mut held = lock(&session.held);
        if held.is_none() {
            return;
        }
        if at_server {
            own.busy += lasted;
        }
        session.ended(now);
        if !after.open
            && let Some(one) = held.as_mut().filter(|held| !held.kept)
        {
            let mut shard = lock(self.shard(session.thread));
            let threshold = shard.threshold;
            shard.tally.ended(after.ended, one.digest, own.busy, threshold);
            drop(shard);
            one.kept = own.prompt && self.may_keep(one, now);
            if !one.kept {
                self.gives_back(&session, &mut held);
            }
        }
    }

    /// The session is gone, or another user's.
    pub fn parts(&self, thread: u64) {
        let session = lock(self.shard(thread)).sessions.remove(&thread);
        let Some(session) = session else { return };
        let held = lock(&session.held).take();
        lock(self.shard(thread)).placed.retain(|placed| placed.thread != thread);
        if let Some(held) = held {
            self.leave(held, self.now());
        }
    }

    /// Whether the session keeps its place after a transaction: others wait, and its quantum is not over.
    fn may_keep(&self, held: &Held, now: Nanos) -> bool {
        let Place { lane, aside, .. } = held.place;
        lane == Lane::Short && !aside && now - held.since < QUANTUM && self.fronts[lane as usize].is_shut()
    }

    /// The place goes on to the next one.
    pub fn gives_back(&self, session: &Session, held: &mut Option<Held>) {
        if let Some(held) = held.take() {
            lock(self.shard(session.thread)).placed.retain(|placed| placed.thread != session.thread);
            self.leave(held, self.now());
        }
    }

    pub fn leave(&self, held: Held, now: Nanos) {
        let lane = held.place.lane;
        if held.place.aside {
            self.at_gate(|keeper| keeper.gate.leave(now, held.place));
        } else if self.fronts[lane as usize].leave() {
            self.at_gate(|keeper| keeper.gate.pass_on(now, lane));
        }
    }

    /// Sessions whose events come on more than one thread belong to a pool of threads, of which a wait would hold one.
    fn notice_thread(&self, session: &Session, known: &mut usize) {
        let present = this_pthread();
        if *known != present {
            let is_pool = *known != 0;
            *known = present;
            session.task.store(this_task(), Relaxed);
            if is_pool {
                self.pooled.store(true, Relaxed);
                self.open();
            }
        }
    }

    /// Sessions that have a place.
    pub fn placed(&self) -> impl Iterator<Item = Arc<Session>> {
        self.shards.iter().flat_map(|shard| lock(shard).placed.clone())
    }

    /// What was counted since the last call; from when on a transaction is long from now on.
    pub fn take(&self, threshold: Nanos) -> Tally {
        let mut all = Tally::default();
        for shard in &self.shards {
            let mut shard = lock(shard);
            all.add(&std::mem::take(&mut shard.tally));
            shard.threshold = threshold;
        }
        all
    }

    /// The kinds that are not of the usual sort from now on.
    pub fn set_classes(&self, classes: &Arc<NumberMap<u64, Class>>) {
        self.shards.iter().for_each(|shard| lock(shard).classes = Arc::clone(classes));
    }

    pub fn running(&self, lane: Lane) -> usize {
        self.fronts[lane as usize].running()
    }
}
