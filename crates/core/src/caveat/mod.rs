//! Doubts about a result, each with its evidence.
//!
//! A caveat is stored with the run and shown wherever its figures are. The thresholds here decide when a doubt is
//! stated; the constructors that take a measurement return `None` where there is nothing to doubt.

mod cause;
mod failed;
mod judge;
mod text;
mod threshold;

pub use cause::{CAUSES, Cause, cause};
pub use failed::FailedBy;
pub use threshold::*;

use crate::disturbance::Disturbance;
use crate::stability::Instability;
use crate::time::Nanos;

/// How much a doubt weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Good to know; the figures stand.
    Note,
    /// The figures may be off, or wider than they look.
    Doubt,
    /// The measurement itself failed: the figures are about the generator, not the server.
    Invalid,
}

/// A doubt about a result.
#[derive(Clone, Debug, PartialEq)]
pub enum Caveat {
    /// The generator sent its requests late.
    LagTooLarge {
        /// Mean of the dispatch lag, which is the error of the mean response time.
        lag_mean: Nanos,
        /// What was tolerated at the response time measured.
        tolerated: Nanos,
    },
    /// A few requests were sent so late that it shows in the highest percentiles.
    LagTail {
        /// p99 of the dispatch lag.
        lag_p99: Nanos,
        /// p99 of the response time.
        response_p99: Nanos,
    },
    /// Requests waited for a session for a notable part of their response time.
    SessionWait {
        /// Mean wait over all requests, those that did not wait among them.
        wait: Nanos,
        /// Mean response time.
        tau: Nanos,
        /// Most sessions that were open at once.
        sessions: u32,
    },
    /// Fewer sessions could be opened than were asked for.
    FewerSessions {
        /// As many as there may be.
        sessions: u32,
        /// As many as were asked for.
        asked: u32,
        /// What limits them, as a part of a sentence.
        limit: String,
    },
    /// The CPU of the generator was saturated.
    GeneratorSaturated {
        /// CPU use of its busiest thread, percent.
        utilisation: f64,
    },
    /// The backlog grew as long as the run went on.
    QueueUnstable(Instability),
    /// The run is too short to tell whether the queue settles.
    StabilityUnknown {
        /// Seconds measured.
        seconds: usize,
        /// Arrivals in them.
        arrivals: u64,
    },
    /// Too few runs for an interval worth its name.
    TooFewRuns {
        /// Runs there are.
        runs: u64,
    },
    /// The hypervisor gave the CPU to others.
    Steal {
        /// Share of the CPU time, percent.
        percent: f64,
    },
    /// The server was held back by what its machine or its control group allows it.
    Throttled {
        /// Share of its CPUs' time for which a quota held it back, percent, and the quota in CPUs.
        quota: Option<(f64, f64)>,
        /// Times that heat slowed a CPU down.
        heat: u64,
        /// Clock of its CPUs beside their fastest, percent, where that is slow.
        clock: Option<f64>,
    },
    /// Something else than server and generator used the CPU.
    OtherLoad {
        /// Share of the CPU time of the machine, percent.
        percent: f64,
    },
    /// Requests were under way when the measured phase ended.
    BacklogAtEnd {
        /// How many.
        requests: u64,
        /// Arrivals of the run.
        arrivals: u64,
    },
    /// Response times are lower bounds, as some requests never got their answer.
    LowerBound {
        /// Given up at the timeout.
        timed_out: u64,
        /// Never sent.
        unsent: u64,
        /// Arrivals of the run.
        arrivals: u64,
    },
    /// Requests were answered by errors.
    Failures {
        /// How many.
        failed: u64,
        /// Arrivals of the run.
        arrivals: u64,
        /// By which errors, the most frequent first.
        errors: Vec<FailedBy>,
    },
    /// The server reads its files through the page cache, which may hide the disk.
    PageCache {
        /// How the server opens its files, as it says itself.
        flush_method: String,
    },
    /// Server and generator ran on the same CPUs.
    SharedCpus {
        /// CPUs in common.
        cpus: usize,
    },
    /// The run is too short for how long its response times depend on one another.
    FewIndependentBatches {
        /// Effective number of independent batches.
        independent: f64,
        /// Lag-1 correlation between batches.
        lag1: f64,
    },
    /// Connections were lost in the run: the server was restarted, or dropped them.
    ConnectionsLost {
        /// Connections opened again.
        reconnects: u64,
    },
    /// The first repeat differs from the later ones.
    FirstRepeatDiffers {
        /// Mean response time of the first.
        first: Nanos,
        /// Mean of those of the later ones.
        later: Nanos,
    },
    /// A clock or counter could not be read.
    NotAvailable {
        /// What is missing.
        what: String,
    },
    /// Runs whose generator failed take no part in the figures of their cell.
    RunsLeftOut {
        /// Their names in the study's folder.
        runs: Vec<String>,
        /// Runs of the cell.
        of: usize,
    },
    /// Attempts at runs were set aside for others that were disturbed less from outside.
    MeasuredAgain {
        /// How many were set aside.
        set_aside: u64,
        /// The most disturbed of them.
        worst: Disturbance,
    },
    /// Rates above the end of a sweep were not measured.
    RatesNotMeasured {
        /// Which series; empty where there is one kind only.
        series: String,
        /// These, per second.
        rates: Vec<f64>,
        /// Why the sweep ended below them.
        reason: String,
    },
    /// The first block went through the rates upwards instead of in random order.
    FirstBlockRises,
    /// The server was not restarted between runs.
    NotReset,
    /// Runs of the study are still to be measured.
    Incomplete {
        /// Runs finished.
        done: u32,
        /// Runs planned, as far as known.
        planned: u32,
        /// Name of the study, to go on with it.
        study: String,
    },
    /// The run was stopped before its end.
    StoppedEarly {
        /// What was measured.
        measured: Nanos,
        /// What was planned.
        planned: Nanos,
    },
}

