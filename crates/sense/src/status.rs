//! The server reports its status by SHOW GLOBAL STATUS; figures are differences of two readings.
//!
//! Sense opens no connection; who holds one hands the rows in.

use crate::text;
use evenkeel_core::Nanos;
use std::collections::BTreeMap;

/// Not every server has every one: MariaDB 10.11 knows no Innodb_rows_*, MySQL no Innodb_deadlocks.
///
/// Counters rise from the start of the server; their difference counts what happened. Times are in
/// milliseconds, `_bytes` and `_written`, `_read` of data in bytes, all others are numbers of things.
const COUNTERS: &str = "
    Aborted_clients Aborted_connects Binlog_bytes_written Binlog_cache_disk_use Binlog_commits
    Bytes_received Bytes_sent
    Com_begin Com_commit Com_delete Com_insert Com_insert_select Com_replace Com_rollback Com_select
    Com_stmt_close Com_stmt_execute Com_stmt_prepare Com_stmt_reprepare Com_update
    Connection_errors_internal Connection_errors_max_connections Connections
    Created_tmp_disk_tables Created_tmp_files Created_tmp_tables
    Handler_commit Handler_delete Handler_external_lock Handler_icp_attempts Handler_icp_match
    Handler_prepare Handler_read_first Handler_read_key Handler_read_last Handler_read_next
    Handler_read_prev Handler_read_rnd Handler_read_rnd_deleted Handler_read_rnd_next Handler_rollback
    Handler_tmp_delete Handler_tmp_update Handler_tmp_write Handler_update Handler_write
    Innodb_adaptive_hash_hash_searches Innodb_adaptive_hash_non_hash_searches
    Innodb_buffer_pool_pages_flushed Innodb_buffer_pool_pages_lru_flushed Innodb_buffer_pool_read_ahead
    Innodb_buffer_pool_read_ahead_evicted Innodb_buffer_pool_read_requests Innodb_buffer_pool_reads
    Innodb_buffer_pool_wait_free Innodb_buffer_pool_write_requests Innodb_data_fsyncs Innodb_data_read
    Innodb_data_reads Innodb_data_writes Innodb_data_written Innodb_dblwr_pages_written
    Innodb_dblwr_writes Innodb_deadlocks Innodb_log_waits Innodb_log_write_requests Innodb_log_writes
    Innodb_os_log_fsyncs Innodb_os_log_written Innodb_pages_created Innodb_pages_read
    Innodb_pages_written Innodb_row_lock_time Innodb_row_lock_waits Innodb_rows_deleted
    Innodb_rows_inserted Innodb_rows_read Innodb_rows_updated Opened_files Opened_tables Qcache_hits
    Queries Questions Rows_read Rows_sent
    Select_full_join Select_full_range_join Select_range Select_range_check Select_scan Slow_queries
    Sort_merge_passes Sort_priority_queue_sorts Sort_range Sort_rows Sort_scan
    Table_locks_immediate Table_locks_waited Table_open_cache_hits Table_open_cache_misses
    Table_open_cache_overflows Threads_created";

/// Gauges stand at a value; a difference would mean nothing.
const GAUGES: &str = "
    Innodb_buffer_pool_bytes_data Innodb_buffer_pool_bytes_dirty Innodb_buffer_pool_pages_data
    Innodb_buffer_pool_pages_dirty Innodb_buffer_pool_pages_free Innodb_buffer_pool_pages_misc
    Innodb_buffer_pool_pages_total Innodb_checkpoint_age Innodb_data_pending_fsyncs
    Innodb_data_pending_reads Innodb_data_pending_writes Innodb_history_list_length Innodb_page_size
    Innodb_row_lock_current_waits Innodb_row_lock_time_avg Innodb_row_lock_time_max Max_used_connections
    Memory_used Open_files Open_tables Prepared_stmt_count
    Threads_cached Threads_connected Threads_running";

/// Beginnings of the names of counters that a server also keeps for each session (MariaDB and MySQL alike):
/// only of these can a session's own part be taken away.
const OF_SESSIONS: &[&str] = &[
    "Bytes_",
    "Com_",
    "Created_tmp_disk_tables",
    "Created_tmp_tables",
    "Handler_",
    "Opened_tables",
    "Questions",
    "Rows_",
    "Select_",
    "Sort_",
    "Table_open_cache_",
];

const LOOKED_AT: &[&str] = &[
    "Innodb_buffer_pool_pages_dirty",
    "Innodb_checkpoint_age",
    "Innodb_data_pending_fsyncs",
    "Innodb_data_pending_reads",
    "Innodb_data_pending_writes",
    "Innodb_history_list_length",
    "Innodb_row_lock_current_waits",
    "Threads_connected",
    "Threads_running",
];

