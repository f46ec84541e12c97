//! The census: which transactions run, which wait, and why. No wait is hidden.

use super::{Keeper, TenantCensus};
use crate::Nanos;
use crate::gate::LaneCensus;
use std::fmt;
use std::sync::Arc;

#[derive(Clone, Debug, Default)]
pub struct Census {
    /// The short lane and the long one.
    pub lanes: [LaneCensus; 2],
    /// Sessions that wait out of the queue, until the server has answered a KILL QUERY for them.
    pub being_killed: usize,
    /// Transactions that do not use the server: idle, asleep, or with a client that does not read.
    pub aside: usize,
    /// Most that may stand aside, and how often since the start this bound kept one in its place.
    pub aside_max: usize,
    pub aside_refused: u64,
    /// From when on a transaction is long.
    pub long_from: Nanos,
    /// Transactions since the start that moved to the long lane while they ran.
    pub moved_total: u64,
    /// Those that never queued, because their session may hold locks.
    pub unqueued_total: u64,
    /// Those that the liveness rule admitted.
    pub liveness_total: u64,
    /// Those that were admitted though the limit was reached, because of a dry run.
    pub would_have_queued: u64,
    /// Why sessions wait.
    pub reason: WaitReason,
    /// 99th percentile of recent response times in the short lane.
    pub response_p99: Option<Nanos>,
    pub tenants: Arc<[TenantCensus]>,
}

impl Census {
    /// Transactions that run in both lanes.
    pub fn running(&self) -> usize {
        self.lanes.iter().map(|lane| lane.running).sum()
    }

    /// Sessions that wait for both lanes.
    pub fn waiting(&self) -> usize {
        self.lanes.iter().map(|lane| lane.waiting).sum()
    }
}

impl Keeper {
    /// Counts everything, the tenants included.
    pub fn census(&self, now: Nanos) -> Census {
        Census { tenants: self.gate.tenants(now).into(), ..self.brief_census() }
    }

    /// Counts everything but the tenants: a thousand of them are too many to copy ten times a second.
    pub fn brief_census(&self) -> Census {
        let gate = &self.gate;
        let lanes = gate.lanes();
        let held_up = |lane: &LaneCensus| lane.waiting > 0;
        let overdrawn = |lane: &LaneCensus| held_up(lane) && lane.running > lane.limit;
        Census {
            lanes,
            being_killed: gate.being_killed(),
            aside: gate.aside(),
            aside_max: self.options.aside_max,
            aside_refused: gate.aside_refused(),
            long_from: self.long_from(),
            moved_total: gate.moved_total(),
            unqueued_total: self.unqueued_total,
            liveness_total: gate.liveness_total(),
            would_have_queued: self.would_have_queued,
            reason: match () {
                () if lanes.iter().any(overdrawn) => WaitReason::Overdrawn,
                () if lanes.iter().any(held_up) => WaitReason::Limit,
                () => WaitReason::Nobody,
            },
            response_p99: self.meter.p99(),
            tenants: Arc::default(),
        }
    }
}

/// Why sessions wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WaitReason {
    #[default]
    Nobody,
    /// As many transactions run as the limit allows.
    Limit,
    /// More run than the limit allows: it was lowered, or transactions came in that may not wait.
    Overdrawn,
}

impl fmt::Display for WaitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nobody => "nobody waits",
            Self::Limit => "limit reached",
            Self::Overdrawn => "more run than the limit: it was lowered, or some may not wait",
        })
    }
}
