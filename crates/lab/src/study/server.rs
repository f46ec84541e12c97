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

/// Figures of one run by name with their unit: counters per request of the stretch that they were counted in, and the threads
/// that were running, the one that asks included. What the server did not tell is not there.
pub fn server_measures(run: &RunFile) -> BTreeMap<&'static str, f64> {
    let requests = requests(run);
    let sum = |counters: &[&str]| {
        let known = counters.iter().filter_map(|name| run.status.get(*name));
        known.copied().reduce(|sum, count| sum + count)
    };
    let per_request =
        COUNTERS_PER_REQUEST.iter().filter_map(|(name, counters)| Some((*name, sum(counters)? / requests?)));
    let mut measures: BTreeMap<&str, f64> = per_request.collect();
    if let Some(running) = run.gauges.get("Threads_running") {
        measures.insert("threads_running_mean", running.mean);
        measures.insert("threads_running_max", running.max);
    }
    measures
}

/// Requests of the stretch that the status is of. Older folders do not tell the stretch: there it is taken for the measured
/// phase, where as many requests were completed as had arrived in it.
fn requests(run: &RunFile) -> Option<f64> {
    /// Requests that ended in another stretch than they arrived in.
    const MOVED_MAX: f64 = 0.05;
    if let Some(stretch) = &run.status_stretch {
        return stretch.requests.filter(|requests| *requests > 0.0);
    }
    let (of_arrivals, in_time) = (run.counts.completed as f64, run.throughput_per_s * run.measured_s);
    (of_arrivals > 0.0 && (in_time - of_arrivals).abs() <= MOVED_MAX * of_arrivals).then_some(of_arrivals)
}

/// The same over the runs of a cell; each figure over the runs that have it.
pub(super) fn over_runs(runs: &[&RunFile]) -> BTreeMap<String, EstimateRecord> {
    let mut values: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (name, value) in runs.iter().flat_map(|run| server_measures(run)) {
        values.entry(name).or_default().push(value);
    }
    values.into_iter().map(|(name, values)| (name.to_owned(), estimate(&values))).collect()
}
