//! Why a window is what it is, and what failed where it is kept.

use crate::{Counts, DiskCounts};
use evenkeel_bus::{BusError, Dropped};
use evenkeel_core::Nanos;
use evenkeel_core::share::law::CONGESTED;
use evenkeel_core::share::{Law, Report, mean_latency};
use std::fmt;

/// A host that wants less than this share of its window would not use a larger one.
const FULL: f64 = 0.95;

/// What failed, so that the last window is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The engine did not say what it measured.
    Engine,
    /// The bus carries nothing.
    Bus(String),
    /// This member's own report did not come back.
    Unheard,
    /// Another member of the same name was there before.
    Twin(String),
    Panic,
    /// The law gave a window that is no number above zero.
    Window,
}

impl Fault {
    /// Whether it is the same failure, perhaps in other words.
    pub fn is_like(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

impl From<BusError> for Fault {
    fn from(error: BusError) -> Self {
        match error {
            BusError::Unheard => Self::Unheard,
            BusError::Twin(name) => Self::Twin(name),
            other => Self::Bus(other.to_string()),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Engine => f.write_str("the engine does not answer"),
            Self::Bus(why) => write!(f, "the bus is down: {why}"),
            Self::Unheard => {
                f.write_str("this host does not receive its own reports: the bus is down or slow")
            }
            Self::Twin(name) => write!(f, "another member already has the name {name}"),
            Self::Panic => f.write_str("the law failed and is no longer used"),
            Self::Window => f.write_str("the law asked for an impossible window and is no longer used"),
        }
    }
}

/// What bounds a window.
#[derive(Clone, Debug, PartialEq)]
pub enum Why {
    /// Nothing was decided yet.
    Begins,
    /// Something failed; the last window is kept.
    Kept(Fault),
    /// The law is the fixed window.
    Fixed,
    /// Nothing has completed anywhere: there is nothing to go by.
    Quiet,
    /// The threshold is not met though the total is at its floor. Seconds.
    Outsider {
        latency: f64,
        /// The threshold, which it should be at.
        threshold: f64,
    },
    /// The most that this host may have.
    Most(f64),
    /// The host wants no more than this.
    Demand(f64),
    /// The storage is not congested. Seconds.
    Open {
        latency: f64,
        /// The threshold, near which the storage would be congested.
        threshold: f64,
    },
    /// The shares of this host among those of all.
    Shares { own: f64, all: f64 },
}

impl Why {
    /// What bounds the window that a law has just given.
    pub fn of(law: &Law, window: f64, at_floor: bool, all: &[Report], own: usize) -> Self {
        let (Some(threshold), Some(report)) = (law.threshold_s(), all.get(own)) else { return Self::Fixed };
        let Some(latency) = mean_latency(all) else { return Self::Quiet };
        let wanted: f64 = report.disks.iter().map(|disk| disk.wanted).sum();
        let shares = |report: &Report| report.disks.iter().map(|disk| disk.shares).sum::<f64>();
        match () {
            () if at_floor => Self::Outsider { latency, threshold },
            () if report.most > 0.0 && window >= report.most => Self::Most(report.most),
            () if wanted < FULL * window => Self::Demand(wanted),
            () if latency < CONGESTED * threshold => Self::Open { latency, threshold },
            () => Self::Shares { own: shares(report), all: all.iter().map(shares).sum() },
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Begins => f.write_str("no decision yet: this is the initial window"),
            Self::Kept(fault) => write!(f, "the last window is kept, because {fault}"),
            Self::Fixed => f.write_str("it is fixed"),
            Self::Quiet => f.write_str("nothing has completed anywhere: the window stays"),
            Self::Outsider { latency, threshold } => write!(
                f,
                "the threshold of {:.1} ms is not met ({:.1} ms) though the total is at its floor: something \
                 unmanaged loads the storage",
                threshold * 1e3,
                latency * 1e3
            ),
            Self::Most(most) => write!(f, "bound by this host's maximum window, {most:.0}"),
            Self::Demand(wanted) => write!(f, "bound by demand: this host wants {wanted:.1} outstanding"),
            Self::Open { latency, threshold } => write!(
                f,
                "the storage is not congested: {:.1} ms of {:.1} ms, and the window grows",
                latency * 1e3,
                threshold * 1e3
            ),
            Self::Shares { own, all } => write!(f, "bound by shares: this host has {own} of {all}"),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The moment, by the host's clock.
    pub at: Nanos,
    pub member: String,
    pub law: &'static str,
    /// Latency threshold in seconds, where the law has one.
    pub threshold_s: Option<f64>,
    /// Time from one report to the next.
    pub period: Nanos,
    pub window: f64,
    pub why: Why,
    pub fault: Option<Fault>,
    /// This host's part of the device over what its shares give it, where the storage does not follow windows.
    pub unfair: Option<f64>,
    /// What shares add to the window, as the published law counts it for this period; of another law nothing.
    pub beta: Option<f64>,
    /// I/Os are taken to cost what the program assumes of any storage: nobody has said what they cost here.
    pub assumed: bool,
    /// Cost outstanding in the mean of the period.
    pub outstanding: f64,
    pub waiting: usize,
    /// Mean latency of this host in seconds.
    pub latency_s: Option<f64>,
    /// Mean latency of all hosts in seconds.
    pub latency_all_s: Option<f64>,
    pub completions: u64,
    /// Length of the period in seconds.
    pub seconds: f64,
    /// Window of all hosts together, as the law takes it; of those that are heard where it takes none.
    pub total: f64,
    pub disks: Vec<Disk>,
    /// The live members by name, this one among them.
    pub members: Vec<Member>,
    /// Reports dropped since the start, by reason.
    pub dropped: [(Dropped, u64); Dropped::ALL.len()],
    pub counts: Counts,
    pub totals: Totals,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Disk {
    pub name: String,
    pub shares: f64,
    /// Mean wanted outstanding in the period.
    pub wanted: f64,
    /// I/Os completed per second in the period.
    pub ios_per_s: f64,
    /// Bytes read and written per second in the period.
    pub bytes_per_s: f64,
    /// Cost completed per second in the period.
    pub rate: f64,
    pub counts: DiskCounts,
    /// When the storage failed at an I/O last, on the host's clock.
    pub failed_at: Option<Nanos>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    pub name: String,
    pub is_own: bool,
    /// How long ago it was heard.
    pub age: Nanos,
    pub shares: f64,
    /// The window that it had in force.
    pub window: f64,
    /// Mean cost outstanding in its last period.
    pub outstanding: f64,
    /// Mean cost wanted outstanding in its last period.
    pub wanted: f64,
    /// Its smoothed latency in seconds.
    pub latency_s: f64,
    /// I/Os completed per second in its last period.
    pub ios_per_s: f64,
    /// Cost completed per second in its last period: device time, as it takes I/Os to cost.
    pub rate: f64,
    /// Whether it takes I/Os to cost something else than this one does.
    pub costs_differ: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub periods: u64,
    /// Periods in which the last window was kept because something failed.
    pub kept: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_core::share::DiskUse;
    use evenkeel_core::share::law::Settings;

    fn report(shares: f64, wanted: f64, latency: f64) -> Report {
        let disks = vec![DiskUse { shares, wanted }];
        Report { disks, most: 64.0, outstanding: wanted, latency, completions: 100, ..Report::default() }
    }

    fn why(window: f64, at_floor: bool, wanted: f64, latency: f64) -> String {
        let law = Law::Evenkeel(Settings::new(0.015));
        let all = [report(1.0, wanted, latency), report(3.0, 50.0, latency)];
        Why::of(&law, window, at_floor, &all, 0).to_string()
    }

    #[test]
    fn a_window_says_what_bounds_it() {
        assert_eq!(why(10.0, false, 30.0, 0.015), "bound by shares: this host has 1 of 4");
        assert_eq!(why(10.0, false, 2.0, 0.015), "bound by demand: this host wants 2.0 outstanding");
        assert_eq!(why(64.0, false, 90.0, 0.015), "bound by this host's maximum window, 64");
        assert!(why(10.0, false, 30.0, 0.005).starts_with("the storage is not congested: 5.0 ms of 15.0 ms"));
        assert!(why(1.0, true, 30.0, 0.060).contains("something unmanaged loads the storage"));
        assert!(why(1.0, false, 30.0, 0.0).starts_with("nothing has completed anywhere"));
        assert_eq!(Why::of(&Law::Fixed(4.0), 4.0, false, &[], 0), Why::Fixed);
    }
}
