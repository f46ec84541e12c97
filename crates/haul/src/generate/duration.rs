//! How long calls last.

use evenkeel_core::random::Random;

/// How long answered calls last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duration {
    /// Log-logistic with a median of 60 s and a shape of 1.6, at most 4 h: what most callers' calls look like.
    LogLogistic,
    /// Lognormal with a median of 49 s and a deviation of 1.2 of the logarithm, at most 4 h.
    LogNormal,
}

/// Longest call, seconds.
const LONGEST_S: f64 = 14_400.0;

impl Duration {
    pub(super) fn draw(self, random: &mut Random) -> u64 {
        let seconds = match self {
            Self::LogLogistic => {
                // The inverse of F(x) = 1 / (1 + (x/a)^-b), up to where F reaches the longest call.
                let most = 1.0 / (1.0 + (LONGEST_S / 60.0_f64).powf(-1.6));
                let share = random.unit() * most;
                60.0 * (share / (1.0 - share)).powf(1.0 / 1.6)
            }
            Self::LogNormal => (3.9 + 1.2 * random.normal()).exp().min(LONGEST_S),
        };
        seconds.max(1.0) as u64
    }
}
