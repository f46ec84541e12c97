//! One thread of load: its own sessions, its own part of the arrivals, one loop.
//!
//! The loop sends what is due, waits for the next socket or instant, and reads. Every session belongs to one
//! thread, so nothing is locked; the price is that a thread cannot use the free session of another.
//!
//! Instants. `send` is read right before the system call that hands the first bytes of a request to the
//! kernel: what happens earlier is our own lag, the call itself counts as service, because on a loopback the
//! server may run inside it. `done` is read right after the call that brought the last byte. A request on a
//! fresh connection is sent when it starts to connect and done when its connection is closed.

mod connect;
mod dispatch;
mod exchange;
mod finish;
mod told;

use super::parts::Asking;
use super::poller::{Looks, Poller, TIMER};
use super::progress::{Gauges, Usage};
use super::recorder::Recorder;
use super::request_log::LogSender;
use super::result::LoadResult;
use super::schedule::{Arrival, ArrivalPlan, LoadError, LoadPlan, Result, Schedule, SessionPolicy, Sparing};
use super::session::{Deadline, Deadlines, Session};
use super::written::Script;
use crate::workload::Client;
use evenkeel_core::Nanos;
use evenkeel_core::random::{Random, Seed};
use evenkeel_os::Endpoint;
use evenkeel_os::Stop;
use evenkeel_os::clock::monotonic;
use evenkeel_os::tls::TlsSetup;
use evenkeel_wire::{Account, Channel, Encryption};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io;
use std::sync::atomic::AtomicUsize;

/// Nothing sleeps longer, because the switch that stops a run has no descriptor to wait for.
const SLEEP_MAX: Nanos = Nanos::from_millis(100);
const BUFFER_BYTES: usize = 64 << 10;
/// Arrivals that may wait for a session, over all threads: 64 MB. Above it the oldest end as unsent, at the
/// age they have reached.
const WAITING_MAX: usize = 4 << 20;
/// How long a drain may still take after somebody asked to stop.
const STOP_DRAIN: Nanos = Nanos::from_millis(500);

/// What all threads of a run read.
pub(super) struct Shared<'a> {
    pub plan: &'a LoadPlan,
    pub stop: &'a Stop,
    pub scripts: Vec<Script>,
    pub endpoints: Vec<Endpoint>,
    /// The endpoint that answered last.
    pub endpoint: AtomicUsize,
    pub tls: Option<TlsSetup>,
    pub account: Account,
    pub channel: Channel,
    pub encryption: Encryption,
    /// Threads that take part: never more than sessions.
    pub threads: usize,
}

struct ClientSlot {
    client: Box<dyn Client>,
    random: Random,
}

pub(super) struct Worker<'a> {
    shared: &'a Shared<'a>,
    thread: usize,
    gauges: &'a Gauges,
    poller: Poller,
    buffer: Vec<u8>,
    sessions: Vec<Session>,
    sessions_max: usize,
    per_request: bool,
    /// Sessions without a request; the last one used is used first, so that few stay warm.
    idle: Vec<u32>,
    vacant: Vec<u32>,
    opening: usize,
    open: usize,
    open_max: usize,
    busy: usize,
    waiting: VecDeque<Arrival>,
    waiting_max: usize,
    clients: Vec<ClientSlot>,
    /// Draws the kind of a request that was never sent.
    spare: ClientSlot,
    closed: bool,
    request_seed: Seed,
    schedule: Schedule,
    thinking: BinaryHeap<Reverse<(Nanos, u32)>>,
    /// Arrivals of closed clients that do not think.
    at_once: VecDeque<Arrival>,
    /// Ends of the pauses of clients that wait in the middle of a transaction.
    pausing: BinaryHeap<Reverse<Deadline>>,
    requests: Deadlines,
    logins: Deadlines,
    abandoned: Deadlines,
    connect_after: Nanos,
    backoff: Nanos,
    /// When bytes of the server came last, on any session.
    heard: Nanos,
    lost: u64,
    reconnects: u64,
    refusals: usize,
    opening_error: Option<LoadError>,
    recorder: Recorder,
    usage: Usage,
    looks: Looks,
    /// Where the parts of some response times are to be known.
    asking: Option<Asking>,
    /// Whether a request may ever have to wait for a session.
    may_wait: bool,
    sparing: Sparing,
    measure_start: Nanos,
    measure_end: Nanos,
    drain_end: Nanos,
    stopped: bool,
}

