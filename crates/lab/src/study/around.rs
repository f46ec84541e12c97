//! What happened around a run: what neighbours took of the server's CPUs, and what the run brought while they took nothing.

use crate::load::{LoadResult, Stretch};
use crate::store::format::NeighboursRecord;
use evenkeel_core::Nanos;
use evenkeel_core::bounds::stretches::{self, Around, SECONDS};
use evenkeel_sense::neighbours::NeighbourRecord;

/// The stretches that nobody disturbed, chosen by what happened around them alone; `None` where neighbours cannot be seen.
pub(super) fn neighbours(load: &LoadResult, seen: &NeighbourRecord) -> Option<NeighboursRecord> {
    let taken = seen.taken?;
    let around: Vec<Around> =
        load.stretches.iter().enumerate().map(|(place, own)| at(seen, place, own)).collect();
    let free = stretches::free(&around);
    let count = free.iter().filter(|free| **free).count() as f64;
    let chosen = || free.iter().zip(load.stretches.iter().zip(&around)).filter(|(free, _)| **free);
    let responses: u64 = chosen().map(|(_, (own, _))| own.responses).sum();
    let response_sum = chosen().fold(Nanos::ZERO, |sum, (_, (own, _))| sum + own.response_sum);
    // The errors of single stretches cancel in the mean, which may still come out below zero by chance.
    let left: f64 =
        chosen().filter_map(|(_, (_, around))| around.taken).map(|taken| taken + seen.error).sum();
    Some(NeighboursRecord {
        cpus: seen.cpus,
        taken_percent: 100.0 * taken.clamp(0.0, 1.0),
        clear_s: count * SECONDS,
        clear_completed: chosen().map(|(_, (own, _))| own.completed).sum(),
        clear_taken_percent: 100.0 * (left / count.max(1.0)).clamp(0.0, 1.0),
        clear_tau_ms: (responses > 0).then(|| response_sum.as_millis_f64() / responses as f64),
        held_by_quota_percent: seen.throttling.held.map(|held| 100.0 * held),
        quota_cpus: seen.throttling.quota_cpus,
        slowed_by_heat: seen.throttling.heat,
        clock_percent: seen.throttling.clock.map(|clock| 100.0 * clock),
    })
}

/// What is known of one stretch. A single one errs by the kernel's ticks, so that much is forgiven it.
fn at(seen: &NeighbourRecord, place: usize, own: &Stretch) -> Around {
    let taken = seen.stretches.get(place).and_then(|stretch| stretch.taken);
    Around { taken: taken.map(|taken| taken - seen.error), pause: Some(own.lag_max.as_secs_f64()) }
}
