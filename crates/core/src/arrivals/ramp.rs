//! Arrivals whose mean rate rises or falls in a straight line.

use super::Arrivals;
use super::exact_sum::ExactSum;
use super::rate::{RateError, not_negative};
use crate::random::{Random, Seed};
use crate::time::Nanos;

/// Poisson arrivals whose rate goes in a straight line from `a` at the start to `b` per second at the
/// end of `D` seconds.
///
/// With the rate `lambda(t) = a + (b - a) t / D`, the expected number of arrivals up to `t` is
/// `L(t) = a t + (b - a) t^2 / (2 D)`. Where `u` runs through a Poisson process of rate 1, the instants
/// `t` with `L(t) = u` are a Poisson process of rate `lambda(t)` (Çinlar, Introduction to Stochastic
/// Processes, 1975, section 4.7). Solved in the form that neither divides by zero at `a = b` nor
/// subtracts nearly equal numbers:
///
/// `t = 2 u / (a + sqrt(a^2 + 2 u (b - a) / D))`.
///
/// Ends with the ramp. One end of it may be zero.
#[derive(Clone, Debug)]
pub struct Ramp {
    from: f64,
    /// `(b - a) / D`, in arrivals per second squared.
    slope: f64,
    /// `L(D)`: the arrivals expected in all of the ramp.
    expected: f64,
    duration: Nanos,
    sum: ExactSum,
    random: Random,
}

impl Ramp {
    /// Arrivals from rate `from` to rate `to` per second in `duration`.
    pub fn new(from: f64, to: f64, duration: Nanos, seed: Seed) -> Result<Self, RateError> {
        let (from, to) = (not_negative(from)?, not_negative(to)?);
        if from == 0.0 && to == 0.0 {
            return Err(RateError::Zero);
        }
        if duration == Nanos::ZERO {
            return Err(RateError::NoDuration);
        }
        let seconds = duration.as_secs_f64();
        Ok(Self {
            from,
            slope: (to - from) / seconds,
            expected: (from + to) / 2.0 * seconds,
            duration,
            sum: ExactSum::default(),
            random: Random::new(seed),
        })
    }
}

impl Arrivals for Ramp {
    fn next_arrival(&mut self) -> Option<Nanos> {
        self.sum.add(self.random.exponential(1.0));
        let u = self.sum.value();
        if u >= self.expected {
            return None;
        }
        // Rounding may leave the square a hair below zero at the end of a ramp down to nothing.
        let square = (self.from * self.from + 2.0 * u * self.slope).max(0.0);
        let instant = Nanos::from_secs_f64(2.0 * u / (self.from + square.sqrt()));
        Some(instant.min(self.duration))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::kolmogorov_smirnov;
    use proptest::prelude::*;

    fn instants(from: f64, to: f64, seconds: u64, seed: u64) -> Vec<Nanos> {
        let mut ramp = Ramp::new(from, to, Nanos::from_secs(seconds), Seed(seed)).unwrap();
        std::iter::from_fn(|| ramp.next_arrival()).collect()
    }

    #[test]
    fn the_integrated_rate_of_a_ramp_makes_its_arrivals_uniform() {
        // Given their number, the values L(t) / L(D) are independent and uniform.
        for (from, to) in [(0.0, 2_000.0), (1_500.0, 0.0), (700.0, 700.0), (100.0, 900.0)] {
            let mut places: Vec<f64> = instants(from, to, 10, 11)
                .iter()
                .map(|instant| {
                    let t = instant.as_secs_f64();
                    (from * t + (to - from) * t * t / 20.0) / ((from + to) * 5.0)
                })
                .collect();
            let test = kolmogorov_smirnov(&mut places, |place| place);
            assert!(test.p_value > 0.01, "{from} to {to}: {test:?}");
        }
    }

    #[test]
    fn the_number_of_arrivals_is_the_area_under_the_ramp() {
        let count = (0..100).map(|seed| instants(0.0, 1_000.0, 2, seed).len()).sum::<usize>() as f64;
        // 100 ramps of 1,000 expected arrivals each; the standard error of the sum is 316.
        assert!((count - 100_000.0).abs() < 950.0, "{count}");
    }

    proptest! {
        #[test]
        fn arrivals_never_fall_and_never_leave_the_ramp(from in 0.0..1e4_f64, to in 1.0..1e4_f64, seed: u64) {
            let instants = instants(from, to, 1, seed);
            prop_assert!(instants.is_sorted());
            prop_assert!(instants.iter().all(|&instant| instant <= Nanos::from_secs(1)));
        }
    }
}
