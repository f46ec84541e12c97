//! The figures of a point.

use crate::harness::{Chart, Figure, Scale, Unit};

/// Whether the limit of the published controller had come to rest before the point; absent where it was not waited for.
pub const SETTLED: &str = "limit_settled";
/// How long that took, or was waited for, seconds.
pub const WAITED: &str = "settle_waited_s";
pub const SETTLED_AT: &str = "settle_limit";

/// All that are shown, in the order of columns. A guard that never limits has a limit that says nothing.
pub const FIGURES: [Figure; 19] = [
    Figure::flag(SETTLED, ["settled", "limit"]),
    Figure::drawn(
        "throughput_per_s",
        ["throughput", "1/s"],
        Chart::new(
            "Throughput",
            "throughput",
            "Requests completed per second, with 95 % intervals over runs; what met a deadlock does not count. Over time: bars \
             from the least to the largest run.",
            Unit::PerSecond,
            Scale::Linear,
        ),
    ),
    Figure::drawn(
        "response_mean_ms",
        ["response", "ms"],
        Chart::new(
            "Response time",
            "mean response time",
            "Mean, the wait in the guard's queue included.",
            Unit::Milliseconds,
            Scale::Logarithmic,
        ),
    ),
    Figure::plain("response_p95_ms", ["p95", "ms"]),
    Figure::drawn(
        "dtlb_misses_per_commit",
        ["DTLB misses", "per commit"],
        Chart::new(
            "DTLB misses",
            "DTLB misses per commit",
            "Misses of the data translation buffer on the server's CPUs.",
            Unit::Plain,
            Scale::Linear,
        ),
    ),
    Figure::drawn(
        "cache_misses_per_commit",
        ["cache misses", "per commit"],
        Chart::new(
            "Cache misses",
            "cache misses per commit",
            "Cache misses on the server's CPUs, as the processor's maker counts them.",
            Unit::Plain,
            Scale::Linear,
        ),
    ),
    Figure::drawn(
        "cycles_per_commit",
        ["cycles", "per commit"],
        Chart::new("Cycles", "cycles per commit", "Cycles of the server's CPUs.", Unit::Plain, Scale::Linear),
    ),
    Figure::drawn(
        "cpu_ms_per_commit",
        ["CPU", "ms/commit"],
        Chart::new(
            "CPU time per commit",
            "CPU time per commit",
            "CPU time of the server's process: what misses cost shows in it.",
            Unit::Milliseconds,
            Scale::Linear,
        ),
    ),
    Figure::drawn(
        "pages_read_per_commit",
        ["pages read", "per commit"],
        Chart::new(
            "Pages missed by the buffer pool",
            "pages read per commit",
            "Pages of 16 KiB that were not in the buffer pool.",
            Unit::Plain,
            Scale::Linear,
        ),
    ),
    Figure::drawn(
        "lock_wait_percent",
        ["lock waits", "% in flight"],
        Chart::new(
            "Lock waits",
            "waiting for row locks, of the time in flight",
            "Time that transactions at the server waited for rows locked by others.",
            Unit::Percent,
            Scale::Linear,
        ),
    ),
    Figure::plain("deadlock_percent", ["deadlocks", "% of commits"]),
    Figure::drawn(
        "limit_mean",
        ["limit", "mean"],
        Chart::new(
            "Limit",
            "mean limit",
            "How many transactions the guard let run, mean while measured.",
            Unit::Plain,
            Scale::Fitting,
        )
        .without("unlimited"),
    ),
    Figure::plain("limit_last", ["limit", "at the end"]),
    Figure::plain("theta_percent", ["server CPU", "%"]),
    Figure::plain("switches_per_commit", ["switches", "per commit"]),
    Figure::plain("generator_percent", ["load CPU", "%"]),
    Figure::plain("other_load_percent", ["other CPU", "%"]),
    Figure::plain("steal_percent", ["steal", "%"]),
    Figure::drawn(
        "limit",
        ["limit", ""],
        Chart::new(
            "Limit",
            "limit",
            "How many transactions the guard let run, second by second; bars from the least to the largest run.",
            Unit::Plain,
            Scale::Linear,
        )
        .without("unlimited"),
    ),
];
