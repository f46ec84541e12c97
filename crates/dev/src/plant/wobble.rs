//! A machine whose own speed wobbles: a process with a memory, as measured on a virtual machine with busy neighbours.

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
    /// The wobble that docs/decisions/0004 measured: 14 to 19 % over 100 ms, with correlations that are gone after a second.
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
    use crate::control::simulation::{Load, Scenario, Step, simulate};
    use crate::plant::{Curve, Plant};
    use evenkeel_core::Nanos;
    use evenkeel_core::control::Fixed;
    use evenkeel_core::random::Seed;

    /// Completions of a plant that wobbles as measured, at 100,000 a second: chance adds 1 % over 100 ms.
    fn counts(seconds: u64) -> Vec<f64> {
        let wobble = Wobble::MEASURED;
        let plant = Plant {
            wobble: wobble.of_a_tick(),
            wobble_memory_s: wobble.memory_s,
            ..Plant::new(Curve::Linear { knee: 1.0 }, 1e5)
        };
        let scenario = Scenario {
            plants: vec![plant],
            load: Load::constant(4),
            tick: Nanos::from_secs_f64(TICK_S),
            duration: Nanos::from_secs(seconds),
            initial_limit: 1,
            seed: Seed(3),
        };
        let steps = simulate(&scenario, &mut Fixed::new(1)).steps;
        steps.iter().map(|step: &Step| step.completions as f64).collect()
    }

    /// Standard deviation over the mean, of sums of so many ticks.
    fn spread(counts: &[f64], ticks: usize) -> f64 {
        let sums: Vec<f64> = counts.chunks_exact(ticks).map(|ticks| ticks.iter().sum()).collect();
        let mean = sums.iter().sum::<f64>() / sums.len() as f64;
        let variance = sums.iter().map(|sum| (sum - mean).powi(2)).sum::<f64>() / sums.len() as f64;
        variance.sqrt() / mean
    }

    #[test]
    fn the_mean_of_a_long_stretch_has_the_variance_that_is_computed() {
        let counts = counts(8_000);
        for ticks in [2, 20, 130] {
            let sd = spread(&counts, ticks);
            let expected = Wobble::MEASURED.variance(ticks as f64 * TICK_S).sqrt();
            assert!((sd / expected - 1.0).abs() < 0.12, "{ticks} ticks: {sd}, {expected} expected");
        }
    }
}
