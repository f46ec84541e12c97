//! One thread: its sockets, its sessions, its mail.

mod clients;

use super::pair::{Desk, Flow, Pair};
use super::seat::{Door, Standing};
use super::session::{Action, Context, Event, Side};
use super::shared::{PLACES_MAX, Shared, ThreadDoor, place_of, session_of};
use evenkeel_core::Nanos;
use evenkeel_core::admission::Notice;
use evenkeel_os::{Interest, Listener, Poller, Ready, Socket};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

const BUFFER: usize = 64 << 10;
/// Time between two looks at what time alone brings about.
const TICK: Nanos = Nanos::from_millis(20);
/// Ticks between two looks at whether the servers' machines are there.
const SERVERS_EVERY: u32 = 50;
/// Ticks between two looks at a session in the queue; a part of them has its turn in each tick.
const QUEUED_EVERY: u32 = 12;

/// Tokens of the mailbox and the timer; listeners are numbered down from the one below them. Sessions have small ones.
const WAKE: u64 = u64::MAX;
const TIMER: u64 = WAKE - 1;
const LISTENERS: u64 = TIMER - 1;

/// A slot for a session of this thread.
#[derive(Default)]
struct Slot {
    pair: Option<Box<Pair<Socket>>>,
    generation: u32,
    /// It has to be looked at from time to time.
    watched: bool,
    /// Whether each side waits for room, as the poller knows it.
    armed: [bool; 2],
}

pub struct Worker {
    shared: Arc<Shared>,
    thread: usize,
    poller: Poller,
    listeners: Arc<Vec<Listener>>,
    listening: bool,
    /// When to listen again.
    paused_until: Nanos,
    slots: Vec<Slot>,
    free: Vec<usize>,
    /// Places that were left in this round: an event of the old session may still be in it.
    left: Vec<usize>,
    again: Vec<usize>,
    /// The timer has fired, and how often it did.
    ticks: bool,
    turns: u32,
    notices: Vec<Notice>,
    actions: Vec<Action>,
    /// From when on a transaction is long.
    long_from: Nanos,
    /// The way to the gate, as this thread and as its sessions know it.
    way: Arc<ThreadDoor>,
    door: Arc<dyn Door>,
    buffer: Box<[u8]>,
}

impl Worker {
    pub fn new(shared: Arc<Shared>, thread: usize, listeners: Arc<Vec<Listener>>) -> io::Result<Self> {
        let poller = Poller::new(TICK, TIMER)?;
        poller.add(&shared.mailbox(thread).wake, WAKE, Interest::Read)?;
        let way = Arc::new(ThreadDoor::new(&shared, thread));
        let mut worker = Self {
            door: way.clone(),
            way,
            shared,
            thread,
            poller,
            listeners,
            listening: false,
            paused_until: Nanos::ZERO,
            slots: Vec::new(),
            free: Vec::new(),
            left: Vec::new(),
            again: Vec::new(),
            ticks: false,
            turns: 0,
            notices: Vec::new(),
            actions: Vec::new(),
            long_from: Nanos::MAX,
            buffer: vec![0; BUFFER].into_boxed_slice(),
        };
        worker.listen(true)?;
        Ok(worker)
    }

    fn listen(&mut self, listening: bool) -> io::Result<()> {
        if listening != self.listening {
            for (index, listener) in self.listeners.iter().enumerate() {
                match listening {
                    true => self.poller.add(listener, LISTENERS - index as u64, Interest::Accept)?,
                    false => self.poller.remove(listener)?,
                }
            }
            self.listening = listening;
        }
        Ok(())
    }

    /// Serves until the guard stops: then until every session has come to the end of its transaction, or
    /// until the deadline.
    pub fn run(mut self) -> io::Result<()> {
        loop {
            let ready = self.poller.wait(self.again.is_empty())?;
            for index in 0..ready {
                self.handle(self.poller.ready(index))?;
            }
            for place in std::mem::take(&mut self.again) {
                self.serve(place, Pair::pump);
            }
            self.deliver();
            self.free.append(&mut self.left);
            if self.ticks && self.tick()? {
                return Ok(());
            }
        }
    }

    fn handle(&mut self, ready: Ready) -> io::Result<()> {
        if ready.token == WAKE {
            let mut notices = std::mem::take(&mut self.notices);
            self.shared.mailbox(self.thread).take(&mut notices);
            self.notices = notices;
            self.ticks |= self.shared.stop.load(Ordering::Relaxed);
            return Ok(());
        }
        if ready.token == TIMER {
            self.ticks = true;
            return Ok(());
        }
        if ready.token >= PLACES_MAX as u64 * 2 {
            return self.accept((LISTENERS - ready.token) as usize);
        }
        let place = (ready.token / 2) as usize;
        let Some(pair) = self.slots.get_mut(place).and_then(|place| place.pair.as_mut()) else {
            return Ok(());
        };
        let side = if ready.token.is_multiple_of(2) { Side::Client } else { Side::Server };
        if side == Side::Server && pair.session.is_connecting() {
            if ready.write {
                self.connected(place);
            }
            return Ok(());
        }
        self.serve(place, |pair, desk| pair.ready(side, ready, desk));
        Ok(())
    }

