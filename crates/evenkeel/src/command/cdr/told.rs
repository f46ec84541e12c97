//! Progress of work on call records, with its rate and the time that is left.

use crate::clock::Clock;
use crate::progress::{ProgressEvent, View};
use evenkeel_core::Nanos;
use evenkeel_haul::convert::{Progress, Step};

/// A view needs no more than this.
const EVERY: Nanos = Nanos::from_millis(200);

/// Shows progress.
pub(super) struct Shown {
    view: View,
    clock: Clock,
    step: Option<Step>,
    /// When the step began, and what had been read by then.
    since: (Nanos, u64),
    last: Nanos,
}

impl Shown {
    pub fn new(view: View) -> Self {
        Self { view, clock: Clock::start(), step: None, since: (Nanos::ZERO, 0), last: Nanos::ZERO }
    }

    /// Shows how far it is, if the last time is a while ago.
    pub fn tell(&mut self, progress: &Progress) {
        let now = self.clock.now();
        if self.step != Some(progress.step) {
            (self.step, self.since) = (Some(progress.step), (now, progress.read));
        } else if now < self.last + EVERY {
            return;
        }
        self.last = now;
        let (since, before) = self.since;
        let bytes_per_s = progress.read.saturating_sub(before) as f64 / (now - since).as_secs_f64().max(1e-3);
        let left = progress.total.map(|total| total.saturating_sub(progress.read) as f64 / bytes_per_s);
        self.view.show(&ProgressEvent::Converting {
            step: match progress.step {
                Step::Keys => "looking for duplicates".to_owned(),
                Step::Lines => "converting".to_owned(),
                Step::Load => "loading".to_owned(),
                Step::Indexes => "making indexes".to_owned(),
            },
            bytes: progress.read,
            bytes_total: progress.total,
            records: progress.tally.records,
            rejects: progress.tally.rejects,
            bytes_per_s,
            left_s: left.filter(|left| left.is_finite()),
        });
    }
}
