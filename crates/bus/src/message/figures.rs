//! Figures of a report lie within bounds.
//!
//! A sender brings its figures into these bounds, and a reader drops a message that is outside: one bound, written
//! once, so that no figure that a host measures keeps its reports from being heard.

use super::{DISKS_MAX, Message};
use evenkeel_core::Nanos;
use evenkeel_core::share::{DiskUse, Report};

/// More I/Os, or shares, than anybody has.
const COUNT_MAX: f64 = 1e6;
/// More cost per second than any storage does.
const RATE_MAX: f64 = 1e12;
/// Latencies in seconds, where there is one: a smaller or greater one nothing has.
const LATENCIES: (f64, f64) = (1e-9, 3_600.0);
/// Costs of an I/O, where there is one.
const GRAINS: (f64, f64) = (1e-6, COUNT_MAX);
/// Shortest and longest period.
const PERIODS: (Nanos, Nanos) = (Nanos::from_millis(10), Nanos::from_secs(60));

impl Message {
    /// Whether its figures can be.
    pub(super) fn is_sane(&self) -> bool {
        *self == self.bounded()
    }

    /// The same with figures that can be, the nearest to its own; what is no number is 0.
    pub(super) fn bounded(&self) -> Self {
        let period = self.period.clamp(PERIODS.0, PERIODS.1);
        let report = &self.report;
        let completions_max = COUNT_MAX * period.as_secs_f64().max(1.0) * 10.0;
        let report = Report {
            disks: few(report.disks.iter().copied().map(disk)).into_iter().map(disk).collect(),
            most: count(report.most),
            outstanding: count(report.outstanding),
            latency: known(report.latency, LATENCIES),
            completions: report.completions.min(completions_max as u64),
            total: count(report.total),
            rate: up_to(report.rate, RATE_MAX),
            cost_latency: known(report.cost_latency, LATENCIES),
            grain: known(report.grain, GRAINS),
        };
        let (sequence, window) = (self.sequence.max(1), count(self.window));
        Self { sequence, period, window, report, ..self.clone() }
    }
}

fn disk(disk: DiskUse) -> DiskUse {
    DiskUse { shares: count(disk.shares), wanted: count(disk.wanted) }
}

fn count(value: f64) -> f64 {
    up_to(value, COUNT_MAX)
}

/// Between 0 and the most; no number is 0.
fn up_to(value: f64, most: f64) -> f64 {
    if value > 0.0 { value.min(most) } else { 0.0 }
}

/// 0 where nothing is known, else between these.
fn known(value: f64, (least, most): (f64, f64)) -> f64 {
    if value > 0.0 { value.clamp(least, most) } else { 0.0 }
}

/// At most [`DISKS_MAX`] disks, with the sums of all.
fn few(mut disks: impl Iterator<Item = DiskUse>) -> Vec<DiskUse> {
    let mut few: Vec<DiskUse> = disks.by_ref().take(DISKS_MAX).collect();
    if let Some(last) = few.last_mut() {
        for disk in disks {
            last.shares += disk.shares;
            last.wanted += disk.wanted;
        }
    }
    few
}
