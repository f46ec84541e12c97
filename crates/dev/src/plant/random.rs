//! The plants that controllers are judged on, drawn by a seed. Their distribution was settled before any controller was
//! written; decision 3 of docs/decisions.md has the reasons. Their machine may wobble: a process with a memory, as measured on
//! a virtual machine with busy neighbours.

use super::{Curve, Fall, Plant, Rise, Shift};
use evenkeel_core::random::{Random, Seed};

/// Range of the best limits, which are drawn evenly in ln n.
const BEST: (f64, f64) = (1.0, 200.0);
/// Range of the peak throughput per second, which is drawn evenly in its logarithm.
const PEAK_PER_S: (f64, f64) = (200.0, 20_000.0);
/// Completions at the peak in one probe half: the unit of time of the judgement.
const HALF_COMPLETIONS: f64 = 500.0;
/// Share of plants whose peak moves once, and probe halves after which it does.
const MOVING: f64 = 0.1;
pub const SHIFT_HALVES: u32 = 120;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Distribution {
    /// How the machine wobbles; `None`: up to 3 % with a memory of a second, drawn for each plant.
    pub wobble: Option<Wobble>,
    /// Standard error that the mean of a half may have where the machine wobbles, which makes halves longer; `None`: they are
    /// as long as on a steady machine.
    pub half_error: Option<f64>,
}

impl Distribution {
    /// The same plants on a machine that wobbles as much as one that was measured, with halves whose means are known to
    /// 5 %, about what chance alone leaves of 500 completions.
    pub fn wobbling() -> Self {
        Self { half_error: Some(0.05), ..Self::wobbling_in_short_halves() }
    }

    /// The same with halves as short as on a steady machine, so that a controller gets no more time because it wobbles.
    pub fn wobbling_in_short_halves() -> Self {
        Self { wobble: Some(Wobble::MEASURED), half_error: None }
    }

    /// Length of a probe half of a plant in seconds: the time of so many completions at the peak, at least a tenth of a
    /// second, which is two ticks; where the mean of a half is to be known to an error, so long that chance and wobble
    /// leave no more of it at the peak.
    pub fn half_s(&self, plant: &Plant) -> f64 {
        let half_s = (HALF_COMPLETIONS / plant.peak_per_s).max(0.1);
        let Some((wobble, error)) = self.wobble.zip(self.half_error) else { return half_s };
        let is_known =
            |seconds: &f64| wobble.variance(*seconds) + 1.0 / (plant.peak_per_s * seconds) <= error * error;
        let ticks = (half_s / TICK_S).ceil() as u32;
        (ticks..(MOST_S / TICK_S) as u32)
            .map(|ticks| f64::from(ticks) * TICK_S)
            .find(is_known)
            .unwrap_or(MOST_S)
    }
}

const MOST_S: f64 = 500.0;

/// Share of the peak that no plant goes below: at this rate a drain of 1,024 transactions takes 20 probe halves,
/// a third of what a controller is given. Deeper, the server would decide the outcome, whatever the controller does.
const FLOOR: f64 = 0.1;

/// Plant number `number` of a seed; it does not depend on how many others are drawn.
pub fn random_plant(distribution: &Distribution, seed: Seed, number: u64) -> Plant {
    let mut draw = Draw(Random::new(seed.child("plant").numbered(number)));
    let best = draw.log_between(BEST);
    let peak_per_s = draw.log_between(PEAK_PER_S);
    let curve = draw.curve(best);
    let mut plant = Plant {
        floor: FLOOR,
        settle_s: draw.log_between((0.001, 0.1)),
        wobble: draw.between(0.0, 0.03),
        ..Plant::new(curve, peak_per_s)
    };
    if let Some(wobble) = distribution.wobble {
        (plant.wobble, plant.wobble_memory_s) = (wobble.of_a_tick(), wobble.memory_s);
    }
    if draw.0.chance(MOVING) {
        let factor = draw.log_between((0.25, 4.0));
        // The moved peak stays where the best limits of all plants are.
        let factor = factor.clamp(BEST.0 / best, BEST.1 / best);
        let at_s = f64::from(SHIFT_HALVES) * distribution.half_s(&plant);
        plant.shift = Some(Shift { at_s, factor, over_s: 0.0 });
    }
    plant
}

struct Draw(Random);

