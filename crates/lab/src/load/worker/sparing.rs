//! Few requests in flight while a server is cold, so that it begins the measured phase without a backlog.

use evenkeel_core::Nanos;

/// Arrivals that find too many in flight early in the warm-up are not sent.
///
/// For three quarters of the warm-up at most: then all are sent, and what is in flight grows to what it is in the long run. A server
/// whose requests take long even so is slow and not cold, and needs that time: half-way a mean response of more than a sixteenth of
/// the warm-up ends it.
pub(super) struct Sparing {
    max: usize,
    half: Nanos,
    until: Nanos,
    slow: Nanos,
    ended: u64,
    took: Nanos,
}

impl Sparing {
    /// Of a warm-up that begins at `start`, with so many in flight; `None` spares nothing.
    pub fn new(max: Option<usize>, start: Nanos, warm_up: Nanos) -> Self {
        let until = start + Nanos(warm_up.0 / 4 * 3);
        Self {
            max: max.unwrap_or(usize::MAX),
            half: start + Nanos(warm_up.0 / 8 * 3),
            until,
            slow: Nanos(warm_up.0 / 16),
            ended: 0,
            took: Nanos::ZERO,
        }
    }

    pub fn spares(&self, at: Nanos, in_flight: usize) -> bool {
        let is_slow = self.took.0 >= self.ended.saturating_mul(self.slow.0);
        at < self.until && in_flight >= self.max && !(at >= self.half && is_slow)
    }

    pub fn ended(&mut self, took: Nanos) {
        self.ended += 1;
        self.took += took;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(requests: u64, took_ms: u64) -> Sparing {
        let mut sparing = Sparing::new(Some(2), Nanos::from_secs(10), Nanos::from_millis(1_600));
        (0..requests).for_each(|_| sparing.ended(Nanos::from_millis(took_ms)));
        sparing
    }

    #[test]
    fn a_cold_server_is_spared_for_three_quarters_of_the_warm_up() {
        let at = |ms: u64| Nanos::from_secs(10) + Nanos::from_millis(ms);
        let sparing = after(100, 40);
        assert!(sparing.spares(at(0), 2) && sparing.spares(at(1_199), 2));
        assert!(!sparing.spares(at(0), 1) && !sparing.spares(at(1_200), 9));
        assert!(!Sparing::new(None, at(0), Nanos::from_secs(1)).spares(at(0), 1_000));
    }

    #[test]
    fn a_slow_server_is_spared_for_half_of_that_time() {
        let at = |ms: u64| Nanos::from_secs(10) + Nanos::from_millis(ms);
        for sparing in [after(5, 200), after(0, 0)] {
            assert!(sparing.spares(at(599), 2) && !sparing.spares(at(600), 2));
        }
    }
}
