//! Ticks that are no evidence for or against a limit: the server stands still, a lowered limit drains, or the clients do
//! not fill the limit.

use super::strain::{MEMORY, PAUSE_S};
use super::{Drain, Evenkeel};
use crate::control::{Reason, Sample};

/// A test that its clients have left waits so many seconds for them to come back.
const SUSPENDED_S: f64 = 30.0;

impl Evenkeel {
    /// Completions per second that a healthy server makes at least, once enough of them were seen: with fewer in flight, at
    /// least in proportion. `None` at a limit that is only tried, since of that nothing can be expected.
    pub(super) fn due_per_s(&self) -> Option<f64> {
        let (limit, per_s) = self.usual?;
        (self.limit <= self.in_use).then(|| per_s * (f64::from(self.limit) / f64::from(limit)).min(1.0))
    }

    /// Nothing has completed for so long that the server seems to stand still.
    pub(super) fn on_silence(&mut self, seconds: f64) -> Reason {
        if let Some(probe) = self.probe.take() {
            // Either the limit tried stops everything, or the server stands still by itself. The limit in use comes back,
            // and the other one has to wait without a verdict on its throughput.
            self.refused.refuse(probe.to, self.in_use, self.now, self.now - probe.began, self.patience_s());
            self.set(self.in_use);
        }
        if let Some((limit, _)) = self.last_refused.take_if(|(_, at)| self.now - *at <= seconds + PAUSE_S) {
            // The silence began with the refusal: the server stood still, and the limit was refused for that.
            self.refused.forget(limit);
        }
        self.dispersion.part();
        self.watch.retract(seconds);
        self.skip_s = self.skip_s.max(PAUSE_S);
        Reason::Silent { seconds }
    }

    /// Memory runs out at the limit that is tried: the limit in use comes back at once, and the other one has to wait
    /// without a verdict on its throughput.
    pub(super) fn give_up(&mut self) -> Reason {
        let wanted = self.limit;
        if let Some(probe) = self.probe.take() {
            self.refused.refuse(probe.to, self.in_use, self.now, self.patience_s(), self.patience_s());
        }
        self.set(self.in_use);
        Reason::MemoryCap { wanted }
    }

    /// Whether transactions that were admitted under a higher limit are still ending. After a second in which none of them
    /// ended this is no longer waited for.
    pub(super) fn drains(&mut self, sample: &Sample) -> bool {
        let close = sample.in_flight_mean <= 1.1 * f64::from(self.limit);
        if sample.in_flight_max <= self.limit || close {
            self.drain = Drain::default();
            return false;
        }
        if self.drain.in_flight == 0 || sample.in_flight_max < self.drain.in_flight {
            self.drain = Drain { in_flight: sample.in_flight_max, stuck_s: 0.0 };
        } else {
            self.drain.stuck_s += sample.seconds();
        }
        self.drain.stuck_s < 1.0
    }

    pub(super) fn on_not_full(&mut self, sample: &Sample) -> Reason {
        let in_flight = sample.in_flight_mean;
        self.dispersion.part();
        let Some(mut probe) = self.probe.take() else {
            self.base.cap(MEMORY / 10.0 * self.scale());
            return Reason::NotFull { in_flight };
        };
        let gone = !probe.trying || in_flight < 0.9 * f64::from(self.in_use.min(probe.to));
        let lasts_s = if gone { &mut probe.gone_s } else { &mut probe.unfilled_s };
        *lasts_s += sample.seconds();
        if *lasts_s < 0.1 {
            self.probe = Some(probe);
            return self.describe();
        }
        self.set(self.in_use);
        if gone {
            // Neither limit is filled: the clients went away, which is no evidence about either.
            let worth = probe.tried.seconds > 0.0 && probe.gone_s < SUSPENDED_S;
            self.probe = worth.then(|| probe.suspended());
            return Reason::NotFull { in_flight };
        }
        self.refused.refuse(probe.to, self.in_use, self.now, 1.0, self.patience_s());
        Reason::CannotFill { limit: probe.to, in_flight }
    }
}

#[cfg(test)]
mod tests {
    use super::super::*;
    use crate::time::Nanos;

