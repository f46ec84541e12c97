//! When calls of a day begin.

use evenkeel_core::random::{Random, Seed};

/// Share of a day's calls by hour, percent: a guess at a working day, since no published table was at hand.
const HOURS: [f64; 24] = [
    1.0, 0.6, 0.4, 0.3, 0.3, 0.5, 1.2, 2.6, 4.6, 5.8, 6.4, 6.6, 6.3, 5.6, 5.4, 5.6, 6.0, 6.6, 7.2, 7.4, 6.8,
    5.6, 4.2, 3.0,
];

/// Instants of so many calls, in their order: those of a Poisson process whose rate follows the hour, given their number.
pub(super) struct Instants {
    left: u64,
    /// Share of the day's calls that had begun by the last one.
    share: f64,
    random: Random,
}

impl Instants {
    pub fn new(calls: u64, seed: Seed) -> Self {
        Self { left: calls, share: 0.0, random: Random::new(seed) }
    }

    /// Seconds of the day at which the next call begins.
    ///
    /// The least of n uniform numbers in (s, 1) is 1 - (1 - s) U^(1/n).
    pub fn next_s(&mut self) -> u32 {
        let least = (1.0 - self.random.unit()).powf(1.0 / self.left.max(1) as f64);
        self.share = 1.0 - (1.0 - self.share) * least;
        self.left = self.left.saturating_sub(1);
        let mut percent = self.share * HOURS.iter().sum::<f64>();
        for (hour, share) in (0_u32..).zip(HOURS) {
            if percent < share {
                return 3600 * hour + (3600.0 * percent / share) as u32;
            }
            percent -= share;
        }
        86_399
    }
}
