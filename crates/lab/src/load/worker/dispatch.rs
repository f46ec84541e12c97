//! From an arrival to the first statement.

use super::{ClientSlot, Worker, is_live};
use crate::load::poller::Start;
use crate::load::request_log::{End, NO_SESSION, Outcome};
use crate::load::schedule::{Arrival, ArrivalPlan};
use crate::load::session::Request;
use evenkeel_core::Nanos;
use evenkeel_core::arrivals::Pause;
use evenkeel_core::random::Random;
use std::cmp::Reverse;

impl Worker<'_> {
    pub(super) fn dispatch_due(&mut self, now: Nanos) {
        while let Some(arrival) = self.schedule.take_due(now) {
            if !self.sparing.spares(arrival.at, self.busy + self.waiting.len()) {
                self.arrive(arrival, now);
            }
        }
        while let Some(&Reverse((at, client))) = self.thinking.peek().filter(|first| first.0.0 <= now) {
            self.thinking.pop();
            self.arrive(Arrival { at, number: u64::from(client) }, now);
        }
        self.pump(now);
    }

    /// Whether no session is free and none can be opened.
    pub(super) fn is_full(&self) -> bool {
        let slots = self.sessions.len() - self.vacant.len();
        !self.per_request && self.idle.is_empty() && self.opening == 0 && slots >= self.sessions_max
    }

    /// A request arrives, and is sent at once where a session is free.
    pub(super) fn arrive(&mut self, arrival: Arrival, now: Nanos) {
        self.recorder.arrived(arrival.at);
        self.gauges.arrived();
        if self.waiting.is_empty()
            && let Some(slot) = self.take_session(now)
        {
            self.start(slot, arrival, true);
            return;
        }
        if self.waiting.len() >= self.waiting_max {
            self.drop_first_waiting(now);
        }
        self.waiting.push_back(arrival);
    }

    /// The server was heard from: before, all that wait for a session waited for it.
    pub(super) fn end_silence(&mut self, now: Nanos) {
        let from = self.waiting.front().map_or(now, |first| self.heard.max(first.at));
        self.recorder.waited_in_silence(&self.waiting, from, now);
        self.heard = now;
    }

    /// Sends waiting requests on sessions that have become free, and opens sessions for the rest.
    pub(super) fn pump(&mut self, now: Nanos) {
        // Those that are added meanwhile wait for the next turn of the loop, which looks at the clock.
        for _ in 0..self.at_once.len() {
            // So does one that follows a refusal of this turn, which is later than the clock was: a stop that is seen in
            // this turn ends the phase at that clock, and would leave it without an end.
            let Some(&arrival) = self.at_once.front().filter(|arrival| arrival.at <= now) else { break };
            self.at_once.pop_front();
            self.arrive(arrival, now);
        }
        while let Some(&arrival) = self.waiting.front() {
            let Some(slot) = self.take_session(now) else {
                self.grow(now);
                return;
            };
            self.waiting.pop_front();
            self.start(slot, arrival, false);
        }
    }

    /// A session for one more request: an idle one, or a slot for a fresh connection.
    fn take_session(&mut self, now: Nanos) -> Option<u32> {
        if !self.per_request {
            return self.idle_session();
        }
        if now < self.connect_after {
            return None;
        }
        let slot = self.take_vacant()?;
        self.draw_for(slot);
        Some(slot)
    }

    fn start(&mut self, slot: u32, arrival: Arrival, free: bool) {
        // Arrivals of closed clients come after ends, so that they are as much later themselves.
        let carried = if self.closed { Nanos::ZERO } else { self.sessions[slot as usize].carried };
        let start = if free { Start::default() } else { self.looks.start(arrival.at, carried) };
        let client = if self.closed { arrival.number as u32 } else { slot };
        let kind = self.begin_request(client, arrival.number);
        let watched = self.begins_watched(slot);
        let request = Request {
            arrival: arrival.at,
            send: Nanos::ZERO,
            first_byte: Nanos::ZERO,
            statement_send: Nanos::ZERO,
            step_send: Nanos::ZERO,
            number: arrival.number,
            client,
            kind: kind as u32,
            measured: self.recorder.measures(arrival.at),
            watched,
            start,
        };
        let session = &mut self.sessions[slot as usize];
        session.request = Some(request);
        session.epoch = session.epoch.wrapping_add(1);
        self.busy += 1;
        let deadline = self.deadline(arrival.at + self.shared.plan.timeout, slot);
        let sessions = &self.sessions;
        self.requests.push(deadline, sessions.len(), |deadline| is_live(sessions, deadline));
        if self.per_request {
            self.connect(slot);
        } else {
            self.step(slot, None);
        }
    }

    /// Draws the kind of a request. In an open load its randomness is its own, so that request number n asks
    /// the same whenever and on whichever thread it is sent; a closed client has one stream for its life.
    fn begin_request(&mut self, client: u32, number: u64) -> usize {
        let seed = self.request_seed;
        let closed = self.closed;
        let slot = self.client(client);
        if !closed {
            slot.random = Random::new(seed.numbered(number));
        }
        slot.client.begin(&mut slot.random)
    }

    fn client(&mut self, client: u32) -> &mut ClientSlot {
        &mut self.clients[client as usize]
    }

    /// The first waiting request is given up at the age it has reached. It is begun nevertheless, so that
    /// its kind is counted.
    pub(super) fn drop_first_waiting(&mut self, now: Nanos) {
        let Some(arrival) = self.waiting.pop_front() else { return };
        self.recorder.waited_in_silence([&arrival], self.heard.max(arrival.at), now);
        let kind = if self.closed {
            self.begin_request(arrival.number as u32, arrival.number)
        } else {
            self.spare.random = Random::new(self.request_seed.numbered(arrival.number));
            self.spare.client.begin(&mut self.spare.random)
        };
        if self.recorder.measures(arrival.at) {
            self.recorder.ended(End {
                arrival: arrival.at,
                send: Nanos::ZERO,
                first_byte: Nanos::ZERO,
                done: now,
                kind: kind as u32,
                session: NO_SESSION,
                waited: (now - arrival.at).max(Nanos(1)),
                outcome: Outcome::Unsent,
            });
        } else {
            self.recorder.ended_from_warm_up(arrival.at, now, false);
        }
        self.gauges.lost();
        if self.closed {
            self.think(arrival.number as u32, now);
        }
    }

    /// Gives the clients of a closed load their first arrivals: after what is left of a think time, so that they
    /// come as after a long time and not all at once, or at once where nobody thinks.
    pub(super) fn begin_closed(&mut self, start: Nanos) {
        let ArrivalPlan::Closed { clients, .. } = self.shared.plan.arrivals else { return };
        let count = super::share(clients as usize, self.thread, self.shared.threads);
        let seed = self.shared.plan.seed.child("clients");
        for index in 0..count {
            let number = (index * self.shared.threads + self.thread) as u64;
            let client = self.shared.plan.workload.closed_client(number);
            self.clients.push(ClientSlot { client, random: Random::new(seed.numbered(number)) });
            let pause = self.first_pause(index as u32);
            self.thinking.push(Reverse((start + pause, index as u32)));
        }
    }

    /// The next arrival of a closed client, unless the load has ended.
    pub(super) fn think(&mut self, client: u32, now: Nanos) {
        let pause = self.pause(client);
        let at = now + pause;
        if at >= self.measure_end || self.stopped {
            return;
        }
        match pause {
            // The session is about to become free; the arrival follows when it is.
            Nanos::ZERO => self.at_once.push_back(Arrival { at, number: u64::from(client) }),
            _ => self.thinking.push(Reverse((at, client))),
        }
    }

    fn pause(&mut self, client: u32) -> Nanos {
        let planned = self.planned_pause();
        let slot = self.client(client);
        // Drawn in any case: a browser's session ends after a sum of its own think times.
        let own = slot.client.think(&mut slot.random);
        planned.map_or(own.unwrap_or_default(), |pause| pause.draw(&mut slot.random))
    }

    fn first_pause(&mut self, client: u32) -> Nanos {
        let planned = self.planned_pause();
        let slot = self.client(client);
        let own = slot.client.first_think(&mut slot.random);
        planned.map_or(own.unwrap_or_default(), |pause| pause.residual(&mut slot.random))
    }

    fn planned_pause(&self) -> Option<Pause> {
        let ArrivalPlan::Closed { think: Some(think), .. } = self.shared.plan.arrivals else { return None };
        let uniform = self.shared.plan.workload.uniform_think();
        Some(if uniform { Pause::uniform(think) } else { Pause::new(think) })
    }
}