    /// The controller with no limit but the usual range, from this limit on.
    fn evenkeel(initial: u32) -> Evenkeel {
        Evenkeel::new(Bounds::starting_at(initial), Settings::default())
    }

    /// A tick of 50 ms as a plant without noise gives it.
    fn exact(number: u64, limit: u32, in_flight: f64, per_s: f64) -> Sample {
        let count = per_s * 0.05;
        Sample {
            start: Nanos::from_millis(50 * number),
            end: Nanos::from_millis(50 * number + 50),
            limit,
            in_flight_mean: in_flight,
            in_flight_max: in_flight.ceil() as u32,
            queued: 1_000.0,
            completions: count.round() as u64,
            work: count,
            ..Sample::default()
        }
    }

    #[test]
    fn clients_that_go_away_in_a_test_say_nothing_about_the_limit_tried() {
        for initial in [8, 64] {
            for filled in [0, 7, 8] {
                clients_go_away_after(initial, filled);
            }
        }
    }

    /// In the first test, after so many ticks in which the limit tried was in force; the curve is flat, so the test is long.
    fn clients_go_away_after(initial: u32, filled: u32) {
        let mut controller = evenkeel(initial);
        controller.descends = false;
        let (mut limit, mut number, mut tried) = (initial, 0, None);
        let mut tick = |share: f64| {
            let decision = controller.update(&exact(number, limit, share * f64::from(limit), 800.0 * share));
            (limit, number) = (decision.limit, number + 1);
            decision
        };
        while tried.is_none() {
            let decision = tick(1.0);
            tried = matches!(decision.why, Reason::Trying { .. }).then_some(decision.limit);
        }
        for _ in 0..filled {
            tick(1.0);
        }
        for _ in 0..200 {
            assert!(!matches!(tick(0.05).why, Reason::CannotFill { .. }));
        }
        assert_eq!(tick(0.05).limit, initial, "meanwhile the limit in use is in force");
        let next = (0..40).map(|_| tick(1.0).limit).find(|&limit| limit != initial);
        assert_eq!(next, tried, "{initial} after {filled}: the same limit is tried again");
    }

    #[test]
    fn what_does_not_fill_the_limit_teaches_nothing() {
        let mut controller = evenkeel(8);
        for number in 0..2_000 {
            let decision = controller.update(&exact(number, 8, 5.0, 900.0));
            assert_eq!(decision.limit, 8, "{decision}");
        }
    }

    #[test]
    fn a_probe_that_the_clients_cannot_fill_is_not_begun() {
        let mut controller = evenkeel(8);
        let mut limit = 8;
        for number in 0..2_000 {
            let per_s = 100.0 * f64::from(limit);
            let sample = Sample { queued: 0.0, ..exact(number, limit, f64::from(limit), per_s) };
            limit = controller.update(&sample).limit;
            assert!(limit <= 8, "{limit} for 8 clients");
        }
    }

    #[test]
    fn a_sample_that_makes_no_sense_is_not_used() {
        let mut controller = evenkeel(8);
        let bad = [
            Sample { work: f64::NAN, ..exact(0, 8, 8.0, 100.0) },
            Sample { work: -1.0, ..exact(0, 8, 8.0, 100.0) },
            Sample { end: Nanos::ZERO, ..exact(0, 8, 8.0, 100.0) },
            Sample { in_flight_mean: f64::INFINITY, ..exact(0, 8, 8.0, 100.0) },
        ];
        for sample in bad {
            assert_eq!(controller.update(&sample), Decision { limit: 8, why: Reason::BadSample });
        }
        assert_eq!(controller.update(&exact(0, 12, 12.0, 100.0)).why, Reason::NotInForce { limit: 12 });
    }

    #[test]
    fn want_of_memory_halves_the_limit_at_once() {
        let mut controller = evenkeel(40);
        let mut limit = 40;
        let mut braked = None;
        for number in 0..200 {
            let mut sample = exact(number, limit, f64::from(limit), 1_000.0);
            sample.signals.memory_pressure = Some(0.3);
            let decision = controller.update(&sample);
            limit = decision.limit;
            if let Reason::Brake { from, because } = decision.why {
                braked.get_or_insert((from, because, limit));
            }
        }
        assert_eq!(braked, Some((40, Hint::Memory, 20)));
    }
}