/// The share of thread `thread` in `total` things; the first threads take what does not divide.
pub(super) fn share(total: usize, thread: usize, threads: usize) -> usize {
    total / threads + usize::from(thread < total % threads)
}

impl<'a> Worker<'a> {
    pub fn new(
        shared: &'a Shared<'a>,
        thread: usize,
        gauges: &'a Gauges,
        log: Option<LogSender>,
    ) -> io::Result<Self> {
        let plan = shared.plan;
        let request_seed = plan.seed.child("requests");
        Ok(Self {
            shared,
            thread,
            gauges,
            poller: Poller::new(plan.busy_poll)?,
            buffer: vec![0; BUFFER_BYTES],
            sessions: Vec::new(),
            sessions_max: share(plan.sessions.max() as usize, thread, shared.threads),
            per_request: matches!(plan.sessions, SessionPolicy::PerRequest { .. }),
            idle: Vec::new(),
            vacant: Vec::new(),
            opening: 0,
            open: 0,
            open_max: 0,
            busy: 0,
            waiting: VecDeque::new(),
            waiting_max: WAITING_MAX / shared.threads,
            clients: Vec::new(),
            spare: spare_client(shared, thread, request_seed),
            closed: matches!(plan.arrivals, ArrivalPlan::Closed { .. }),
            request_seed,
            schedule: Schedule::new(None, (thread, shared.threads), Nanos::ZERO, Nanos::MAX),
            thinking: BinaryHeap::new(),
            at_once: VecDeque::new(),
            pausing: BinaryHeap::new(),
            requests: Deadlines::default(),
            logins: Deadlines::default(),
            abandoned: Deadlines::default(),
            connect_after: Nanos::ZERO,
            backoff: Nanos::ZERO,
            heard: Nanos::ZERO,
            lost: 0,
            reconnects: 0,
            refusals: 0,
            opening_error: None,
            recorder: Recorder::new(&*plan.workload, log),
            usage: Usage::default(),
            looks: Looks::default(),
            asking: plan.parts.map(|parts| {
                let seed = plan.seed.child("parts").numbered(thread as u64);
                Asking::new(parts, plan.workload.statements().len(), seed)
            }),
            may_wait: may_wait(shared, thread),
            sparing: Sparing::new(None, Nanos::ZERO, Nanos::ZERO),
            measure_start: Nanos::MAX,
            measure_end: Nanos::MAX,
            drain_end: Nanos::MAX,
            stopped: false,
        })
    }

    /// Runs the load from `start` on, and gives what it brought.
    pub fn run(mut self, start: Nanos) -> Result<LoadResult> {
        self.begin(start)?;
        loop {
            let now = monotonic();
            self.looks.now(now);
            self.usage.sample(now, self.measure_start, self.measure_end);
            self.end_pauses(now);
            self.dispatch_due(now);
            self.expire(now);
            self.look_at_stop(now);
            self.publish();
            if self.is_over(now) {
                break;
            }
            self.wait(now).map_err(LoadError::cannot("wait for sockets"))?;
        }
        self.await_writes()?;
        Ok(self.finish())
    }

    fn begin(&mut self, start: Nanos) -> Result<()> {
        let plan = self.shared.plan;
        let length = plan.warm_up + plan.measure;
        self.measure_start = start + plan.warm_up;
        let max = plan.warm_up_max.map(|max| share(max as usize, self.thread, self.shared.threads).max(1));
        self.sparing = Sparing::new(max, start, plan.warm_up);
        self.measure_end = start + length;
        self.drain_end = self.measure_end + plan.drain;
        self.recorder.measure(self.measure_start, self.measure_end);
        let process = super::schedule::process(plan)?;
        self.schedule = Schedule::new(process, (self.thread, self.shared.threads), start, length);
        self.begin_closed(start);
        Ok(())
    }

    /// Waits for a socket or the next instant, and reads what is there.
    fn wait(&mut self, now: Nanos) -> io::Result<()> {
        let due = self.next_due(now);
        let asks = self.may_wait && self.idle.is_empty();
        let waited = self.before_wait();
        let slept = self.poller.wait_watched(now, due, asks, &mut self.looks)?;
        self.woke(waited, slept);
        for index in 0..self.poller.ready() {
            let now = match self.poller.token(index) {
                TIMER => monotonic(),
                token => self.handle(token),
            };
            if index == 0 {
                self.looks.found(now, due, slept);
            }
            if self.poller.token(index) != TIMER {
                self.end_silence(self.looks.since());
            }
            // Between two events of a large batch an arrival may have become due.
            if self.schedule.peek().is_some_and(|arrival| arrival.at <= now) {
                self.dispatch_due(now);
            }
            self.pump(now);
        }
        Ok(())
    }

