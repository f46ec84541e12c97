//! Doubts about a result, each with its evidence.
//!
//! A caveat is stored with the run and shown wherever its figures are. The thresholds here decide when a doubt is
//! stated; the constructors that take a measurement return `None` where there is nothing to doubt.

mod text;
mod threshold;

pub use threshold::*;

use crate::stability::{Instability, Stability};
use crate::statistics::BatchMeans;
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
        /// p99 of the dispatch lag.
        lag_p99: Nanos,
        /// What was tolerated at the response time measured.
        tolerated: Nanos,
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
            Self::GeneratorSaturated { .. } => "generator-saturated",
            Self::QueueUnstable(_) => "queue-unstable",
            Self::StabilityUnknown { .. } => "stability-unknown",
            Self::TooFewRuns { .. } => "too-few-runs",
            Self::Steal { .. } => "steal",
            Self::OtherLoad { .. } => "other-load",
            Self::BacklogAtEnd { .. } => "backlog-at-end",
            Self::LowerBound { .. } => "lower-bound",
            Self::Failures { .. } => "failures",
            Self::PageCache { .. } => "page-cache",
            Self::SharedCpus { .. } => "shared-cpus",
            Self::FewIndependentBatches { .. } => "few-independent-batches",
            Self::ConnectionsLost { .. } => "connections-lost",
            Self::FirstRepeatDiffers { .. } => "first-repeat-differs",
            Self::NotAvailable { .. } => "not-available",
            Self::StoppedEarly { .. } => "stopped-early",
        }
    }

    /// How much it weighs.
    pub fn severity(&self) -> Severity {
        match self {
            Self::LagTooLarge { .. } | Self::GeneratorSaturated { .. } => Severity::Invalid,
            Self::QueueUnstable(_)
            | Self::TooFewRuns { .. }
            | Self::Steal { .. }
            | Self::OtherLoad { .. }
            | Self::BacklogAtEnd { .. }
            | Self::LowerBound { .. }
            | Self::Failures { .. }
            | Self::FewIndependentBatches { .. }
            | Self::ConnectionsLost { .. }
            | Self::FirstRepeatDiffers { .. } => Severity::Doubt,
            Self::StabilityUnknown { .. }
            | Self::PageCache { .. }
            | Self::SharedCpus { .. }
            | Self::NotAvailable { .. }
            | Self::StoppedEarly { .. } => Severity::Note,
        }
    }

    /// [`Caveat::LagTooLarge`], from the p99 of the dispatch lag and the mean response time of the run.
    pub fn lag(lag_p99: Nanos, tau: Nanos) -> Option<Self> {
        let tolerated = Nanos((tau.0 as f64 * LAG_SHARE_MAX) as u64).max(LAG_ALWAYS_TOLERATED);
        (lag_p99 > tolerated).then_some(Self::LagTooLarge { lag_p99, tolerated })
    }

    /// [`Caveat::GeneratorSaturated`], from the CPU use of the busiest thread of the generator in percent.
    pub fn generator(utilisation: f64) -> Option<Self> {
        (utilisation > GENERATOR_CPU_MAX).then_some(Self::GeneratorSaturated { utilisation })
    }

    /// [`Caveat::QueueUnstable`] or [`Caveat::StabilityUnknown`], from the verdict on a run.
    pub fn stability(verdict: &Stability) -> Option<Self> {
        match *verdict {
            Stability::Settled => None,
            Stability::Unstable(found) => Some(Self::QueueUnstable(found)),
            Stability::TooShort { seconds, arrivals } => Some(Self::StabilityUnknown { seconds, arrivals }),
        }
    }

    /// [`Caveat::TooFewRuns`], from the number of runs of a cell.
    pub fn runs(runs: u64) -> Option<Self> {
        (runs < RUNS_MIN).then_some(Self::TooFewRuns { runs })
    }

    /// [`Caveat::Steal`], from the share of CPU time in percent.
    pub fn steal(percent: f64) -> Option<Self> {
        (percent > STEAL_MAX).then_some(Self::Steal { percent })
    }

    /// [`Caveat::OtherLoad`], from the share of the CPU time of the machine in percent that neither server nor
    /// generator used.
    pub fn other_load(percent: f64) -> Option<Self> {
        (percent > OTHER_LOAD_MAX).then_some(Self::OtherLoad { percent })
    }

    /// [`Caveat::BacklogAtEnd`], from the requests under way at the end and the arrivals of the run.
    pub fn backlog(requests: u64, arrivals: u64) -> Option<Self> {
        let many = requests > BACKLOG_ALWAYS_TOLERATED && share(requests, arrivals) > BACKLOG_SHARE_MAX;
        many.then_some(Self::BacklogAtEnd { requests, arrivals })
    }

    /// [`Caveat::LowerBound`], where any request of the run timed out or was never sent.
    pub fn lower_bound(timed_out: u64, unsent: u64, arrivals: u64) -> Option<Self> {
        (timed_out + unsent > 0).then_some(Self::LowerBound { timed_out, unsent, arrivals })
    }

    /// [`Caveat::Failures`], where any request of the run failed.
    pub fn failures(failed: u64, arrivals: u64) -> Option<Self> {
        (failed > 0).then_some(Self::Failures { failed, arrivals })
    }

    /// [`Caveat::SharedCpus`], from the number of CPUs that server and generator have in common.
    pub fn shared_cpus(cpus: usize) -> Option<Self> {
        (cpus > 0).then_some(Self::SharedCpus { cpus })
    }

    /// [`Caveat::FewIndependentBatches`], from the batch means of a run.
    pub fn batches(means: &BatchMeans) -> Option<Self> {
        let few = means.independent < INDEPENDENT_BATCHES_MIN;
        few.then_some(Self::FewIndependentBatches {
            independent: means.independent,
            lag1: means.lag1.unwrap_or(0.0),
        })
    }

    /// [`Caveat::ConnectionsLost`], from the connections opened again in a run.
    pub fn reconnects(reconnects: u64) -> Option<Self> {
        (reconnects > 0).then_some(Self::ConnectionsLost { reconnects })
    }

    /// [`Caveat::StoppedEarly`], where less was measured than planned.
    pub fn stopped(measured: Nanos, planned: Nanos) -> Option<Self> {
        (measured < planned).then_some(Self::StoppedEarly { measured, planned })
    }

    /// [`Caveat::FirstRepeatDiffers`], from the mean response times in seconds of the repeats of a cell, in the
    /// order they were run.
    ///
    /// With `m` and `s` the mean and standard deviation of the `n` later ones, the first differs where
    /// `|x - m| > t s sqrt(1 + 1/n)`, `t` the 99.5 % point of Student's t with `n - 1` degrees of freedom
    /// (prediction interval of one more value: one false alarm in a hundred cells), and by more than
    /// [`FIRST_REPEAT_SHARE`] of `m`. At least three later ones are needed.
    pub fn first_repeat(taus: &[f64]) -> Option<Self> {
        let (&first, later) = taus.split_first()?;
        if later.len() < 3 {
            return None;
        }
        let sample: crate::statistics::Sample = later.iter().copied().collect();
        let (mean, deviation) = (sample.mean()?, sample.standard_deviation()?);
        let n = later.len() as f64;
        let half = crate::statistics::student_quantile(0.995, n - 1.0) * deviation * (1.0 + 1.0 / n).sqrt();
        let differs = (first - mean).abs() > half.max(FIRST_REPEAT_SHARE * mean);
        let (first, later) = (Nanos::from_secs_f64(first), Nanos::from_secs_f64(mean));
        differs.then_some(Self::FirstRepeatDiffers { first, later })
    }
}

/// A part as a share of the whole; zero of nothing.
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests;
