//! What is kept of a run: figures of each host, as `window@a`, and every period of both.

use super::NAMES;
use super::record::Period;
use crate::harness::{Chart, Figure, Scale, Series, Unit};
use crate::shares::figures::{beta, window};

/// All of them, in the order of columns. Without control there is no window, and beta says nothing.
pub const FIGURES: [Figure; 12] = [
    Figure::plain("orders_per_minute", ["orders", "1/min"]),
    Figure::plain("order_ms", ["an order", "ms"]),
    Figure::plain("orders_ratio", ["orders", "b / a"]),
    Figure::drawn(
        "ios_per_s",
        ["I/Os", "1/s"],
        Chart::new("I/Os per second", "I/Os", "Of the disk with the data.", Unit::PerSecond, Scale::Linear),
    ),
    Figure::drawn(
        "latency_ms",
        ["I/O", "ms"],
        Chart::new(
            "Latency",
            "mean latency",
            // On a linear scale one stall of the machine presses all else onto the floor.
            "Mean time of an I/O in the storage, of the disk with the data, on a logarithmic scale.",
            Unit::Milliseconds,
            Scale::Logarithmic,
        ),
    ),
    window("Most I/Os that a host may have under way."),
    Figure::plain("wanted", ["wanted", ""]),
    Figure::plain("outstanding", ["under way", ""]),
    beta(
        "Shares as far as they are used: a host's share times min(wanted / window, 1), K = 1, computed here \
         from the host's wanted I/Os and its window. The published law adds it to the window; ours does not use it.",
    ),
    Figure::plain("orders_per_minute_se", ["se", "within a run"]),
    Figure::plain("rolled_back", ["no stock", ""]),
    Figure::plain("lost", ["lost", ""]),
];

/// Every period of both hosts.
pub fn series(periods: &[Period]) -> Series {
    const OF_HOST: [&str; 6] = ["window", "outstanding", "wanted", "beta", "ios_per_s", "latency_ms"];
    let columns: Vec<String> =
        NAMES.iter().flat_map(|host| OF_HOST.map(|figure| format!("{figure}@{host}"))).collect();
    let row = |period: &Period| {
        let mut values = vec![None; columns.len()];
        let own = [
            Some(period.window),
            Some(period.outstanding),
            Some(period.wanted),
            Some(period.beta),
            Some(period.ios_per_s),
            period.latency_s.map(|seconds| 1e3 * seconds),
        ];
        let from = period.host * OF_HOST.len();
        values[from..from + OF_HOST.len()].copy_from_slice(&own);
        (period.at_s, values)
    };
    Series { rows: periods.iter().map(row).collect(), columns }
}
