//! The figures of a run.

use super::parts::RATES;
use crate::harness::{Figure, Reference, Scale, Unit};

/// Mean response time.
pub const TAU: &str = "tau_ms";
/// What a request spends between client and server, without waiting for a CPU.
pub const NETWORK: &str = "network_ms";
pub const READS: &str = "disk_reads_per_request";
/// Pages that a request would read from disk by the pages that its plan touches and the room that there is for them, where requests overlap.
pub const AT_ONCE: &str = "predicted_reads_at_once";
/// The same where each is answered before the next one comes.
pub const ONE_BY_ONE: &str = "predicted_reads_one_by_one";
pub const UNDER_WAY: &str = "under_way";
pub const READ: &str = "read_ms";
pub const ROWS: &str = "rows_per_request";
pub const THETA: &str = "theta_percent";
/// What a request spends in its commit.
pub const SYNC: &str = "commit_ms";
/// Mean time of one sync of a data file.
pub const DATA_SYNC: &str = "data_sync_ms";
/// Syncs of data files that were under way in the mean.
pub const DATA_SYNCING: &str = "data_sync_percent";
/// What a request waits for locks of rows and tables.
pub const LOCK: &str = "lock_ms";
pub const CPU: &str = "cpu_us_per_request";
/// Share of the time in which a quota holds the server, percent.
pub const HELD: &str = "held_percent";
/// What the server's threads wait for a CPU.
pub const CPU_WAIT: &str = "cpu_wait_ms";
/// CPU time that the hypervisor took.
pub const STOLEN: &str = "steal_percent";
/// CPU time that others took of the server's CPUs.
pub const NEIGHBOURS: &str = "neighbours_percent";
/// Arrivals for each second, as asked for.
pub const RATE: &str = "rate_per_s";
/// Completions for each second.
pub const THROUGHPUT: &str = "throughput_per_s";
/// Requests that were refused or given up.
pub const LOST: &str = "lost_percent";
/// Requests that found no connection, since the server let nobody more in.
pub const REFUSED: &str = "refused_percent";
/// Whether the queue did not grow.
pub const KEPT_UP: &str = "kept_up";
/// What a first look said that a server carries.
pub const CARRIED: &str = "carried_per_s";

/// All that are shown, in the order of columns.
pub const FIGURES: [Figure; 23] = [
    Figure::drawn(TAU, ["response", "ms"], "Response time", "response time, ms")
        .on(Unit::Milliseconds, Scale::Logarithmic)
        .words("Lines that diverge as they rise are servers that differ."),
    Figure::plain(RATE, ["rate", "1/s"]),
    Figure::plain(THETA, ["CPU use", "%"]),
    Figure::plain(NETWORK, ["network", "ms"]),
    Figure::plain(READS, ["disk reads", "per request"]),
    Figure::plain(READ, ["read", "ms"]),
    Figure::plain(ROWS, ["rows", "per request"]),
    Figure::plain(CPU_WAIT, ["CPU wait", "ms/request"]),
    Figure::plain(CPU, ["CPU", "us/request"]),
    Figure::plain(SYNC, ["commit", "ms/request"]),
    Figure::plain(DATA_SYNC, ["data sync", "ms"]),
    Figure::plain(DATA_SYNCING, ["data syncs", "%"]),
    Figure::plain(LOCK, ["locks", "ms/request"]),
    Figure::plain(HELD, ["quota", "%"]),
    Figure::plain("p95_ms", ["p95", "ms"]),
    Figure::plain(THROUGHPUT, ["throughput", "1/s"]),
    Figure::plain(STOLEN, ["steal", "%"]),
    Figure::plain(NEIGHBOURS, ["neighbours", "%"]),
    Figure::plain("probe_delay_ms", ["probe delay", "ms"]),
    Figure::plain(LOST, ["lost", "%"]),
    Figure::plain(REFUSED, ["refused", "%"]),
    Figure::flag(KEPT_UP, ["kept up", ""]),
    Figure::plain(CARRIED, ["carries about", "1/s"]),
];

/// Network delay at 10, 20, 30 and 40 requests per second, ms, by server (Table II).
const TABLE_II: [(&str, [f64; 4]); 3] =
    [("B", [1.48, 1.47, 1.51, 2.05]), ("C", [1.47, 1.46, 1.54, 1.61]), ("D", [1.43, 1.56, 1.55, 1.81])];

pub(super) fn references() -> Vec<Reference> {
    let delays = TABLE_II.iter().map(|(server, delays)| Reference {
        part: RATES.to_owned(),
        words: format!("server {server} at 10, 20, 30 and 40/s (Table II)"),
        figures: delays.iter().map(|delay| (NETWORK.to_owned(), *delay)).collect(),
    });
    delays.collect()
}