    /// Lets a session do something, and does what follows for its place. A defect that panics ends this session alone:
    /// its permit and its sockets go with it.
    fn serve(&mut self, place: usize, act: impl FnOnce(&mut Pair<Socket>, &mut Desk<'_>) -> Flow) {
        let Some(found) = self.slots.get_mut(place) else { return };
        let Some(pair) = &mut found.pair else { return };
        let now = self.shared.clock.now();
        self.way.set_now(now);
        let cx = Context {
            terms: &self.shared.terms,
            door: &self.door,
            long_from: self.long_from,
            stats: &self.shared.stats,
            server: self.shared.server(),
            led: self.shared.led(),
            now,
            notices: &mut self.notices,
            actions: &mut self.actions,
        };
        let mut desk = Desk { cx, tls: &self.shared.tls, buffer: &mut self.buffer };
        let flow = catch_unwind(AssertUnwindSafe(|| act(pair, &mut desk)));
        if flow.is_err() {
            self.shared.stats.panics.add();
            self.actions.clear();
        }
        match flow {
            Ok(Flow::Open) => {}
            Ok(Flow::Again) => self.again.push(place),
            Ok(Flow::Closed) | Err(_) => return self.close(place),
        }
        if pair.server_was_heard() {
            self.shared.heard(pair.session.server(), now);
        }
        found.watched = pair.session.is_watched();
        for (side, link) in [&pair.client, &pair.server].into_iter().enumerate() {
            let blocked = link.is_blocked() || side == 1 && pair.session.is_connecting();
            if blocked != found.armed[side] {
                let interest = if blocked { Interest::ReadWrite } else { Interest::Read };
                // A socket that cannot be watched is closed: the poller reports that as well.
                if self.poller.change(link, place as u64 * 2 + side as u64, interest).is_ok() {
                    found.armed[side] = blocked;
                }
            }
        }
    }

    fn close(&mut self, place: usize) {
        self.slots[place].pair = None;
        self.left.push(place);
        self.shared.stats.closed.add();
    }

    /// Passes the gate's notices on to sessions, and those that follow from them, and so on.
    fn deliver(&mut self) {
        while !self.notices.is_empty() {
            for notice in std::mem::take(&mut self.notices) {
                let id = session_of(notice);
                let place = place_of(id);
                let pair = self.slots.get(place).and_then(|place| place.pair.as_ref());
                if pair.is_some_and(|pair| pair.session.id() == id) {
                    // One that left meanwhile has given its permit back by itself.
                    self.serve(place, |pair, desk| pair.notice(notice, desk));
                }
            }
        }
    }

    /// What time alone brings about; true when the guard stops and all is done.
    fn tick(&mut self) -> io::Result<bool> {
        self.ticks = false;
        self.poller.rearm();
        let now = self.shared.clock.now();
        let stops = self.shared.stop.load(Ordering::Relaxed);
        self.way.set_now(now);
        let (first, long_from) = (self.thread == 0, &mut self.long_from);
        self.way.reach(Some(&mut self.notices), &mut |keeper, now| {
            if first {
                keeper.tick(now);
            }
            *long_from = keeper.long_from();
        });
        for place in 0..self.slots.len() {
            if self.slots[place].watched || self.is_queued_ones_turn(place) {
                self.look(place, now);
            }
        }
        self.turns = self.turns.wrapping_add(1);
        if self.turns.is_multiple_of(SERVERS_EVERY) {
            self.look_for_servers();
        }
        self.deliver();
        if !self.listening && now >= self.paused_until && !stops {
            self.listen(true)?;
        }
        if stops { self.stop() } else { Ok(false) }
    }

    fn is_queued_ones_turn(&self, place: usize) -> bool {
        let waits = |pair: &Pair<Socket>| pair.session.standing() == Some(Standing::Waiting);
        self.turns.wrapping_add(place as u32).is_multiple_of(QUEUED_EVERY)
            && self.slots[place].pair.as_deref().is_some_and(waits)
    }

    /// Whether servers are there still, which the silence of their machines alone would not show for a quarter of an hour.
    fn look_for_servers(&mut self) {
        let silence = self.shared.terms.plan.silence_max;
        for place in 0..self.slots.len() {
            if self.slots[place].pair.as_ref().is_some_and(|pair| pair.awaits_server()) {
                self.serve(place, |pair, desk| pair.look_for_server(silence, desk));
            }
        }
    }

    /// What time brings about for one session.
    fn look(&mut self, place: usize, now: Nanos) {
        let Some(pair) = &self.slots[place].pair else { return };
        if pair.session.is_connecting() {
            let addresses = pair.attempt.endpoints.len();
            let share = Nanos(self.shared.terms.plan.login_max.0 / addresses.max(1) as u64);
            // The last address has all the time that is left.
            let slow = pair.attempt.tried < addresses && now - pair.attempt.since >= share;
            if pair.attempt.full || slow {
                self.connect(place);
            }
        }
        self.serve(place, |pair, desk| pair.happens(Event::Tick, desk));
    }

    /// Whether the last session is gone, or the deadline is.
    fn stop(&mut self) -> io::Result<bool> {
        self.listen(false)?;
        self.listeners.iter().for_each(Listener::close);
        let late = self.shared.is_past_deadline();
        for place in &mut self.slots {
            let Some(pair) = &place.pair else { continue };
            let idle = pair.session.is_idle();
            if late || idle {
                self.shared.cut.fetch_add(usize::from(!idle), Ordering::Relaxed);
                place.pair = None;
                self.shared.stats.closed.add();
            }
        }
        Ok(self.slots.iter().all(|place| place.pair.is_none()))
    }
}

#[cfg(test)]
mod tests;
