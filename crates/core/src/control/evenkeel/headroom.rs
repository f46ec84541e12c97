//! Memory headroom: how many more transactions the free memory holds, so that no probe uses it up: the kernel would kill the
//! server.
//!
//! What one transaction takes is estimated in probes above every limit that was in use so far: the rise of the server's own
//! memory above the most that it held at the limit in use, over the transactions that were added; the largest such figure
//! counts. Lower probes tell nothing, because an allocator that reuses what was freed makes transactions look cheap there.

use crate::control::Sample;

/// Share of the free memory that a probe may take by the estimate.
const TAKE: f64 = 0.8;
/// A probe that leaves less than this share of it is given up at once.
const LEAVE: f64 = 0.25;
/// Time constant, in seconds, with which `MemoryHeadroom::low` follows free memory upwards.
const FORGET_S: f64 = 30.0;

/// What is known of the memory; nothing where no sensor measures it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MemoryHeadroom {
    in_use: u32,
    /// Least free memory at that limit lately, in bytes.
    low: f64,
    used: f64,
    /// The highest limit that was in use and filled.
    survived: u32,
    /// Most bytes that one more transaction was seen to take; 0 before anything was seen.
    each: f64,
}

impl MemoryHeadroom {
    /// Takes in a tick. Whether the limit that is being tried must be given up because memory runs out.
    pub fn tick(&mut self, sample: &Sample, in_use: u32) -> bool {
        let signals = &sample.signals;
        let (Some(free), Some(used)) = (signals.memory_free, signals.memory_used) else { return false };
        if self.in_use != in_use {
            // A probe was good, or the brake was pulled: what is free now is free there.
            (self.in_use, self.low, self.used) = (in_use, free, used);
        }
        if sample.limit <= in_use {
            let back = (sample.seconds() / FORGET_S).min(1.0) * (free - self.low).max(0.0);
            self.low = free.min(self.low + back);
            self.used = self.used.max(used);
            if sample.in_flight_max >= in_use {
                self.survived = self.survived.max(in_use);
            }
            return false;
        }
        if sample.limit > self.survived {
            self.each = self.each.max((used - self.used) / f64::from(sample.limit - in_use));
        }
        free < LEAVE * self.low
    }

    /// The highest limit whose transactions fit into the memory by the estimate; `None` before there is one.
    pub fn most(&self) -> Option<u32> {
        // A cast to u32 saturates.
        let more = (self.each > 0.0).then(|| (TAKE * self.low / self.each) as u32)?;
        Some(self.in_use.saturating_add(more).max(self.survived))
    }
}

/// What an operator may set beside the bounds of the limit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Settings {
    /// The memory that all transactions may use together; it bounds the limit.
    pub memory: Option<Memory>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Memory {
    pub budget: f64,
    pub each: f64,
}

impl Memory {
    /// Transactions that fit into the budget; `None` where the numbers make no sense.
    pub(super) fn transactions(self) -> Option<u32> {
        let fitting = self.budget / self.each;
        (self.each > 0.0 && fitting.is_finite()).then_some(fitting as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Signals;
    use crate::time::Nanos;

    /// A tick in which the limit was filled.
    fn sample(limit: u32, free: f64, used: f64) -> Sample {
        let signals = Signals { memory_free: Some(free), memory_used: Some(used), ..Signals::default() };
        Sample { end: Nanos::from_millis(100), limit, in_flight_max: limit, signals, ..Sample::default() }
    }

    #[test]
    fn what_one_more_transaction_takes_is_seen_in_a_probe_and_bounds_the_next_one() {
        let mut headroom = MemoryHeadroom::default();
        assert!(!headroom.tick(&sample(8, 380.0, 260.0), 8));
        assert_eq!(headroom.most(), None, "nothing is known yet");
        assert!(!headroom.tick(&sample(16, 220.0, 420.0), 8));
        assert_eq!(headroom.most(), Some(8 + 15), "380 are free, and each takes 20");
        headroom.tick(&sample(16, 220.0, 420.0), 16);
        assert_eq!(headroom.most(), Some(16 + 8));
    }

    #[test]
    fn memory_that_the_allocator_keeps_does_not_make_transactions_look_cheap() {
        let mut headroom = MemoryHeadroom::default();
        headroom.tick(&sample(8, 380.0, 260.0), 8);
        headroom.tick(&sample(16, 220.0, 420.0), 8);
        for _ in 0..1_000 {
            headroom.tick(&sample(8, 220.0, 420.0), 8);
            headroom.tick(&sample(16, 220.0, 420.0), 8);
        }
        assert_eq!(headroom.most(), Some(8 + 8));
    }

    #[test]
    fn what_another_process_takes_bounds_nothing_for_long() {
        let mut headroom = MemoryHeadroom::default();
        headroom.tick(&sample(8, 4_000.0, 260.0), 8);
        headroom.tick(&sample(9, 1_500.0, 261.0), 8);
        assert!(headroom.most() > Some(1_000), "{:?}", headroom.most());
    }

    #[test]
    fn a_limit_that_was_survived_stays_allowed() {
        let mut headroom = MemoryHeadroom::default();
        headroom.tick(&sample(8, 380.0, 260.0), 8);
        headroom.tick(&sample(16, 220.0, 420.0), 8);
        headroom.tick(&sample(16, 220.0, 420.0), 16);
        headroom.tick(&sample(4, 20.0, 620.0), 4);
        assert_eq!(headroom.most(), Some(16));
    }

    #[test]
    fn a_probe_that_takes_nearly_all_is_given_up() {
        let mut headroom = MemoryHeadroom::default();
        headroom.tick(&sample(8, 380.0, 260.0), 8);
        assert!(headroom.tick(&sample(16, 90.0, 550.0), 8));
        assert!(!headroom.tick(&sample(4, 90.0, 550.0), 8), "downwards nothing is at stake");
    }

    #[test]
    fn without_a_sensor_nothing_is_bounded() {
        let mut headroom = MemoryHeadroom::default();
        assert!(!headroom.tick(&Sample { limit: 16, ..Sample::default() }, 8));
        assert_eq!(headroom.most(), None);
    }
}
