//! What is kept of a run: figures of each host, as `window@a`.

use crate::harness::{Figure, Scale, Unit};
use crate::shares::figures::{BETA, WINDOW};

/// All of them, in the order of columns. Without control there is no window, and beta says nothing.
pub const FIGURES: [Figure; 12] = [
    Figure::plain("orders_per_minute", ["orders", "1/min"]),
    Figure::plain("order_ms", ["an order", "ms"]),
    Figure::plain("orders_ratio", ["orders", "b / a"]),
    Figure::drawn("ios_per_s", ["I/Os", "1/s"], "I/Os per second", "I/Os")
        .on(Unit::PerSecond, Scale::Linear)
        .words("Of the disk with the data."),
    // On a linear scale one stall of the machine presses all else onto the floor.
    Figure::drawn("latency_ms", ["I/O", "ms"], "Latency", "mean latency")
        .on(Unit::Milliseconds, Scale::Logarithmic)
        .words("Mean time of an I/O in the storage, of the disk with the data, on a logarithmic scale."),
    WINDOW,
    Figure::plain("wanted", ["wanted", ""]),
    Figure::plain("outstanding", ["under way", ""]),
    BETA,
    Figure::plain("orders_per_minute_se", ["se", "within a run"]),
    Figure::plain("rolled_back", ["no stock", ""]),
    Figure::plain("lost", ["lost", ""]),
];