impl Caveat {
    /// A short name that never changes, for files and filters.
    pub fn code(&self) -> &'static str {
        match self {
            Self::LagTooLarge { .. } => "lag-too-large",
            Self::LagTail { .. } => "lag-tail",
            Self::SessionWait { .. } => "session-wait",
            Self::FewerSessions { .. } => "fewer-sessions",
            Self::GeneratorSaturated { .. } => "generator-saturated",
            Self::QueueUnstable(_) => "queue-unstable",
            Self::StabilityUnknown { .. } => "stability-unknown",
            Self::TooFewRuns { .. } => "too-few-runs",
            Self::Steal { .. } => "steal",
            Self::OtherLoad { .. } => "other-load",
            Self::Throttled { .. } => "throttled",
            Self::BacklogAtEnd { .. } => "backlog-at-end",
            Self::LowerBound { .. } => "lower-bound",
            Self::Failures { .. } => "failures",
            Self::PageCache { .. } => "page-cache",
            Self::SharedCpus { .. } => "shared-cpus",
            Self::FewIndependentBatches { .. } => "few-independent-batches",
            Self::ConnectionsLost { .. } => "connections-lost",
            Self::FirstRepeatDiffers { .. } => "first-repeat-differs",
            Self::NotAvailable { .. } => "not-available",
            Self::RunsLeftOut { .. } => "runs-left-out",
            Self::MeasuredAgain { .. } => "measured-again",
            Self::RatesNotMeasured { .. } => "rates-not-measured",
            Self::FirstBlockRises => "first-block-rises",
            Self::NotReset => "no-reset",
            Self::Incomplete { .. } => "incomplete",
            Self::StoppedEarly { .. } => "stopped-early",
        }
    }

    /// How much it weighs.
    pub fn severity(&self) -> Severity {
        match self {
            Self::LagTooLarge { .. } | Self::GeneratorSaturated { .. } => Severity::Invalid,
            Self::Failures { failed, arrivals, .. } if share(*failed, *arrivals) <= FAILURES_NOTED => {
                Severity::Note
            }
            Self::LagTail { .. }
            | Self::SessionWait { .. }
            | Self::FewerSessions { .. }
            | Self::QueueUnstable(_)
            | Self::TooFewRuns { .. }
            | Self::Steal { .. }
            | Self::OtherLoad { .. }
            | Self::Throttled { .. }
            | Self::BacklogAtEnd { .. }
            | Self::LowerBound { .. }
            | Self::Failures { .. }
            | Self::FewIndependentBatches { .. }
            | Self::ConnectionsLost { .. }
            | Self::FirstRepeatDiffers { .. }
            | Self::RunsLeftOut { .. } => Severity::Doubt,
            Self::StabilityUnknown { .. }
            | Self::PageCache { .. }
            | Self::SharedCpus { .. }
            | Self::NotAvailable { .. }
            | Self::MeasuredAgain { .. }
            | Self::RatesNotMeasured { .. }
            | Self::FirstBlockRises
            | Self::NotReset
            | Self::Incomplete { .. }
            | Self::StoppedEarly { .. } => Severity::Note,
        }
    }
}

/// Whether most requests failed, see [`FAILURES_FOUND`].
pub fn most_failed(failed: u64, arrivals: u64) -> bool {
    share(failed, arrivals) > FAILURES_FOUND
}

/// A part as a share of the whole; zero of nothing.
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests;
