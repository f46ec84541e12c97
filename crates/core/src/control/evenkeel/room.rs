//! Memory that is left, and what a transaction takes of it: no probe goes where the memory would end.
//!
//! A cliff is learnt only by touching it, and the kernel kills the server there. What a transaction takes shows before: it is
//! the most by which free memory fell below its low at the limit kept, for each one more in flight, in any probe upwards.
//! It is never forgotten, since an allocator that keeps what was freed makes later probes look cheap.

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
    low: Option<f64>,
    /// Bytes that one more transaction takes, at most.
    each: f64,
}

impl Room {
    /// A tick; whether the probe in force must be given up.
    pub fn tick(&mut self, sample: &Sample, kept: u32) -> bool {
        let Some(free) = sample.signals.memory_free else { return false };
        if self.kept != kept {
            // A probe was good, or the brake was pulled: what is free now is free there.
            (self.kept, self.low) = (kept, Some(free));
        }
        let low = self.low.unwrap_or(free);
        if sample.limit <= kept {
            let back = (sample.seconds() / FORGET_S).min(1.0) * (free - low).max(0.0);
            self.low = Some(free.min(low + back));
            return false;
        }
        self.each = self.each.max((low - free) / f64::from(sample.limit - kept));
        free < LEAVE * low
    }

    /// The highest limit that fits by what is known.
    pub fn most(&self) -> Option<u32> {
        let more = TAKE * self.low.filter(|_| self.each > 0.0)? / self.each;
        // A cast to u32 saturates.
        Some(self.kept.saturating_add(more as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Signals;
    use crate::time::Nanos;

    fn sample(limit: u32, free: Option<f64>) -> Sample {
        let signals = Signals { memory_free: free, ..Signals::default() };
        Sample { end: Nanos::from_millis(100), limit, signals, ..Sample::default() }
    }

    #[test]
    fn what_one_more_takes_is_seen_in_a_probe_and_bounds_the_next() {
        let mut room = Room::default();
        assert!(!room.tick(&sample(8, Some(380.0)), 8));
        assert_eq!(room.most(), None, "nothing is known yet");
        assert!(!room.tick(&sample(16, Some(220.0)), 8));
        assert_eq!(room.most(), Some(8 + 15), "380 are free, and each takes 20");
        room.tick(&sample(16, Some(220.0)), 16);
        assert_eq!(room.most(), Some(16 + 8));
    }

    #[test]
    fn memory_that_the_allocator_keeps_does_not_make_transactions_look_cheap() {
        let mut room = Room::default();
        room.tick(&sample(8, Some(380.0)), 8);
        room.tick(&sample(16, Some(220.0)), 8);
        for _ in 0..1_000 {
            room.tick(&sample(8, Some(220.0)), 8);
            room.tick(&sample(16, Some(220.0)), 8);
        }
        assert_eq!(room.most(), Some(8 + 8));
    }

    #[test]
    fn a_probe_that_takes_nearly_all_is_given_up() {
        let mut room = Room::default();
        room.tick(&sample(8, Some(380.0)), 8);
        assert!(room.tick(&sample(16, Some(90.0)), 8));
        assert!(!room.tick(&sample(4, Some(90.0)), 8), "downwards nothing is at stake");
    }

    #[test]
    fn without_a_sensor_nothing_is_bounded() {
        let mut room = Room::default();
        assert!(!room.tick(&sample(16, None), 8));
        assert_eq!(room.most(), None);
    }
}
