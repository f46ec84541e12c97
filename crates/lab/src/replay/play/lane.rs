//! Commands that one client sends one after the other.

use super::client::{Client, Look};
use super::order::Order;
use super::plan::{Counts, Replay};
use super::side::Command;
use crate::replay::recording::Place;
use evenkeel_core::Nanos;
use evenkeel_os::Stop;
use evenkeel_os::clock::Clock;
use std::time::Duration;

/// A session connects so long before its first command is due.
const BEFORE: Nanos = Nanos::from_millis(200);
/// The longest sleep without a look at whether somebody stops it.
const SLEEP_MAX: Nanos = Nanos::from_millis(50);

/// What one client sends: a place, and the session that it belongs to.
pub(super) type Step = (u32, Place);

pub(super) enum Lane<'a> {
    /// One recorded session.
    Session(u32, &'a [Place]),
    /// All of them, by a client of this number.
    All(u32, &'a [Step]),
}

impl Lane<'_> {
    fn step(&self, at: usize) -> Option<Step> {
        match self {
            Self::Session(session, places) => places.get(at).map(|place| (*session, *place)),
            Self::All(_, steps) => steps.get(at).copied(),
        }
    }

    /// From its first command's start to its last one's.
    pub fn span(&self) -> (u64, u64) {
        let last = match self {
            Self::Session(_, places) => places.len(),
            Self::All(_, steps) => steps.len(),
        };
        let start = |at: usize| self.step(at).map_or(0, |(_, place)| place.start);
        (start(0), start(last.saturating_sub(1)))
    }

    /// Sends all of it. What could not be sent was counted.
    pub fn play(&self, replay: &Replay<'_>, course: &Course) {
        let Course { clock, order, .. } = course;
        let (first, number) =
            (course.due(self.span().0), if let Self::All(number, _) = self { *number } else { 0 });
        if !sleep_until(first - BEFORE, clock, replay.stop) {
            return;
        }
        let mut client = Client::new(replay, number);
        let over = |place: &Place| {
            if let (Some(order), Some(rank)) = (order, place.rank()) {
                order.ended(rank, clock.now());
            }
        };
        let (mut bytes, mut free, mut at) = (Vec::new(), Nanos::ZERO, 0);
        while let Some((session, place)) = self.step(at) {
            at += 1;
            let due = if course.times.is_none() { free } else { course.due(place.start) };
            if !sleep_until(due, clock, replay.stop) {
                return;
            }
            let Ok(asked) = replay.recording.read(&place, &mut bytes) else {
                Counts::count(&replay.counts.unreadable);
                over(&place);
                continue;
            };
            let command = Command { session, place, asked };
            let look = client.look(&command);
            let look = client.past(&command, look);
            if !matches!(look, Look::Skip) {
                // Only what is sent has to wait for others.
                let needed = replay.recording.ended_before(&place);
                let waited =
                    order.as_ref().map_or(Some(Nanos::ZERO), |order| order.wait(needed, clock, replay.stop));
                if waited.is_none() {
                    Counts::count(&replay.counts.out_of_order);
                }
                // It could go as soon as it was due, the one before it was answered, and those that it waits for.
                let ready = due.max(free).max(waited.unwrap_or_else(|| clock.now()));
                let text = if let Look::Ask(text) = &look { Some(&**text) } else { None };
                let took = client.send(&command, text, (due, ready), clock);
                // All other time since then is our delay, and shows in the lag of the commands that follow.
                free = ready + took;
            }
            over(&place);
            if course.times.is_none() {
                free = clock.now();
            }
        }
    }
}

/// What all lanes go by.
pub(super) struct Course {
    pub clock: Clock,
    /// When the first command was recorded.
    pub began: u64,
    /// So many times as fast as recorded; `None` as fast as answers come.
    pub times: Option<f64>,
    pub order: Option<Order>,
}

impl Course {
    fn due(&self, start: u64) -> Nanos {
        let since = Nanos(start.saturating_sub(self.began)).as_secs_f64();
        self.times.map_or(Nanos::ZERO, |times| Nanos::from_secs_f64(since / times))
    }
}

/// False where somebody stops it.
fn sleep_until(due: Nanos, clock: &Clock, stop: &Stop) -> bool {
    loop {
        let left = due - clock.now();
        if stop.is_set() {
            return false;
        }
        if left == Nanos::ZERO {
            return true;
        }
        std::thread::sleep(Duration::from(left.min(SLEEP_MAX)));
    }
}
