//! When refused limits are tested again because the server has changed.
//!
//! A change of throughput or of strain may have moved the best limit, so that refused limits are rechecked at once. On a
//! machine with busy neighbours throughput changes all the time and the best limit stays: each recheck that found nothing
//! better makes the next one wait longer.

/// Seconds from a recheck that found nothing to the next one: the first such wait, which doubles each time, and the
/// longest.
const WAIT_S: (f64, f64) = (8.0, 60.0);
/// After so many seconds without a recheck the next wait is the first one again.
const CALM_S: f64 = 120.0;

/// The rechecks since a better limit was found.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Recheck {
    vain: u32,
    at_s: f64,
    /// Whether a change was seen whose recheck had to wait.
    pending: bool,
}

impl Recheck {
    pub fn is_due(&self, now_s: f64) -> bool {
        let since_s = now_s - self.at_s;
        let wait_s = WAIT_S.0 * f64::from(1_u32 << self.vain.saturating_sub(1).min(8));
        self.vain == 0 || since_s >= wait_s.min(WAIT_S.1)
    }

    pub fn wait(&mut self) {
        self.pending = true;
    }

    /// Whether a noted change has waited long enough; then it waits no more.
    pub fn takes_pending(&mut self, now_s: f64) -> bool {
        let due = self.pending && self.is_due(now_s);
        self.pending &= !due;
        due
    }

    pub fn begin(&mut self, now_s: f64) {
        let calm = now_s - self.at_s > CALM_S;
        *self = Self { vain: if calm { 1 } else { self.vain + 1 }, at_s: now_s, pending: false };
    }

    pub fn found(&mut self) {
        self.vain = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rechecks_that_find_nothing_become_rare_and_one_that_does_makes_the_next_prompt() {
        let mut recheck = Recheck::default();
        let mut begun = Vec::new();
        for second in 0..200_u32 {
            if recheck.is_due(f64::from(second)) {
                recheck.begin(f64::from(second));
                begun.push(second);
            }
        }
        assert_eq!(begun, [0, 8, 24, 56, 116, 176]);
        recheck.found();
        assert!(recheck.is_due(200.0));
    }

    #[test]
    fn a_change_that_has_to_wait_is_not_forgotten() {
        let mut recheck = Recheck::default();
        recheck.begin(0.0);
        recheck.wait();
        assert!(!recheck.takes_pending(7.0));
        assert!(recheck.takes_pending(8.0));
        assert!(!recheck.takes_pending(9.0), "once");
    }
}
