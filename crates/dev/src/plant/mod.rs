//! Servers as a controller meets them: throughput as a function of the transactions in flight.
//!
//! A plant completes transactions at the rate `X(n, t)` when `n` are in flight. Every shape that was measured or
//! is known from the literature is a [`Curve`]; a [`Plant`] adds the scale, how long the server takes to feel a
//! change of `n`, a slow wobble of the machine, a peak that moves, and what sensors would read.

mod curve;
mod measured;
mod random;

pub use curve::{Curve, Fall, Rise};
pub use measured::{MEASURED, Measured};
pub use random::{Distribution, SHIFT_HALVES, TICK_S, Wobble, random_plant};

use evenkeel_core::control::Signals;

/// A change of the plant at an instant: the curve is stretched along `n`, so that the peak moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    pub at_s: f64,
    /// The best limit after it, as a multiple of that before.
    pub factor: f64,
    /// Seconds over which it happens, evenly in ln n; 0 for at once.
    pub over_s: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Plant {
    pub curve: Curve,
    /// Throughput where the curve is 1, completions per second.
    pub peak_per_s: f64,
    /// Share of the peak that throughput never falls below, since time-outs end transactions that block each other.
    pub floor: f64,
    /// Time constant, in seconds, with which the server feels a change of in flight (caches, memory).
    pub settle_s: f64,
    /// Standard deviation of ln X from the machine itself (neighbours, checkpoints), from tick to tick.
    pub wobble: f64,
    /// Time constant, in seconds, with which the machine forgets how fast it was.
    pub wobble_memory_s: f64,
    pub shift: Option<Shift>,
    /// Cost of a transaction in units of the usual one; a change of mix changes it.
    pub cost: f64,
    /// Bytes that are free with nothing in flight, and that each transaction takes.
    pub memory: Option<(f64, f64)>,
    pub sensors: bool,
}

impl Plant {
    /// A plant without delay, wobble, movement or sensors.
    pub fn new(curve: Curve, peak_per_s: f64) -> Self {
        Self {
            curve,
            peak_per_s,
            floor: 0.0,
            settle_s: 0.0,
            wobble: 0.0,
            wobble_memory_s: 1.0,
            shift: None,
            cost: 1.0,
            memory: None,
            sensors: false,
        }
    }

    /// Completions per second with `n` in flight at `t` seconds, without noise; 0 where nothing is in flight.
    pub fn throughput(&self, n: f64, t: f64) -> f64 {
        if n <= 0.0 {
            return 0.0;
        }
        // With less than one in flight in the mean, the server is idle part of the time.
        let (share, n) = if n < 1.0 { (n, 1.0) } else { (1.0, n) };
        let n = n / self.stretch(t);
        let at = self.curve.at(n);
        self.peak_per_s * share * if n > self.curve.peak() { at.max(self.floor) } else { at }
    }

    /// The best limit from 1 to `most` at `t`, and its throughput per second.
    pub fn best(&self, most: u32, t: f64) -> (u32, f64) {
        let of = |n: u32| self.throughput(f64::from(n), t);
        let best = (1..=most.max(1)).fold(1, |best, n| if of(n) > of(best) { n } else { best });
        (best, of(best))
    }

    pub fn stretch(&self, t: f64) -> f64 {
        let Some(shift) = self.shift else { return 1.0 };
        if t < shift.at_s {
            return 1.0;
        }
        let done = if shift.over_s > 0.0 { ((t - shift.at_s) / shift.over_s).min(1.0) } else { 1.0 };
        shift.factor.powf(done)
    }

    /// Transactions rolled back by deadlocks for each that commits, with `n` in flight: none up to the peak, 3.4 where
    /// locks have taken all but a 43rd of it, as measured on the flash sale.
    pub fn deadlocks(&self, n: f64, t: f64) -> f64 {
        if self.curve.falls_by_locks() { 0.08 * (self.lost(n, t) - 1.0) } else { 0.0 }
    }

    /// Peak over throughput beyond the peak; 1 before it.
    fn lost(&self, n: f64, t: f64) -> f64 {
        let stretched = (n / self.stretch(t)).max(1.0);
        if stretched > self.curve.peak() { 1.0 / self.curve.at(stretched).max(0.01) } else { 1.0 }
    }

    /// What sensors would read with `n` in flight; all are absent where the plant has no sensors.
    ///
    /// The share of in-flight time in lock waits is what lies beyond the peak, `1 - b/n`, for curves that fall by
    /// locks; CPU time per commit grows as throughput falls below the peak beyond it, as measured on the flash sale
    /// (cycles per commit 2,030 -> 22,677 while throughput fell by 43).
    pub fn signals(&self, n: f64, t: f64) -> Signals {
        if !self.sensors {
            return Signals::default();
        }
        let stretched = (n / self.stretch(t)).max(1.0);
        let beyond = (1.0 - self.curve.peak() / stretched).max(0.0);
        let locks = self.curve.falls_by_locks();
        Signals {
            cpu_per_commit: Some(self.lost(n, t).sqrt() / self.peak_per_s),
            lock_wait_share: Some(if locks { beyond } else { 0.0 }),
            deadlocks_per_commit: Some(self.deadlocks(n, t)),
            memory_used: self.memory.map(|(_, each)| each * n),
            memory_free: self.memory.map(|(free, each)| (free - each * n).max(0.0)),
            ..Signals::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shift_moves_the_best_limit_and_keeps_the_peak() {
        let curve = Curve::Usl { sigma: 0.0, kappa: 1.0 / 100.0 };
        let shift = Shift { at_s: 10.0, factor: 4.0, over_s: 2.0 };
        let plant = Plant { shift: Some(shift), ..Plant::new(curve, 1_000.0) };
        assert_eq!(plant.best(1_000, 9.9).0, 10);
        assert_eq!(plant.best(1_000, 11.0).0, 20);
        assert_eq!(plant.best(1_000, 12.0).0, 40);
        assert!((plant.best(1_000, 12.0).1 - plant.best(1_000, 0.0).1).abs() < 1e-9);
    }
}
