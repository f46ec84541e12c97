//! Memory that is left, and what a transaction takes of it: no probe goes where the memory would end.
//!
//! A cliff is learnt only by touching it, and the kernel kills the server there. What a transaction takes shows before: it
//! is the most by which the server's own memory grew over its most at the limit kept, for each one more in flight, in a
//! probe beyond all limits kept so far. Only there: below, an allocator that keeps what was freed makes transactions look
//! cheap, and what was survived needs no bound. What other processes take is not learnt.

use crate::control::Sample;

/// Share of the free memory that a probe may take by what is known.
const TAKE: f64 = 0.8;
/// A probe that leaves less than this share of it is given up at once.
const LEAVE: f64 = 0.25;
/// Seconds in which the low at the limit kept follows free memory upwards.
const FORGET_S: f64 = 30.0;

/// What is known of the memory; nothing where no sensor tells.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Room {
    /// The limit that `low` belongs to.
    kept: u32,
    /// Least free memory there lately, in bytes.
    low: f64,
    /// Most that the server held there, in bytes.
    used: f64,
    /// The highest limit that was kept and filled.
    survived: u32,
    /// Bytes that one more transaction takes, at most.
    each: f64,
}

impl Room {
    /// A tick; whether the probe in force must be given up.
    pub fn tick(&mut self, sample: &Sample, kept: u32) -> bool {
        let signals = &sample.signals;
        let (Some(free), Some(used)) = (signals.memory_free, signals.memory_used) else { return false };
        if self.kept != kept {
            // A probe was good, or the brake was pulled: what is free now is free there.
            (self.kept, self.low, self.used) = (kept, free, used);
        }
        if sample.limit <= kept {
            let back = (sample.seconds() / FORGET_S).min(1.0) * (free - self.low).max(0.0);
            self.low = free.min(self.low + back);
            self.used = self.used.max(used);
            if sample.in_flight_max >= kept {
                self.survived = self.survived.max(kept);
            }
            return false;
        }
        if sample.limit > self.survived {
            self.each = self.each.max((used - self.used) / f64::from(sample.limit - kept));
        }
        free < LEAVE * self.low
    }

    /// The highest limit that fits by what is known; `None` while nothing is.
    pub fn most(&self) -> Option<u32> {
        // A cast to u32 saturates.
        let more = (self.each > 0.0).then(|| (TAKE * self.low / self.each) as u32)?;
        Some(self.kept.saturating_add(more).max(self.survived))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Signals;
    use crate::time::Nanos;

    /// A tick with the limit filled.
    fn sample(limit: u32, free: f64, used: f64) -> Sample {
        let signals = Signals { memory_free: Some(free), memory_used: Some(used), ..Signals::default() };
        Sample { end: Nanos::from_millis(100), limit, in_flight_max: limit, signals, ..Sample::default() }
    }

    #[test]
    fn what_one_more_takes_is_seen_in_a_probe_and_bounds_the_next() {
        let mut room = Room::default();
        assert!(!room.tick(&sample(8, 380.0, 260.0), 8));
        assert_eq!(room.most(), None, "nothing is known yet");
        assert!(!room.tick(&sample(16, 220.0, 420.0), 8));
        assert_eq!(room.most(), Some(8 + 15), "380 are free, and each takes 20");
        room.tick(&sample(16, 220.0, 420.0), 16);
        assert_eq!(room.most(), Some(16 + 8));
    }

    #[test]
    fn memory_that_the_allocator_keeps_does_not_make_transactions_look_cheap() {
        let mut room = Room::default();
        room.tick(&sample(8, 380.0, 260.0), 8);
        room.tick(&sample(16, 220.0, 420.0), 8);
        for _ in 0..1_000 {
            room.tick(&sample(8, 220.0, 420.0), 8);
            room.tick(&sample(16, 220.0, 420.0), 8);
        }
        assert_eq!(room.most(), Some(8 + 8));
    }

    #[test]
    fn what_another_process_takes_bounds_nothing_for_long() {
        let mut room = Room::default();
        room.tick(&sample(8, 4_000.0, 260.0), 8);
        room.tick(&sample(9, 1_500.0, 261.0), 8);
        assert!(room.most() > Some(1_000), "{:?}", room.most());
    }

    #[test]
    fn a_limit_that_was_survived_stays_allowed() {
        let mut room = Room::default();
        room.tick(&sample(8, 380.0, 260.0), 8);
        room.tick(&sample(16, 220.0, 420.0), 8);
        room.tick(&sample(16, 220.0, 420.0), 16);
        room.tick(&sample(4, 20.0, 620.0), 4);
        assert_eq!(room.most(), Some(16));
    }

    #[test]
    fn a_probe_that_takes_nearly_all_is_given_up() {
        let mut room = Room::default();
        room.tick(&sample(8, 380.0, 260.0), 8);
        assert!(room.tick(&sample(16, 90.0, 550.0), 8));
        assert!(!room.tick(&sample(4, 90.0, 550.0), 8), "downwards nothing is at stake");
    }

    #[test]
    fn without_a_sensor_nothing_is_bounded() {
        let mut room = Room::default();
        assert!(!room.tick(&Sample { limit: 16, ..Sample::default() }, 8));
        assert_eq!(room.most(), None);
    }
}
