//! What a watch has done, and how Prometheus reads it.

use crate::view::metric::{Text, metrics};
use evenkeel_core::Nanos;
use serde_json::json;

/// What has been done since the start.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// When they are read.
    pub now: Nanos,
    /// Files that went through.
    pub done: u64,
    /// Files that could not be loaded.
    pub failed: u64,
    /// Records of files that went through, and what became of them.
    pub records: u64,
    pub rows: u64,
    pub rejects: u64,
    /// Records that went to day tables.
    pub moved: u64,
    /// Files that were held against their table after the load, and what was found.
    pub audited: u64,
    pub audit_findings: u64,
    /// Day tables that were too old, and records that went with them.
    pub dropped_tables: u64,
    pub dropped_records: u64,
    /// Time in each step.
    pub load: Nanos,
    pub audit: Nanos,
    pub dispatch: Nanos,
    pub retire: Nanos,
    /// Files that wait, whole or not.
    pub waiting: usize,
    /// When the one was seen first that waits longest.
    pub oldest: Option<Nanos>,
    /// When a file went through last, seconds since 1970.
    pub last_success: Option<f64>,
    /// Whether the server is waited for.
    pub is_away: bool,
    /// Whether nothing is dispatched since an audit found something.
    pub is_held: bool,
}

/// All metrics, as of `now`.
pub fn text(counts: &Counts, now: Nanos) -> String {
    let mut out = Text::new("evenkeel_watch_");
    out.add(METRICS, &Counts { now, ..counts.clone() });
    out.done()
}

metrics! { METRICS: |c: Counts|
    counter "files_done_total" "Files that went through." => c.done;
    counter "files_failed_total" "Files that could not be loaded." => c.failed;
    counter "records_total" "Records of files that went through." => c.records;
    counter "rows_total" "Rows among them." => c.rows;
    counter "rejects_total" "Rejects among them." => c.rejects;
    counter "moved_records_total" "Records that went to day tables." => c.moved;
    counter "audited_files_total" "Files audited after the load." => c.audited;
    counter "audit_findings_total" "Records found lost, doubled, altered or otherwise wrong." =>
        c.audit_findings;
    counter "dropped_tables_total" "Day tables that were too old." => c.dropped_tables;
    counter "dropped_records_total" "Records in them." => c.dropped_records;
    counter "step_seconds_total" "Time in each step." => json!({ "step": {
        "load": c.load.as_secs_f64(), "audit": c.audit.as_secs_f64(),
        "dispatch": c.dispatch.as_secs_f64(), "retire": c.retire.as_secs_f64(),
    } });
    gauge "files_waiting" "Files that wait, whole or not." => c.waiting;
    gauge "oldest_waiting_seconds" "Time since the oldest waiting file was first seen; 0 if none." =>
        c.oldest.map_or(0.0, |first| (c.now - first).as_secs_f64());
    gauge "last_success_timestamp_seconds" "When a file went through last, seconds since 1970." =>
        c.last_success;
    gauge "server_away" "1 while the server is waited for." => c.is_away;
    gauge "dispatch_held" "1 while nothing is dispatched since an audit found something." => c.is_held;
}
