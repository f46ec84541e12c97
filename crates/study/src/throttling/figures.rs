//! The figures of a point.

use crate::harness::{Figure, Scale, Unit};

/// Whether the limit of the published controller had come to rest before the point; absent where it was not waited for.
pub const SETTLED: &str = "limit_settled";
/// How long that took, or was waited for, seconds.
pub const WAITED: &str = "settle_waited_s";
pub const SETTLED_AT: &str = "settle_limit";
/// Name of the note of a run that says why there are no hardware counters.
pub const COUNTERS_REFUSED: &str = "counters-refused";

/// All that are shown, in the order of columns. A guard that never limits has a limit that says nothing.
pub const FIGURES: [Figure; 19] = [
    Figure::flag(SETTLED, ["settled", "limit"]),
    Figure::drawn("throughput_per_s", ["throughput", "1/s"], "Throughput", "throughput")
        .on(Unit::PerSecond, Scale::Linear)
        .words(
            "Requests completed per second, with 95 % intervals over runs; what met a deadlock does not count. \
             Over time: bars from the least to the largest run.",
        ),
    Figure::drawn("response_mean_ms", ["response", "ms"], "Response time", "mean response time")
        .on(Unit::Milliseconds, Scale::Logarithmic)
        .words("Mean, the wait in the guard's queue included."),
    Figure::plain("response_p95_ms", ["p95", "ms"]),
    Figure::drawn(
        "dtlb_misses_per_commit",
        ["DTLB misses", "per commit"],
        "DTLB misses",
        "DTLB misses per commit",
    )
    .words("Misses of the data translation buffer on the server's CPUs."),
    Figure::drawn(
        "cache_misses_per_commit",
        ["cache misses", "per commit"],
        "Cache misses",
        "cache misses per commit",
    )
    .words("Cache misses on the server's CPUs, as the processor's maker counts them."),
    Figure::drawn("cycles_per_commit", ["cycles", "per commit"], "Cycles", "cycles per commit")
        .words("Cycles of the server's CPUs."),
    Figure::drawn("cpu_ms_per_commit", ["CPU", "ms/commit"], "CPU time per commit", "CPU time per commit")
        .on(Unit::Milliseconds, Scale::Linear)
        .words("CPU time of the server's process: what misses cost shows in it."),
    Figure::drawn(
        "pages_read_per_commit",
        ["pages read", "per commit"],
        "Pages missed by the buffer pool",
        "pages read per commit",
    )
    .words("Pages of 16 KiB that were not in the buffer pool."),
    Figure::drawn("lock_wait_percent", ["lock waits", "% in flight"], "Lock waits", "waiting for row locks")
        .on(Unit::Percent, Scale::Linear)
        .words("Time that transactions at the server waited for rows locked by others, of the time in flight."),
    Figure::plain("deadlock_percent", ["deadlocks", "% of commits"]),
    Figure::drawn("limit_mean", ["limit", "mean"], "Limit", "mean limit")
        .on(Unit::Plain, Scale::Fitting)
        .words("How many transactions the guard let run, mean while measured.")
        .without("unlimited"),
    Figure::plain("limit_last", ["limit", "at the end"]),
    Figure::plain("theta_percent", ["server CPU", "%"]),
    Figure::plain("switches_per_commit", ["switches", "per commit"]),
    Figure::plain("generator_percent", ["load CPU", "%"]),
    Figure::plain("other_load_percent", ["other CPU", "%"]),
    Figure::plain("steal_percent", ["steal", "%"]),
    Figure::drawn("limit", ["limit", ""], "Limit", "limit")
        .words("How many transactions the guard let run, second by second; bars from the least to the largest run.")
        .without("unlimited"),
];
