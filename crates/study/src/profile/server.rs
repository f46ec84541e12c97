//! What the server did in a run, in figures that can be set beside those of other runs.

use super::figures::estimate;
use super::{disk, parts};
use crate::store::format::{EstimateRecord, RunFile, StretchRecord};
use evenkeel_sense::status::is_of_sessions;
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
    let stretch = run.status_stretch.as_ref();
    let requests = stretch.and_then(|stretch| stretch.requests).filter(|requests| *requests > 0.0);
    let is_sharp = stretch.is_none_or(StretchRecord::is_sharp);
    let is_of_it = |name: &str| is_sharp || is_of_sessions(name);
    let sum = |counters: &[&str]| {
        let known = counters.iter().filter(|name| is_of_it(name)).filter_map(|name| run.status.get(*name));
        known.copied().reduce(|sum, count| sum + count)
    };
    let counters = COUNTERS_PER_REQUEST.iter().chain(&disk::DATA_COUNTERS);
    let per_request = counters.filter_map(|(name, counters)| Some((*name, sum(counters)? / requests?)));
    let mut measures: BTreeMap<&str, f64> = per_request.collect();
    if let Some(running) = run.gauges.get("Threads_running") {
        measures.insert("threads_running_mean", running.mean);
        measures.insert("threads_running_max", running.max);
    }
    let misses = disk::miss_percent(
        measures.get("pool_read_requests_per_request").copied(),
        measures.get("pool_reads_per_request").copied(),
    );
    measures.extend(misses.map(|percent| ("pool_miss_percent", percent)));
    measures.extend(disk::figures(run));
    measures.extend(parts::figures(run));
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

#[cfg(test)]
mod tests {
    use super::*;

    const PAGES: &str = "pool_read_requests_per_request";
    const TABLES: &str = "tmp_tables_per_request";

    fn run(stretch: StretchRecord) -> RunFile {
        let status = [("Innodb_buffer_pool_read_requests", 6_000.0), ("Created_tmp_tables", 200.0)];
        RunFile {
            status: status.map(|(name, count)| (name.to_owned(), count)).into(),
            status_stretch: Some(stretch),
            ..RunFile::default()
        }
    }

    #[test]
    fn what_the_server_did_is_divided_by_the_requests_of_the_same_stretch() {
        let told =
            |requests, slack_s| server_measures(&run(StretchRecord { seconds: 8.0, requests, slack_s }));
        let sharp = told(Some(200.0), 0.1);
        assert_eq!((sharp[PAGES], sharp[TABLES]), (30.0, 1.0));
        // Pages are counted a moment later than statements, temporary tables are not.
        let slow = told(Some(200.0), 0.3);
        assert_eq!((slow.get(PAGES), slow[TABLES]), (None, 1.0));
        assert!(told(None, 0.0).is_empty() && told(Some(0.0), 0.0).is_empty());
    }
}
