//! A snapshot of a guard: all that views show of one moment.

use crate::control::Available;
use crate::event::Event;
use evenkeel_core::Nanos;
use evenkeel_core::admission::{Census, Interval};
use evenkeel_core::control::Sample;
use evenkeel_core::control::{Baseline, Verdict};
use evenkeel_core::gate::LongReason;

#[derive(Clone, Debug)]
pub struct Snapshot {
    pub at: Nanos,
    pub census: Census,
    pub sample: Sample,
    pub verdict: Verdict,
    /// The last limit that was proven.
    pub proven: u32,
    pub controller: &'static str,
    pub dry_run: bool,
    pub available: Available,
    /// What the signals are while throughput is near its peak.
    pub baseline: Baseline,
    pub totals: Totals,
    /// The limit of the long lane that is in use, and why.
    pub long: (u32, LongReason),
}

impl Snapshot {
    /// The lanes as the log tells them; `None` while nothing runs or waits.
    pub fn lanes(&self) -> Option<Event> {
        let [short, long] = self.census.lanes;
        let used = self.census.running() + self.census.waiting() > 0;
        used.then(|| Event::Lanes([(short, self.verdict.to_string()), (long, self.long_decision())]))
    }

    /// Why the limit of the long lane is what it is.
    pub fn long_decision(&self) -> String {
        let (limit, why) = self.long;
        format!("limit {limit}, because {why}")
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    pub ticks: u64,
    pub changes: u64,
    /// Ticks in which the last proven limit was kept for want of a decision.
    pub kept: u64,
    pub completions: u64,
    /// Those of them that ended in the long lane or aside.
    pub long: u64,
    /// The others of them, weighted by cost.
    pub work: f64,
    /// Transactions that failed by overload.
    pub overloads: u64,
    pub rolled_back: u64,
    /// Transactions whose end is no evidence for or against the limit.
    pub ignored: u64,
    pub rejected: u64,
    /// Seconds of response time of those that ended well.
    pub response_s: f64,
    /// Seconds that reading the sensors took: the price of sensing.
    pub sensing_s: f64,
}

impl Totals {
    pub(crate) fn add(&mut self, interval: &Interval) {
        self.ticks += 1;
        self.completions += interval.completions + interval.long + interval.trifles;
        self.long += interval.long;
        self.work += interval.work;
        self.overloads += interval.overloads;
        self.rolled_back += interval.rolled_back;
        self.ignored += interval.ignored;
        self.rejected += interval.rejected;
        let mean_s = interval.response_mean.map_or(0.0, Nanos::as_secs_f64);
        self.response_s += mean_s * interval.completions as f64 + interval.long_s;
    }
}