/// The known variables at one instant. The table of what is known is closed: no other name gets in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatusReading {
    counters: BTreeMap<&'static str, u64>,
    gauges: BTreeMap<&'static str, u64>,
    uptime: Option<u64>,
    since_flush: Option<u64>,
}

/// Gauges that are worth a look during a run; reading these few costs a third of reading all status.
pub fn gauges_looked_at() -> &'static [&'static str] {
    LOOKED_AT
}

/// Whether a counter is the sum of what sessions count, all of them read at one moment; the others a server reads one by
/// one, a moment later.
pub fn is_of_sessions(name: &str) -> bool {
    OF_SESSIONS.iter().any(|start| name.starts_with(start))
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatusUse {
    /// Rise of each counter. Empty after a restart or a flush; a counter that one of the readings lacks,
    /// or that fell for no known reason, is not in it.
    pub counters: BTreeMap<&'static str, u64>,
    /// Value of each gauge at the later reading.
    pub gauges: BTreeMap<&'static str, u64>,
}

impl StatusReading {
    /// Takes what is known from rows of name and value, names in any case of letters; other rows and values that
    /// are no whole numbers are left out.
    pub fn new<'a>(rows: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut reading = Self::default();
        for (name, value) in rows {
            let Ok(value) = value.trim().parse() else { continue };
            if name.eq_ignore_ascii_case("Uptime") {
                reading.uptime = Some(value);
            } else if name.eq_ignore_ascii_case("Uptime_since_flush_status") {
                reading.since_flush = Some(value);
            } else if let Some(name) = known(COUNTERS, name) {
                reading.counters.insert(name, value);
            } else if let Some(name) = known(GAUGES, name) {
                reading.gauges.insert(name, value);
            }
        }
        reading
    }

    /// A counter since the start of the server.
    pub fn counter(&self, name: &str) -> Option<u64> {
        self.counters.get(name).copied()
    }

    /// All gauges by name.
    pub fn gauges(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.gauges.iter().map(|(&name, &value)| (name, value))
    }
}

