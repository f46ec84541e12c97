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