    fn next_due(&mut self, now: Nanos) -> Nanos {
        if !self.at_once.is_empty() {
            return now;
        }
        let mut due = now + SLEEP_MAX;
        let arriving = self.schedule.peek().map(|arrival| arrival.at);
        let thinking = self.thinking.peek().map(|first| first.0.0);
        // Where every session is at work an arrival can only wait for the next answer, which takes it in: to wake
        // up for it would cost the CPU and change nothing before its timeout.
        let later = if self.is_full() { self.shared.plan.timeout } else { Nanos::ZERO };
        let mut consider = |instant: Nanos| due = due.min(instant);
        arriving.into_iter().chain(thinking).for_each(|instant| consider(instant + later));
        self.next_pause().into_iter().for_each(&mut consider);
        if let Some(arrival) = self.waiting.front() {
            consider(arrival.at + self.shared.plan.timeout);
            // Once that instant is past, only a session that ends makes room.
            if self.connect_after > now && self.opening < self.may_open() {
                consider(self.connect_after);
            }
        }
        let sessions = &self.sessions;
        let firsts = [
            self.requests.first(|deadline| is_live(sessions, deadline)),
            self.abandoned.first(|deadline| is_live(sessions, deadline)),
            self.logins.first(|deadline| is_opening(sessions, deadline)),
        ];
        firsts.iter().flatten().for_each(|deadline| consider(deadline.at));
        for instant in [self.measure_start, self.measure_end, self.drain_end] {
            if instant > now {
                consider(instant);
            }
        }
        due
    }

    fn look_at_stop(&mut self, now: Nanos) {
        if !self.stopped && self.shared.stop.is_set() {
            self.stopped = true;
            self.schedule.end();
            self.thinking.clear();
            self.at_once.clear();
            // Arrivals up to this instant were taken.
            let end = Nanos(now.0 + 1).max(self.measure_start);
            self.measure_end = self.measure_end.min(end);
            self.recorder.end_at(self.measure_end);
            self.drain_end = self.drain_end.min(now + STOP_DRAIN);
        }
    }

    /// Tells the gauges what there is to see.
    fn publish(&self) {
        self.gauges.in_flight((self.busy + self.waiting.len()) as u64);
    }

    fn is_over(&self, now: Nanos) -> bool {
        let quiet = self.busy == 0 && self.waiting.is_empty();
        let ended = self.stopped || now >= self.measure_end;
        ended && (quiet && !self.is_asking() || now >= self.drain_end)
    }

    fn deadline(&self, at: Nanos, slot: u32) -> Deadline {
        Deadline { at, slot, epoch: self.sessions[slot as usize].epoch }
    }
}

/// Whether a request of this thread may find no session: closed clients with a session each do not.
fn may_wait(shared: &Shared<'_>, thread: usize) -> bool {
    let own = |total: u32| share(total as usize, thread, shared.threads);
    match (shared.plan.sessions, &shared.plan.arrivals) {
        (SessionPolicy::PerRequest { .. }, _) => false,
        (SessionPolicy::Pooled { max }, ArrivalPlan::Closed { clients, .. }) => own(max) < own(*clients),
        (SessionPolicy::Pooled { .. }, _) => true,
    }
}

/// The client of requests that are never sent; its number is behind those of all session slots.
fn spare_client(shared: &Shared<'_>, thread: usize, seed: Seed) -> ClientSlot {
    let number = u64::from(shared.plan.sessions.max()) + (shared.threads + thread) as u64;
    ClientSlot { client: shared.plan.workload.client(number), random: Random::new(seed) }
}

fn is_live(sessions: &[Session], deadline: &Deadline) -> bool {
    sessions.get(deadline.slot as usize).is_some_and(|session| session.epoch == deadline.epoch)
}

fn is_opening(sessions: &[Session], deadline: &Deadline) -> bool {
    is_live(sessions, deadline) && sessions[deadline.slot as usize].state.is_opening()
}
