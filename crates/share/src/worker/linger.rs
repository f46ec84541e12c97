//! Looking again for a moment before sleeping.
//!
//! A client that asks for one I/O after the other comes back at once. To sleep until then, and to be woken, is work for both
//! sides: on a busy machine about as much as the I/O, on an idle virtual one many times that, since a CPU that has
//! gone to sleep is woken by the hypervisor. There it pays to look for the next event a little longer, and to give the CPU
//! to whoever wants it between two looks. Where others want it all the time it does not: a thread that is woken is before
//! them, one that gave way is behind them. Which of both it is nobody can say beforehand, so both ways are timed.

use evenkeel_core::Nanos;

/// The longest look: about what sleeping costs on an idle virtual machine.
pub(super) const LINGER: Nanos = Nanos(50_000);
/// A look is in vain where the next event is usually further away than this.
const NEAR_NS: f64 = 2.0 * LINGER.0 as f64;
/// Longer waits count as this long: how long a client thinks says nothing about either way.
const LONGEST: Nanos = Nanos(20 * LINGER.0);
/// The way that was slower is tried again once in so many waits.
const AGAIN: u32 = 64;
/// Weight of the newest wait in the mean.
const WEIGHT: f64 = 1.0 / 16.0;

/// How long it took until something happened, in the mean, by both ways.
#[derive(Debug, Default)]
pub(super) struct Linger {
    asleep_ns: f64,
    looking_ns: f64,
    waits: u32,
}

impl Linger {
    /// Whether to look before sleeping, this time.
    pub fn looks(&mut self) -> bool {
        self.waits = (self.waits + 1) % AGAIN;
        let pays = self.looking_ns < self.asleep_ns && self.looking_ns < NEAR_NS;
        pays != (self.waits == 0)
    }

    /// So long it took until something happened.
    pub fn learn(&mut self, looked: bool, took: Nanos) {
        let mean = if looked { &mut self.looking_ns } else { &mut self.asleep_ns };
        *mean += (took.min(LONGEST).0 as f64 - *mean) * WEIGHT;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 640 waits after many, how many looked.
    fn looks(linger: &mut Linger, asleep: Nanos, looking: Nanos) -> usize {
        let wait = |_| {
            let looks = linger.looks();
            linger.learn(looks, if looks { looking } else { asleep });
            looks
        };
        let waits: Vec<bool> = (0..5_640).map(wait).collect();
        waits[5_000..].iter().filter(|&&looked| looked).count()
    }

    #[test]
    fn the_faster_way_is_taken_and_the_other_one_tried_now_and_then() {
        let mut linger = Linger::default();
        let us = |us: u64| Nanos(us * 1_000);
        assert_eq!(looks(&mut linger, us(90), us(30)), 630, "an idle machine");
        assert_eq!(looks(&mut linger, us(30), us(60)), 10, "a busy one");
        assert_eq!(looks(&mut linger, us(90), us(30)), 630, "and idle again");
    }

    #[test]
    fn nobody_looks_for_what_is_far_away() {
        let mut linger = Linger::default();
        assert_eq!(looks(&mut linger, Nanos(200_000), Nanos(190_000)), 10);
        assert_eq!(looks(&mut linger, Nanos::from_millis(900), Nanos::from_millis(800)), 10);
        assert_eq!(looks(&mut linger, Nanos(90_000), Nanos(30_000)), 630, "it is near now");
    }
}
