//! What a watch has done, and how Prometheus reads it.

use crate::view::prometheus::Text;
use evenkeel_core::Nanos;

/// What has been done since the start.
#[derive(Clone, Debug, Default)]
pub struct Counts {
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
    out.counter("files_done_total", "Files that went through.", counts.done as f64);
    out.counter("files_failed_total", "Files that could not be loaded.", counts.failed as f64);
    out.counter("records_total", "Records of files that went through.", counts.records as f64);
    out.counter("rows_total", "Rows among them.", counts.rows as f64);
    out.counter("rejects_total", "Rejects among them.", counts.rejects as f64);
    out.counter("moved_records_total", "Records that went to day tables.", counts.moved as f64);
    let audited = counts.audited as f64;
    out.counter("audited_files_total", "Files audited after the load.", audited);
    let found = counts.audit_findings as f64;
    out.counter("audit_findings_total", "Records found lost, doubled, altered or otherwise wrong.", found);
    out.counter("dropped_tables_total", "Day tables that were too old.", counts.dropped_tables as f64);
    out.counter("dropped_records_total", "Records in them.", counts.dropped_records as f64);
    out.head("step_seconds_total", "counter", "Time in each step.");
    let steps = [
        ("load", counts.load),
        ("audit", counts.audit),
        ("dispatch", counts.dispatch),
        ("retire", counts.retire),
    ];
    for (step, time) in steps {
        out.value("step_seconds_total", &format!("step=\"{step}\""), time.as_secs_f64());
    }
    out.gauge("files_waiting", "Files that wait, whole or not.", counts.waiting as f64);
    let age = counts.oldest.map_or(0.0, |first| (now - first).as_secs_f64());
    out.gauge("oldest_waiting_seconds", "Time since the oldest waiting file was first seen; 0 if none.", age);
    if let Some(last) = counts.last_success {
        let help = "When a file went through last, seconds since 1970.";
        out.gauge("last_success_timestamp_seconds", help, last);
    }
    let help = "1 while the server is waited for.";
    out.gauge("server_away", help, f64::from(u8::from(counts.is_away)));
    let help = "1 while nothing is dispatched since an audit found something.";
    out.gauge("dispatch_held", help, f64::from(u8::from(counts.is_held)));
    out.done()
}
