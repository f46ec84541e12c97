//! What the server did in a run, in figures that can be set beside those of other runs.

use super::figures::estimate;
use crate::store::format::{EstimateRecord, RunFile};
use std::collections::BTreeMap;

/// Counters per completed request, by name; several are added up.
pub const COUNTERS_PER_REQUEST: [(&str, &[&str]); 11] = [
    ("pool_read_requests_per_request", &["Innodb_buffer_pool_read_requests"]),
    ("pool_reads_per_request", &["Innodb_buffer_pool_reads"]),
    ("row_lock_waits_per_request", &["Innodb_row_lock_waits"]),
    ("row_lock_wait_ms_per_request", &["Innodb_row_lock_time"]),
    ("log_writes_per_request", &["Innodb_log_writes"]),
    ("log_fsyncs_per_request", &["Innodb_os_log_fsyncs"]),
    (
        "handler_reads_per_request",
        &[
            "Handler_read_first",
            "Handler_read_key",
            "Handler_read_last",
            "Handler_read_next",
            "Handler_read_prev",
            "Handler_read_rnd",
            "Handler_read_rnd_next",
        ],
    ),
    ("handler_writes_per_request", &["Handler_delete", "Handler_update", "Handler_write"]),
    ("tmp_tables_per_request", &["Created_tmp_tables"]),
    ("tmp_disk_tables_per_request", &["Created_tmp_disk_tables"]),
    ("sort_merge_passes_per_request", &["Sort_merge_passes"]),
];

/// Figures of one run by name with their unit: counters per completed request, and the threads that were running,
/// the one that asks included. What the server did not tell is not there.
pub fn server_measures(run: &RunFile) -> BTreeMap<&'static str, f64> {
    let completed = run.counts.completed as f64;
    let sum = |counters: &[&str]| {
        let known = counters.iter().filter_map(|name| run.status.get(*name));
        known.copied().reduce(|sum, count| sum + count).filter(|_| completed > 0.0)
    };
    let per_request =
        COUNTERS_PER_REQUEST.iter().filter_map(|(name, counters)| Some((*name, sum(counters)? / completed)));
    let mut measures: BTreeMap<&str, f64> = per_request.collect();
    if let Some(running) = run.gauges.get("Threads_running") {
        measures.insert("threads_running_mean", running.mean);
        measures.insert("threads_running_max", running.max);
    }
    measures
}

/// The same over the runs of a cell; each figure over the runs that have it.
pub(super) fn over_runs(runs: &[&RunFile]) -> BTreeMap<String, EstimateRecord> {
    let mut values: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (name, value) in runs.iter().flat_map(|run| server_measures(run)) {
        values.entry(name).or_default().push(value);
    }
    values.into_iter().map(|(name, values)| (name.to_owned(), estimate(&values))).collect()
}
