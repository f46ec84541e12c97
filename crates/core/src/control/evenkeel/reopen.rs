//! When to look again at limits that were refused.
//!
//! A change of throughput or strain may have moved the peak, so everything is open again at once. A machine with busy
//! neighbours changes all the time and moves no peak: each look that found nothing makes the next one wait longer.

/// Seconds before the next look after one that found nothing; doubles each time, up to the most.
const WAIT_S: (f64, f64) = (8.0, 60.0);
/// Seconds of calm after which a change is a change again.
const CALM_S: f64 = 120.0;

/// Looks since something better was found.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reopen {
    /// Looks that found nothing.
    vain: u32,
    /// When the last one began.
    at_s: f64,
    /// A change waits for its look.
    pending: bool,
}

impl Reopen {
    /// Whether a look may begin now.
    pub fn is_due(&self, now_s: f64) -> bool {
        let since_s = now_s - self.at_s;
        let wait_s = WAIT_S.0 * f64::from(1_u32 << self.vain.saturating_sub(1).min(8));
        self.vain == 0 || since_s >= wait_s.min(WAIT_S.1)
    }

    /// A change that has to wait.
    pub fn wait(&mut self) {
        self.pending = true;
    }

    /// Whether a change has waited long enough.
    pub fn takes_pending(&mut self, now_s: f64) -> bool {
        let due = self.pending && self.is_due(now_s);
        self.pending &= !due;
        due
    }

    /// A look begins.
    pub fn begin(&mut self, now_s: f64) {
        let calm = now_s - self.at_s > CALM_S;
        *self = Self { vain: if calm { 1 } else { self.vain + 1 }, at_s: now_s, pending: false };
    }

    /// Something better was found.
    pub fn found(&mut self) {
        self.vain = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_that_find_nothing_become_rare_and_one_that_does_makes_the_next_prompt() {
        let mut reopen = Reopen::default();
        let mut looks = Vec::new();
        for second in 0..200_u32 {
            if reopen.is_due(f64::from(second)) {
                reopen.begin(f64::from(second));
                looks.push(second);
            }
        }
        assert_eq!(looks, [0, 8, 24, 56, 116, 176]);
        reopen.found();
        assert!(reopen.is_due(200.0));
    }

    #[test]
    fn a_change_that_has_to_wait_is_not_forgotten() {
        let mut reopen = Reopen::default();
        reopen.begin(0.0);
        reopen.wait();
        assert!(!reopen.takes_pending(7.0));
        assert!(reopen.takes_pending(8.0));
        assert!(!reopen.takes_pending(9.0), "once");
    }
}
