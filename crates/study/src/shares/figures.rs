//! The figures of a run. One of a host has its number behind, as `iops@1`.

use crate::harness::{Chart, Figure, Scale, Unit};

/// All of them, in the order of columns. Without control there is no window, and beta says nothing.
pub const FIGURES: [Figure; 16] = [
    Figure::drawn(
        "iops",
        ["I/Os", "1/s"],
        Chart::new(
            "I/Os per second",
            "I/Os",
            "Each line is a host, by its number.",
            Unit::PerSecond,
            Scale::Linear,
        ),
    ),
    Figure::drawn(
        "latency_ms",
        ["latency", "ms"],
        Chart::new(
            "Latency",
            "mean latency",
            "Mean over the hosts that follow a law, weighted by their I/Os.",
            Unit::Milliseconds,
            Scale::Linear,
        ),
    ),
    Figure::plain("total_iops", ["I/Os of all", "1/s"]),
    Figure::plain("last_over_first", ["last host", "/ first"]),
    window("Each line is a host, by its number."),
    Figure::plain("under_percent", ["below L", "%"]),
    Figure::plain("over_percent", ["above L", "%"]),
    Figure::flag("shares_judged", ["shares", "judged"]),
    Figure::plain("periods_to_share", ["periods", "to shares"]),
    Figure::plain("share_error_percent", ["share error", "%"]),
    Figure::plain("opened", ["window", "in the lull"]),
    Figure::plain("beta_before", ["beta", "before it"]),
    Figure::plain("beta_in_lull", ["beta", "in the lull"]),
    Figure::plain("beta_after", ["beta", "after it"]),
    Figure::plain("orders_ratio", ["orders", "last / first"]),
    beta(
        "K times a host's shares, as far as it fills its window. The published law adds it to the window; ours does not use it.",
    ),
];

/// Most I/Os that a host may have under way; `words` say what the lines are.
pub(crate) const fn window(words: &'static str) -> Figure {
    let chart = Chart::new("Windows", "window", words, Unit::Plain, Scale::Linear).without("uncontrolled");
    Figure::drawn("window", ["window", ""], chart)
}

/// What the published law adds to a window; `words` say how it is computed.
pub(crate) const fn beta(words: &'static str) -> Figure {
    let chart = Chart::new("Beta", "beta", words, Unit::Plain, Scale::Linear).without("uncontrolled");
    Figure::drawn("beta", ["beta", ""], chart)
}
