//! What to do, before it is done.

use super::parts::PartsPlan;
use crate::workload::Workload;
use evenkeel_core::Nanos;
use evenkeel_core::random::Seed;
use evenkeel_site::server::Target;
use evenkeel_site::words;
use std::path::PathBuf;
use std::sync::Arc;

/// An open load with so many arrivals per second, or clients that each wait for the answer and then think: this long in the mean,
/// exponential or as the workload has it; `None` for the workload's own time, where it has one.
#[derive(Clone, Debug, PartialEq)]
pub enum ArrivalPlan {
    Poisson(f64),
    Constant(f64),
    Closed { clients: u32, think: Option<Nanos> },
}

/// Which connection a request takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionPolicy {
    /// A free one, or a new one up to `max`.
    Pooled { max: u32 },
    /// A fresh one for each request, closed after it; so many at a time at most.
    PerRequest { max: u32 },
}

impl SessionPolicy {
    pub fn max(self) -> u32 {
        match self {
            Self::Pooled { max } | Self::PerRequest { max } => max,
        }
    }

    #[must_use]
    pub fn with_max(self, max: u32) -> Self {
        match self {
            Self::Pooled { .. } => Self::Pooled { max },
            Self::PerRequest { .. } => Self::PerRequest { max },
        }
    }
}

/// Connections of a load for which nobody said how many, where the server and this process bear so many: what requests
/// pile up to is then the server's doing. Beyond a thousand a server on one machine does nothing but switch between them.
pub const SESSIONS_DEFAULT: u32 = 1_000;

words! {
    /// How statements travel.
    Protocol {
        /// Prepared once per session, executed in binary.
        Prepared = "prepared",
        /// Text with the parameters written in.
        Text = "text",
    }
}

#[derive(Clone)]
pub struct LoadPlan {
    pub target: Target,
    pub workload: Arc<dyn Workload>,
    pub arrivals: ArrivalPlan,
    /// Load before measuring begins; arrivals in it are not counted.
    pub warm_up: Nanos,
    /// Requests in flight early in the warm-up of an open load: an arrival that finds more is not sent, so that a cold server
    /// begins the measured phase without a backlog. `None` sends all.
    pub warm_up_max: Option<u32>,
    /// The measured phase; an arrival belongs to it by its scheduled instant.
    pub measure: Nanos,
    /// How long to wait after the last arrival for what is under way.
    pub drain: Nanos,
    /// Age at which a request is given up, counted from its arrival.
    pub timeout: Nanos,
    pub seed: Seed,
    pub sessions: SessionPolicy,
    pub protocol: Protocol,
    /// Threads; each drives many sessions.
    pub threads: usize,
    /// CPUs to pin the threads to, in turn; empty for none.
    pub cpus: Vec<usize>,
    /// Whether the threads wait by polling instead of sleeping: each then takes a whole CPU, and is not late by
    /// what it costs to be woken.
    pub busy_poll: bool,
    /// File for one line per request (CSV, compressed with zstd).
    pub request_log: Option<PathBuf>,
    /// Of how many requests the parts of the response time are to be known; `None` of none.
    pub parts: Option<PartsPlan>,
}
