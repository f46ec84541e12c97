//! What a run's record says of the run: settled or not, how independent its parts are, which doubts it raises.
//! Asked after the last response, never while measuring.

use super::cells::record;
use super::observe::Observation;
use super::spec::StudySpec;
use crate::load::LoadResult;
use crate::store::format::{CaveatRecord, RunFile};
use evenkeel_core::caveat::{self, Caveat};
use evenkeel_core::stability::{Second, Stability};
use evenkeel_core::statistics::{BATCHES, BatchMeans};

/// Whether the response came to rest.
pub(super) fn stability(load: &LoadResult) -> Stability {
    let second = |interval: &crate::load::Interval| Second {
        arrivals: interval.arrivals,
        completed: interval.completed,
        in_flight: interval.in_flight,
        response_sum: interval.response_sum,
    };
    let seconds: Vec<Second> = load.intervals.iter().map(second).collect();
    Stability::of(&seconds, load.counts.timed_out + load.counts.unsent)
}

/// Its name in the store.
pub(super) fn stability_name(stability: &Stability) -> &'static str {
    match stability {
        Stability::Settled => "settled",
        Stability::Unstable(_) => "unstable",
        Stability::TooShort { .. } => "too-short",
    }
}

/// Batch means of the response over the run's seconds, in milliseconds.
pub(super) fn batches(load: &LoadResult) -> Option<BatchMeans> {
    let intervals: Vec<(u64, f64)> = load
        .intervals
        .iter()
        .map(|interval| (interval.arrivals, interval.response_sum.as_millis_f64()))
        .collect();
    BatchMeans::of(&intervals, BATCHES)
}
