/// Holds the mean of what is outstanding at a window, also at one below 1, by sigma-delta modulation: an I/O that fits goes at
/// once; one that fits only in part goes when the time integral of `window - outstanding` is not negative.
///
/// That integral, the credit, has no bound in seconds: a debt is what one I/O has had beyond the window, and whoever
/// forgives a part of it lets the mean rise above the window, the more so the smaller the window and the larger the I/O. Two
/// things are no debts. What is outstanding beyond a window that was lowered is *excused*: who sent it kept to the window of
/// then. And after a stall of the storage a host does not wait for ever: [`forgive`](Pacer::forgive). Credit does not build
/// up while nothing is wanted, so that there is no burst after idleness.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pacer {
    window: f64,
    outstanding: f64,
    /// The part of it that was within the window when it was sent and is beyond the present one.
    excused: f64,
    /// The time integral of `window - outstanding`, at most 0.
    credit: f64,
    at_s: f64,
}

impl Pacer {
    pub fn new(window: f64, now_s: f64) -> Self {
        Self { window, outstanding: 0.0, excused: 0.0, credit: 0.0, at_s: now_s }
    }

    pub fn set(&mut self, window: f64, now_s: f64) {
        self.pass(now_s);
        if window.is_finite() {
            let window = window.max(0.0);
            self.excused = (self.excused + self.window - window).max(0.0);
            self.window = window;
            self.excuse();
        }
    }

    pub fn window(&self) -> f64 {
        self.window
    }

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

    pub fn complete(&mut self, cost: f64, now_s: f64) {
        self.pass(now_s);
        self.outstanding = (self.outstanding - cost).max(0.0);
        self.excuse();
    }

    /// Forgives the debt that the window cannot pay in so many seconds, but for a debt that is usual. Called with the length
    /// of a period at the end of each, it lets a host with a window send within two periods, however long the storage stood
    /// still. An I/O that costs many times the window owes more than a period can pay each time; that is no stall, and who
    /// forgave it would let such I/Os have more than their share.
    pub fn forgive(&mut self, seconds: f64, usual: f64, now_s: f64) {
        self.pass(now_s);
        self.credit = self.credit.max(-(self.window * seconds.max(0.0)).max(usual));
    }

    /// Takes back the excuse of what is within the window by now.
    fn excuse(&mut self) {
        self.excused = self.excused.min((self.outstanding - self.window).max(0.0));
    }

    fn pass(&mut self, now_s: f64) {
        let seconds = (now_s - self.at_s).max(0.0);
        self.at_s = self.at_s.max(now_s);
        let counted = self.outstanding - self.excused;
        self.credit = (self.credit + seconds * (self.window - counted)).min(0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean outstanding over ten seconds, of I/Os that take so long each and are always wanted.
    fn mean(window: f64, cost: f64, latency_s: f64) -> f64 {
        let mut pacer = Pacer::new(window, 0.0);
        let (mut due, mut area): (Vec<f64>, f64) = (Vec::new(), 0.0);
        let step = 1e-5;
        for step_number in 0..1_000_000 {
            let now = f64::from(step_number) * step;
            while due.first().is_some_and(|&first| first <= now) {
                due.remove(0);
                pacer.complete(cost, now);
            }
            while pacer.send(cost, now).is_ok() {
                due.push(now + latency_s);
            }
            area += pacer.outstanding() * step;
        }
        area / 10.0
    }

    #[test]
    fn the_mean_outstanding_is_the_window_also_below_one_and_between_numbers() {
        for window in [0.3, 1.0, 2.5, 7.9] {
            for cost in [1.0, 1.4] {
                let mean = mean(window, cost, 0.01);
                assert!((mean / window - 1.0).abs() < 0.03, "{mean} of {window} with cost {cost}");
            }
        }
    }

    #[test]
    fn what_was_sent_within_a_larger_window_is_no_debt() {
        let mut pacer = Pacer::new(70.0, 0.0);
        (0..70).for_each(|_| assert_eq!(pacer.send(1.0, 0.0), Ok(())));
        pacer.set(4.0, 0.0);
        (0..70).for_each(|_| pacer.complete(1.0, 0.1));
        assert_eq!(pacer.send(4.3, 0.1), Ok(()), "fits only in part, and nothing is owed");
    }

    #[test]
    fn windows_that_change_a_little_excuse_nothing_that_is_beyond_all_of_them() {
        let mut pacer = Pacer::new(0.5, 0.0);
        assert_eq!(pacer.send(1.0, 0.0), Ok(()));
        (1..=1_000).for_each(|step_number| {
            pacer.set(if step_number % 2 == 0 { 0.5 } else { 0.49 }, f64::from(step_number) * 0.0001)
        });
        pacer.complete(1.0, 0.1);
        let wait = pacer.send(1.0, 0.1).unwrap_err();
        assert!((wait - 0.1).abs() < 0.01, "{wait}");
    }

    #[test]
    fn after_a_stall_nobody_waits_longer_than_a_period() {
        let mut pacer = Pacer::new(0.1, 0.0);
        assert_eq!(pacer.send(1.0, 0.0), Ok(()));
        pacer.complete(1.0, 1_000.0);
        pacer.forgive(2.0, 0.0, 1_000.0);
        let wait = pacer.send(1.0, 1_000.0).unwrap_err();
        assert!((wait - 2.0).abs() < 1e-9, "{wait}");
    }

    #[test]
    fn idleness_earns_no_burst() {
        let mut pacer = Pacer::new(2.0, 0.0);
        let sent = (0..10).filter(|_| pacer.send(1.0, 100.0).is_ok()).count();
        assert_eq!(sent, 2);
    }
}
