//! Progress of records that are moved within a server.

use crate::clock::Clock;
use crate::progress::{ProgressEvent, View};
use evenkeel_haul::dispatch::Progress;

/// Shows progress.
pub(super) struct Shown {
    view: View,
    clock: Clock,
}

impl Shown {
    pub fn new(view: View) -> Self {
        Self { view, clock: Clock::start() }
    }

    /// Shows how far it is.
    pub fn show(&mut self, progress: &Progress) {
        self.view.show(&match progress {
            Progress::Step(text) => ProgressEvent::Step { text: text.clone() },
            Progress::Moving { table, records, total } => {
                let rows_per_s = *records as f64 / self.clock.now().as_secs_f64().max(1e-3);
                let left = total.saturating_sub(*records) as f64 / rows_per_s;
                ProgressEvent::Populating {
                    table: table.clone(),
                    rows: *records,
                    rows_total: (*total).max(*records),
                    rows_per_s,
                    left_s: Some(left).filter(|left| left.is_finite()),
                }
            }
        });
    }
}
