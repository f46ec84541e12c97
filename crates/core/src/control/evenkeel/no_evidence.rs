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
