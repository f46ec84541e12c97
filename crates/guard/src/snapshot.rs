//! All that views show, of one moment.

use crate::admission::{Census, Interval};
use crate::control::{Available, Baseline, Verdict};
use evenkeel_core::Nanos;
use evenkeel_core::control::Sample;

/// One moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// When, on the guard's clock.
    pub at: Nanos,
    /// Who runs and waits.
    pub census: Census,
    /// The last tick as the controller saw it.
    pub sample: Sample,
    /// What came of it.
    pub verdict: Verdict,
    /// The last limit that was proven.
    pub proven: u32,
    /// Name of the controller.
    pub controller: &'static str,
    /// Nothing is held back.
    pub dry_run: bool,
    /// Which sensors there are.
    pub available: Available,
    /// What signals are near the peak.
    pub baseline: Baseline,
    /// Counted since the start.
    pub totals: Totals,
}

/// Counts since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// Ticks of the controller.
    pub ticks: u64,
    /// Changes of the limit.
    pub changes: u64,
    /// Ticks in which the last proven limit was kept for want of a decision.
    pub kept: u64,
    /// Transactions that ended well.
    pub completions: u64,
    /// Of these, such as had lent their permits to others while they were at the server.
    pub on_loan: u64,
    /// Those that had not, weighted by cost.
    pub work: f64,
    /// Failed by overload.
    pub overloads: u64,
    /// Rolled back by the server.
    pub rolled_back: u64,
    /// Ended in a way that says nothing.
    pub ignored: u64,
    /// Refused.
    pub rejected: u64,
    /// Seconds of response time of those that ended well.
    pub response_s: f64,
    /// Seconds that reading the sensors took: the price of sensing.
    pub sensing_s: f64,
}

impl Totals {
    pub(crate) fn add(&mut self, interval: &Interval) {
        self.ticks += 1;
        self.completions += interval.completions + interval.on_loan;
        self.on_loan += interval.on_loan;
        self.work += interval.work;
        self.overloads += interval.overloads;
        self.rolled_back += interval.rolled_back;
        self.ignored += interval.ignored;
        self.rejected += interval.rejected;
        let mean_s = interval.response_mean.map_or(0.0, Nanos::as_secs_f64);
        self.response_s += mean_s * interval.completions as f64 + interval.on_loan_s;
    }
}
