//! The end of an engine that has a successor: what was asked is answered, and nothing more is taken.

use super::{Freeze, Worker};
use crate::handover::{Busy, Handed};
use evenkeel_core::Nanos;
use std::sync::mpsc::Sender;
use std::time::Duration;

impl Worker {
    pub(super) fn freeze(&mut self, drain: Duration, to: Sender<Result<Handed, Busy>>) {
        let now = self.clock.now();
        let lost = self.disks.iter().find(|disk| disk.counts.lost.or(disk.backing.lost()).is_some());
        let refusal = match (&mut self.front, lost) {
            // A successor would not know that flushes have to fail.
            (_, Some(disk)) => Busy::Lost { disk: disk.name.clone() },
            _ if self.stopping.is_some() || self.freeze.is_some() => Busy::Ended,
            (Some(front), None) => {
                front.freeze(now);
                let drain = Nanos::from_secs_f64(drain.as_secs_f64());
                self.freeze = Some(Freeze { until: now + drain, to });
                return;
            }
            (None, None) => Busy::Ended,
        };
        // Who asked and went away wants no answer.
        let _ = to.send(Err(refusal));
    }

    /// Whether all is done that was asked.
    pub(super) fn is_settled(&self) -> bool {
        let quiet = self.free.len() == self.flying.len() && self.admission.waiting() == 0;
        quiet && self.requests.is_empty() && self.front.as_ref().is_none_or(|front| front.is_settled())
    }

    pub(super) fn thaws_at(&self) -> Nanos {
        let now = self.clock.now();
        // Past, it would fire for ever.
        self.freeze.as_ref().map_or(Nanos::MAX, |freeze| freeze.until.max(now + Nanos(1)))
    }

    /// Goes on serving where the storage takes too long for what was asked.
    pub(super) fn thaw_if_late(&mut self) {
        let is_late = self.freeze.as_ref().is_some_and(|freeze| self.clock.now() >= freeze.until);
        if is_late && !self.is_settled() {
            self.thaw();
        }
    }

    pub(super) fn thaw(&mut self) {
        if let (Some(freeze), Some(front)) = (self.freeze.take(), &mut self.front) {
            front.thaw();
            let _ = freeze.to.send(Err(Busy::Slow));
        }
    }

    /// At the end: the disks are closed, so that nobody else has them when a successor hears of it.
    pub(super) fn give_away(mut self) {
        let (Some(freeze), Some(mut front)) = (self.freeze.take(), self.front.take()) else { return };
        let handed = front.hand_over();
        self.disks.clear();
        let _ = freeze.to.send(Ok(handed));
    }
}
