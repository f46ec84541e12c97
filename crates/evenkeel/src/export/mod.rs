//! Studies for other programs: CSV tables, and JSON with the records as they are stored.
//!
//! # Columns of the table of cells
//!
//! `study, series, target, workload, layout, pool_bytes, pool_percent, cell, rate_per_s` say which cell;
//! `runs, stability, lower_bound, valid` how good it is; then for each of `tau_ms, p50_ms, p90_ms, p95_ms,
//! p99_ms, p999_ms, throughput_per_s, theta_percent, lag_p99_ms, pool_reads_per_request` the four columns
//! `X_mean, X_se, X_low, X_high` (mean over all requests of all runs, its standard error, the ends of its 95 % interval; a
//! low without a high is a lower bound of 99 %, and all that the runs say);
//! `target_spread_ms`; `arrivals, completed, failed, timed_out, unsent`; `caveats`, their codes parted by
//! blanks; four columns each for `mu_ms` and for what the server did, as far as it told: `pool_read_requests,
//! row_lock_waits, row_lock_wait_ms, log_writes, log_fsyncs, handler_reads, handler_writes, tmp_tables,
//! tmp_disk_tables, sort_merge_passes`, each with `_per_request`, and `threads_running_mean,
//! threads_running_max`, by name, with those of the disk and of the parts of response times as below; `attempts_set_aside`, how many attempts at its runs were disturbed more than those
//! that stand; four columns for `session_wait_ms`, the mean over all requests of a run, and for `probe_wait_ms`, the part of
//! the probe delay `mu_ms` that its threads waited for a CPU; four columns for `tau_undisturbed_ms`, of the requests that arrived
//! outside of the neighbours' bursts, and `undisturbed_percent`, the share of the measured time that these cover.
//!
//! # Columns of the table of runs
//!
//! The same columns down to `rate_per_s`; `repeat, order, started_unix_s, seed, measured_s, stability,
//! lower_bound, throughput_per_s, arrivals, completed, failed, timed_out, unsent, backlog_at_end,
//! sessions_max, reconnects`; for each of `response, service, first_byte, lag, session_wait` the columns
//! `X_mean_ms, X_p50_ms, X_p90_ms, X_p95_ms, X_p99_ms, X_p999_ms, X_max_ms`; `tau_batch_se_ms,
//! batch_autocorrelation`; `theta_percent, user_percent, system_percent, iowait_percent, steal_percent`;
//! `generator_cpu_percent, other_load_percent, generator_switches_per_request`; `caveats`;
//! `attempt`, which one stands for the run, and `attempts_set_aside`; `probe_wait_ms_mean`, `status_stretch_s`,
//! `status_stretch_requests, status_slack_s`; `mu_ms_mean, mu_ms_se, mu_probes`; the server's figures per request as above, then `status_NAME`, how much
//! each counter behind them rose in `status_stretch_s` seconds, in which the server was asked `status_stretch_requests` requests, give or take `status_slack_s` seconds for counters that are not read with the statements; `gauge_NAME_mean, gauge_NAME_max` of what was looked at
//! meanwhile; what some run has of `pool_miss_percent`, of `data_reads, data_read_bytes, data_writes, data_written_bytes, data_fsyncs,
//! server_read_bytes, server_write_bytes, disk_reads, disk_writes` with `_per_request`, of `data_read_ms, disk_read_ms, disk_write_ms` and of
//! `request_before_ms, request_network_ms, request_waking_ms, request_server_waking_ms, request_execution_ms, request_mu_ms,
//! request_price_ms, request_question_ms`; and one column `sense_NAME` for each further measure that some run has, by name. All other
//! counters of the server are in the JSON.
//!
//! An absent value is an empty field. Names do not change within a format version; new columns come at
//! the end, before `sense_`.

mod columns;
mod csv;

pub use csv::{cells, runs};

use evenkeel_study::store::format::{ManifestFile, PlanFile, RunFile, SummaryFile};

/// One object `{plan, manifest, summary, runs}`, each as its file has it, ending in a line feed.
pub fn json(
    plan: &PlanFile,
    manifest: &ManifestFile,
    summary: &SummaryFile,
    runs: &[RunFile],
) -> Result<String, serde_json::Error> {
    #[derive(serde::Serialize)]
    struct Study<'a> {
        plan: &'a PlanFile,
        manifest: &'a ManifestFile,
        summary: &'a SummaryFile,
        runs: &'a [RunFile],
    }
    let mut text = serde_json::to_string_pretty(&Study { plan, manifest, summary, runs })?;
    text.push('\n');
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn json_gives_the_records_back() {
        let fixture = fixture::factors();
        let text = json(&fixture.plan, &fixture.manifest, &fixture.summary, &fixture.runs).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        // Read back in the same way as the whole, since reading may change a number's last bit.
        let stored = |record: String| serde_json::from_str::<serde_json::Value>(&record).unwrap();
        assert!(value["plan"] == stored(serde_json::to_string(&fixture.plan).unwrap()));
        assert!(value["manifest"] == stored(serde_json::to_string(&fixture.manifest).unwrap()));
        assert!(value["summary"] == stored(serde_json::to_string(&fixture.summary).unwrap()));
        assert!(value["runs"] == stored(serde_json::to_string(&fixture.runs).unwrap()));
        assert_eq!(value.as_object().unwrap().len(), 4);
    }
}
