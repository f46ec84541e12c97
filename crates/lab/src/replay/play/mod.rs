//! Sends a recording again: each session's commands in their order, when they are due.
//!
//! A thread has one session at a time and connections of its own, as the client had that was recorded. It connects before the
//! session's first command is due, so that the load begins when it began.

mod client;
mod lane;
mod order;
mod plan;
mod side;

use super::recording::Place;
use evenkeel_core::Nanos;
use evenkeel_os::clock::Clock;
use lane::{Course, Lane, Step};
use order::Order;
pub use plan::{Counts, Options, Pace, Past, PastOf, Replay, Taker, Who};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Most sessions at a time; a recording with more of them is behind, which it says.
pub const SESSIONS_MAX: usize = 512;
/// Threads beyond those that were busy at once: the next session connects while the one before it ends.
const SPARE: usize = 4;

impl Replay<'_> {
    /// Sends all of it; what was sent until somebody stops it was taken.
    pub fn run(&self) {
        let all = self.all();
        let lanes = self.lanes(&all);
        let times = if let Pace::Times(times) = self.options.pace { Some(times) } else { None };
        let order = self.options.ordered.then(|| Order::new(self.recording.commands()));
        let course = Course { clock: Clock::start(), began: self.begins(), times, order };
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..threads(&lanes, self.options) {
                scope.spawn(|| {
                    while let Some(lane) = lanes.get(next.fetch_add(1, Ordering::Relaxed)) {
                        lane.play(self, &course);
                    }
                });
            }
        });
    }

    /// How long it lasts at this pace; `None` where it goes as fast as answers come.
    pub fn lasts(&self) -> Option<Nanos> {
        let Pace::Times(times) = self.options.pace else { return None };
        let lasts = self.recording.sessions().iter().filter_map(|session| session.commands.last());
        let span = Nanos(lasts.map(|place| place.start).max()?) - Nanos(self.begins());
        Some(Nanos::from_secs_f64(span.as_secs_f64() / times))
    }

    /// When the last command was recorded that an earlier replay has sent, else the first of all, nanoseconds since 1970.
    fn begins(&self) -> u64 {
        let clients = if let Who::Clients(count) = self.options.who { count } else { 1 };
        let is_past = |place: &&Place| {
            self.past.is_some_and(|past| (0..clients).any(|client| past(client, place.number).is_some()))
        };
        let sessions = self.recording.sessions().iter();
        let last = sessions.filter_map(|session| session.commands.iter().rev().find(is_past));
        last.map(|place| place.start).max().unwrap_or_else(|| self.recording.began())
    }

    /// Commands of all clients.
    pub fn commands(&self) -> u64 {
        let Who::Clients(count) = self.options.who else { return self.recording.commands() as u64 };
        let clients = |log| (log..count).step_by(self.recording.logs() as usize).count() as u64;
        let sessions = self.recording.sessions().iter();
        sessions.map(|session| session.commands.len() as u64 * clients(session.log)).sum()
    }

    /// What each thread takes in turn, in the order of their first commands.
    fn lanes<'r>(&'r self, all: &'r [Vec<Step>]) -> Vec<Lane<'r>> {
        match self.options.who {
            Who::Clients(count) => {
                (0..count).zip(all.iter().cycle()).map(|(client, steps)| Lane::All(client, steps)).collect()
            }
            Who::Sessions => {
                let sessions = (0..).zip(self.recording.sessions());
                let lanes = sessions.filter(|(_, session)| !session.commands.is_empty());
                let mut lanes: Vec<Lane<'_>> =
                    lanes.map(|(index, session)| Lane::Session(index, &session.commands)).collect();
                lanes.sort_by_key(|lane| lane.span().0);
                lanes
            }
        }
    }

    /// All commands of each log in the order of their starts, for clients of whom each sends them all.
    fn all(&self) -> Vec<Vec<Step>> {
        if self.options.who == Who::Sessions {
            return Vec::new();
        }
        let of_log = |log: u32| {
            let sessions = (0..).zip(self.recording.sessions()).filter(|(_, session)| session.log == log);
            let mut all: Vec<Step> = sessions
                .flat_map(|(index, session)| session.commands.iter().map(move |place| (index, *place)))
                .collect();
            all.sort_by_key(|(_, place)| place.number);
            match self.options.spread {
                Some(large) => self.spread(all, large),
                None => all,
            }
        };
        (0..self.recording.logs()).map(of_log).collect()
    }

    /// The same commands with those of large results as far from each other as can be. Where rows are not known, none is large.
    fn spread(&self, all: Vec<Step>, large: u64) -> Vec<Step> {
        let mut bytes = Vec::new();
        let mut is_large = |(_, place): &Step| {
            let asked = self.recording.read(place, &mut bytes);
            asked.is_ok_and(|asked| asked.answer.rows.is_some_and(|rows| rows >= large))
        };
        let count = all.len();
        let (large, small): (Vec<Step>, Vec<Step>) = all.into_iter().partition(|step| is_large(step));
        let (each, mut large, mut small) = (large.len(), large.into_iter(), small.into_iter());
        let mut taken = 0;
        let next = |at: usize| {
            let is_due = (2 * taken + 1) * count < 2 * (at + 1) * each;
            taken += usize::from(is_due);
            if is_due { large.next().or_else(|| small.next()) } else { small.next().or_else(|| large.next()) }
        };
        (0..count).filter_map(next).collect()
    }
}

/// Most lanes that overlap, at most [`SESSIONS_MAX`].
fn threads(lanes: &[Lane<'_>], options: Options) -> usize {
    if options.who != Who::Sessions {
        return lanes.len().min(SESSIONS_MAX);
    }
    let (mut ends, mut most) = (BinaryHeap::new(), 0);
    for lane in lanes {
        let (first, last) = lane.span();
        while ends.peek().is_some_and(|Reverse(end)| *end < first) {
            ends.pop();
        }
        ends.push(Reverse(last));
        most = most.max(ends.len());
    }
    (most + SPARE).min(lanes.len()).min(SESSIONS_MAX)
}