/// The name as the table has it.
fn known(names: &'static str, name: &str) -> Option<&'static str> {
    names.split_ascii_whitespace().find(|known| known.eq_ignore_ascii_case(name))
}

impl From<&BTreeMap<String, String>> for StatusReading {
    fn from(rows: &BTreeMap<String, String>) -> Self {
        Self::new(rows.iter().map(|(name, value)| (name.as_str(), value.as_str())))
    }
}

impl StatusUse {
    /// Between two readings of one server that are `elapsed` apart.
    pub fn between(before: &StatusReading, after: &StatusReading, elapsed: Nanos) -> Self {
        let gauges = after.gauges.clone();
        if began_anew(before, after, elapsed) {
            return Self { gauges, ..Self::default() };
        }
        let risen = after
            .counters
            .iter()
            .filter_map(|(&name, &now)| Some((name, text::rise(before.counter(name)?, now)?)));
        Self { counters: risen.collect(), gauges }
    }

    /// The same without what one session did, which `own` tells (SHOW SESSION STATUS of the same stretch): the one
    /// that looks must not be taken for the load. Counters that a server keeps only as a whole stay as they are.
    pub fn without_session(mut self, own: &Self) -> Self {
        for (name, count) in self.counters.iter_mut().filter(|(name, _)| is_of_sessions(name)) {
            *count = count.saturating_sub(own.counter(name).unwrap_or(0));
        }
        self
    }

    pub fn counter(&self, name: &str) -> Option<u64> {
        self.counters.get(name).copied()
    }

    pub fn gauge(&self, name: &str) -> Option<u64> {
        self.gauges.get(name).copied()
    }
}

/// Whether a server was started anew, or somebody set its counters to zero (FLUSH STATUS); one that has no uptime is believed. An
/// uptime must have grown by the time that passed: one that fell, and one that grew too little because the server came back early in
/// a long interval, both tell of a restart.
fn began_anew(before: &StatusReading, after: &StatusReading, elapsed: Nanos) -> bool {
    let uptime = before.uptime.zip(after.uptime);
    let since_flush = uptime.and(before.since_flush.zip(after.since_flush));
    [uptime, since_flush].into_iter().flatten().any(|(then, now)| fell_behind(then, now, elapsed))
}

/// Whether a number of seconds grew by less than the time elapsed.
fn fell_behind(then: u64, now: u64, elapsed: Nanos) -> bool {
    /// Both readings are cut to whole seconds, and the server's clock may be set a little meanwhile.
    const SLACK_SECS: u64 = 2;
    let due = then.saturating_add(elapsed.0 / 1_000_000_000);
    now < then || now.saturating_add(SLACK_SECS) < due
}

#[cfg(test)]
mod tests {
    use super::*;

    const ELAPSED: Nanos = Nanos::from_secs(60);

    fn reading(rows: &[(&str, &str)]) -> StatusReading {
        StatusReading::new(rows.iter().copied())
    }

    fn between(before: &[(&str, &str)], after: &[(&str, &str)]) -> StatusUse {
        StatusUse::between(&reading(before), &reading(after), ELAPSED)
    }

    #[test]
    fn no_name_is_known_twice_and_what_is_looked_at_is_a_gauge() {
        let names: Vec<&str> =
            COUNTERS.split_ascii_whitespace().chain(GAUGES.split_ascii_whitespace()).collect();
        assert_eq!(names.iter().collect::<std::collections::BTreeSet<_>>().len(), names.len());
        assert!(LOOKED_AT.iter().all(|name| known(GAUGES, name).is_some()));
    }

    #[test]
    fn counters_are_differences_and_gauges_are_values() {
        let before = [("Uptime", "100"), ("Questions", "10"), ("Threads_running", "7"), ("Com_commit", "5")];
        let after = [("Uptime", "160"), ("Questions", "25"), ("Threads_running", "3"), ("Sort_rows", "8")];
        let used = between(&before, &after);
        assert_eq!(used.counters, BTreeMap::from([("Questions", 15)]));
        assert_eq!(used.gauge("Threads_running"), Some(3));
    }

    #[test]
    fn what_the_looking_session_did_is_taken_away_where_the_server_knows_it() {
        let used = |tables: u64, reads: u64, connections: u64| StatusUse {
            counters: [
                ("Connections", connections),
                ("Created_tmp_tables", tables),
                ("Innodb_buffer_pool_reads", reads),
            ]
            .into(),
            ..StatusUse::default()
        };
        // A session sees the whole server's figure where there is none of its own.
        let rest = used(15, 7, 3).without_session(&used(5, 7, 3));
        assert_eq!(rest, used(10, 7, 3));
        assert_eq!(used(4, 0, 0).without_session(&used(5, 0, 0)), used(0, 0, 0));
    }

    #[test]
    fn a_counter_is_known_unless_the_server_began_anew_or_it_fell() {
        for (before, after, risen) in [
            // By an uptime that fell or grew too little; seconds are cut. Without one nobody can tell.
            (("1000", "1"), ("3", "9"), None),
            (("10", "1"), ("30", "9"), None),
            (("10", "1"), ("69", "9"), Some(8)),
            (("x", "1"), ("x", "3"), Some(2)),
            // One that wrapped goes on.
            (("1", "4294967290"), ("61", "10"), Some(16)),
            (("1", "50"), ("61", "40"), None),
        ] {
            let rows = |(uptime, count)| [("Uptime", uptime), ("Questions", count)];
            let used = between(&rows(before), &rows(after));
            assert_eq!(used.counter("Questions"), risen, "{before:?} {after:?}");
        }
    }

    #[test]
    fn after_a_flush_no_counter_is_known() {
        let before = [("Uptime", "100"), ("Uptime_since_flush_status", "100"), ("Questions", "9")];
        let after = [("Uptime", "160"), ("Uptime_since_flush_status", "5"), ("Questions", "90")];
        let used = between(&before, &after);
        assert_eq!(used.counter("Questions"), None);
    }

    #[test]
    fn rows_that_are_unknown_or_no_numbers_are_left_out() {
        let rows =
            [("Innodb_buffer_pool_dump_status", "not started"), ("Threads_running", "two"), ("X", "1")];
        assert_eq!(reading(&rows), StatusReading::default());
        let rows = [("Questions", "-1"), ("Queries", "99999999999999999999"), ("Sort_rows", "")];
        assert_eq!(reading(&rows), StatusReading::default());
    }

    #[test]
    fn names_are_known_in_any_case() {
        let rows = [("THREADS_RUNNING", "2"), ("innodb_rows_read", "5"), ("UPTIME", "9")];
        let reading = reading(&rows);
        assert_eq!(
            (reading.gauges.get("Threads_running").copied(), reading.counter("Innodb_rows_read")),
            (Some(2), Some(5))
        );
        assert_eq!(reading.uptime, Some(9));
    }
}
