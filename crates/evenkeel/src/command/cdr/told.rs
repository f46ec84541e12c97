//! Progress of work on call records, with its rate and the time that is left.

use crate::clock::Clock;
use crate::format;
use crate::progress::{ProgressEvent, View};
use evenkeel_core::Nanos;
use evenkeel_haul::{Progress, Step};

/// A view needs no more than this.
const EVERY: Nanos = Nanos::from_millis(200);

/// `1 record`, `2 records`.
pub(super) fn counted(number: u64, noun: &str) -> String {
    format::counted(usize::try_from(number).unwrap_or(usize::MAX), noun)
}

/// Shows the progress of work on call records.
pub(super) struct Shown {
    view: View,
    clock: Clock,
    step: &'static str,
    /// When the step began, and what had been read by then.
    since: (Nanos, u64),
    last: Nanos,
}

impl Shown {
    pub fn new(view: View) -> Self {
        Self { view, clock: Clock::start(), step: "", since: (Nanos::ZERO, 0), last: Nanos::ZERO }
    }

    /// Shows how far it is, if the last time is a while ago.
    pub fn tell(&mut self, progress: &Progress) {
        let Progress { read, total, records, rejects, .. } = *progress;
        let step = match progress.step {
            Step::Keys => "looking for duplicates",
            Step::Lines => "converting",
            Step::Load => "loading",
            Step::Indexes => "making indexes",
            Step::Sums => "auditing",
            Step::Differences => "going through what differs",
            Step::Naming => "naming what was found",
            Step::Export => "exporting",
        };
        let now = self.clock.now();
        if self.step != step {
            (self.step, self.since) = (step, (now, read));
        } else if now < self.last + EVERY {
            return;
        }
        self.last = now;
        let (since, before) = self.since;
        let bytes_per_s = read.saturating_sub(before) as f64 / (now - since).as_secs_f64().max(1e-3);
        let left = total.map(|total| total.saturating_sub(read) as f64 / bytes_per_s);
        self.view.show(&ProgressEvent::Converting {
            step: step.to_owned(),
            bytes: read,
            bytes_total: total,
            records,
            rejects,
            bytes_per_s,
            left_s: left.filter(|left| left.is_finite()),
        });
    }
}
