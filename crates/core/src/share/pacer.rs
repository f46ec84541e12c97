//! A window that need not be a whole number, kept in the mean.

/// How far credit may run up or down, in seconds of one I/O outstanding.
const CREDIT_S: f64 = 0.25;

/// Holds the mean of what is outstanding at a window, also below 1, by a sigma-delta rule: what fits goes at once; what
/// fits only in part goes when the time integral of `window - outstanding` is not negative. Credit does not build up while
/// nothing is wanted, so that there is no burst after idleness.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pacer {
    window: f64,
    outstanding: f64,
    credit: f64,
    at_s: f64,
}

impl Pacer {
    /// With a window at an instant in seconds.
    pub fn new(window: f64, now_s: f64) -> Self {
        Self { window, outstanding: 0.0, credit: 0.0, at_s: now_s }
    }

    /// Another window from now on.
    pub fn set(&mut self, window: f64, now_s: f64) {
        self.pass(now_s);
        self.window = if window.is_finite() { window.max(0.0) } else { self.window };
    }

    /// The window.
    pub fn window(&self) -> f64 {
        self.window
    }

    /// Cost outstanding.
    pub fn outstanding(&self) -> f64 {
        self.outstanding
    }

    /// Sends an I/O of this cost if it may go now; else the seconds until it may where nothing completes before,
    /// infinite where it has to wait for a completion.
    pub fn send(&mut self, cost: f64, now_s: f64) -> Result<(), f64> {
        self.pass(now_s);
        let room = self.window - self.outstanding;
        if room >= cost - 1e-9 || (room > 1e-9 && self.credit >= -1e-9) {
            self.outstanding += cost;
            return Ok(());
        }
        Err(if room > 1e-9 { -self.credit / room } else { f64::INFINITY })
    }

    /// An I/O of this cost has completed.
    pub fn complete(&mut self, cost: f64, now_s: f64) {
        self.pass(now_s);
        self.outstanding = (self.outstanding - cost).max(0.0);
    }

    fn pass(&mut self, now_s: f64) {
        let seconds = (now_s - self.at_s).max(0.0);
        self.at_s = self.at_s.max(now_s);
        // Credit up to nothing, debt up to a bound: idleness earns nothing, a slow I/O does not starve for ever.
        self.credit = (self.credit + seconds * (self.window - self.outstanding))
            .clamp(-CREDIT_S * self.window.max(1.0), 0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean outstanding over a second, of I/Os that take 10 ms each and are always wanted.
    fn mean(window: f64, cost: f64) -> f64 {
        let mut pacer = Pacer::new(window, 0.0);
        let (mut due, mut area): (Vec<f64>, f64) = (Vec::new(), 0.0);
        let step = 1e-5;
        for tick in 0..1_000_000 {
            let now = f64::from(tick) * step;
            while due.first().is_some_and(|&first| first <= now) {
                due.remove(0);
                pacer.complete(cost, now);
            }
            while pacer.send(cost, now).is_ok() {
                due.push(now + 0.01);
            }
            area += pacer.outstanding() * step;
        }
        area / 10.0
    }

    #[test]
    fn the_mean_outstanding_is_the_window_also_below_one_and_between_numbers() {
        for window in [0.3, 1.0, 2.5, 7.9] {
            for cost in [1.0, 1.4] {
                let mean = mean(window, cost);
                assert!((mean / window - 1.0).abs() < 0.03, "{mean} of {window} with cost {cost}");
            }
        }
    }

    #[test]
    fn idleness_earns_no_burst() {
        let mut pacer = Pacer::new(2.0, 0.0);
        let sent = (0..10).filter(|_| pacer.send(1.0, 100.0).is_ok()).count();
        assert_eq!(sent, 2);
    }

    #[test]
    fn who_must_wait_hears_how_long() {
        let mut pacer = Pacer::new(0.5, 0.0);
        assert_eq!(pacer.send(1.0, 0.0), Ok(()));
        assert_eq!(pacer.send(1.0, 0.01), Err(f64::INFINITY));
        pacer.complete(1.0, 0.01);
        let wait = pacer.send(1.0, 0.01).unwrap_err();
        assert!((wait - 0.01).abs() < 1e-9, "{wait}");
        assert_eq!(pacer.send(1.0, 0.01 + wait), Ok(()));
    }
}