impl Draw {
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.0.unit()
    }

    fn log_between(&mut self, (low, high): (f64, f64)) -> f64 {
        self.between(low.ln(), high.ln()).exp()
    }

    /// A curve of one of seven families, which are equally likely.
    fn curve(&mut self, best: f64) -> Curve {
        match self.0.uniform(0, 6) {
            0 => Curve::Linear { knee: best },
            1 => {
                let sigma = self.between(0.0, 0.3);
                Curve::Usl { sigma, kappa: (1.0 - sigma) / (best * best) }
            }
            2 => self.peaked(best, Self::shelf),
            3 => self.peaked(best, Self::locks),
            4 => self.peaked(best, |draw| draw.cliff(1.0, 1.5)),
            5 => self.peaked(best, |draw| draw.cliff(1.5, 4.0)),
            _ => self.two_bottlenecks(best),
        }
    }

    fn peaked(&mut self, peak: f64, fall: impl FnOnce(&mut Self) -> Fall) -> Curve {
        let rise = Rise { bend: self.log_between((0.3, 3.0)) };
        Curve::peaked(peak, rise, fall(self))
    }

    fn shelf(&mut self) -> Fall {
        let start = self.log_between((1.5, 6.0));
        Fall::Shelf { start, end: start * self.log_between((4.0, 32.0)), height: self.between(0.2, 0.8) }
    }

    fn locks(&mut self) -> Fall {
        Fall::Power { exponent: self.between(0.3, 1.7), floor: self.between(FLOOR, 0.3), by_locks: true }
    }

    fn cliff(&mut self, nearest: f64, farthest: f64) -> Fall {
        Fall::Cliff { edge: self.log_between((nearest, farthest)), height: self.between(FLOOR, 0.6) }
    }

    fn two_bottlenecks(&mut self, peak: f64) -> Curve {
        let first = (peak / self.log_between((2.0, 20.0))).max(1.0);
        let slope = self.between(0.15, 0.5);
        let fall = if self.0.chance(0.5) { self.locks() } else { self.shelf() };
        Curve::TwoBottlenecks { first, slope, peak, fall }
    }
}

/// Length of a tick of a trial in seconds.
pub const TICK_S: f64 = 0.05;

/// How much the speed wobbles and how long a deviation lasts: ln X is an Ornstein-Uhlenbeck process in steps of a tick.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wobble {
    /// Standard deviation of the mean of ln X over `over_s`.
    pub sd: f64,
    /// The stretch, in seconds, over which that was measured: some ticks.
    pub over_s: f64,
    /// Time constant, in seconds, of its autocorrelation.
    pub memory_s: f64,
}

impl Wobble {
    /// The wobble that decision 4 of docs/decisions.md measured: 14 to 19 % over 100 ms, with correlations that are gone after a second.
    pub const MEASURED: Self = Self { sd: 0.16, over_s: 0.1, memory_s: 0.3 };

    pub fn of_a_tick(&self) -> f64 {
        self.sd / self.averaged((self.over_s / TICK_S).round().max(1.0)).sqrt()
    }

    pub fn variance(&self, seconds: f64) -> f64 {
        self.of_a_tick().powi(2) * self.averaged((seconds / TICK_S).max(1.0))
    }

    /// Variance of the mean of so many ticks in succession over that of one. Ticks `d` apart correlate by `r^d`, so it is
    /// `(1 + r) / (k (1 - r)) - 2 r (1 - r^k) / (k (1 - r))^2`.
    fn averaged(&self, ticks: f64) -> f64 {
        let keep = (-TICK_S / self.memory_s).exp();
        let apart = ticks * (1.0 - keep);
        (1.0 + keep) / apart - 2.0 * keep * (1.0 - keep.powf(ticks)) / apart.powi(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plants(count: u64) -> impl Iterator<Item = Plant> {
        (0..count).map(|number| random_plant(&Distribution::default(), Seed(1), number))
    }

    #[test]
    fn best_limits_are_even_in_the_logarithm_from_1_to_200() {
        let best: Vec<f64> = plants(4_000).map(|plant| plant.curve.peak()).collect();
        assert!(best.iter().all(|&best| (0.99..=200.1).contains(&best)));
        for (from, to) in [(1.0, 3.76), (3.76, 14.1), (14.1, 53.2), (53.2, 200.0)] {
            let share = best.iter().filter(|&&best| best >= from && best < to).count() as f64 / 4_000.0;
            assert!((0.22..0.28).contains(&share), "{from} to {to}: {share}");
        }
    }

    #[test]
    fn a_tenth_moves_its_peak_and_stays_in_range() {
        let moving: Vec<Plant> = plants(2_000).filter(|plant| plant.shift.is_some()).collect();
        assert!((150..250).contains(&moving.len()), "{}", moving.len());
        for plant in moving {
            let moved = plant.curve.peak() * plant.stretch(f64::MAX);
            assert!((0.99..=200.1).contains(&moved), "{moved}");
        }
    }
}
