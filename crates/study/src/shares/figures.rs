//! The figures of a run. One of a host has its number behind, as `iops@1`.

use crate::harness::{Figure, Scale, Unit};

/// All of them, in the order of columns. Without control there is no window, and beta says nothing.
pub const FIGURES: [Figure; 16] = [
    Figure::drawn("iops", ["I/Os", "1/s"], "I/Os per second", "I/Os")
        .on(Unit::PerSecond, Scale::Linear)
        .words("Each line is a host, by its number."),
    Figure::drawn("latency_ms", ["latency", "ms"], "Latency", "mean latency")
        .on(Unit::Milliseconds, Scale::Linear)
        .words("Mean over the hosts that follow a law, weighted by their I/Os."),
    Figure::plain("total_iops", ["I/Os of all", "1/s"]),
    Figure::plain("last_over_first", ["last host", "/ first"]),
    WINDOW,
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
    BETA,
];

/// Most I/Os that a host may have under way.
pub(crate) const WINDOW: Figure = Figure::drawn("window", ["window", ""], "Windows", "window")
    .words("Most I/Os that a host may have under way.")
    .without("uncontrolled");

/// What the published law adds to a window.
pub(crate) const BETA: Figure = Figure::drawn("beta", ["beta", ""], "Beta", "beta")
    .words(
        "K times a host's shares, as far as it fills its window: min(wanted / window, 1) of them. The published law adds \
         it to the window; ours does not use it.",
    )
    .without("uncontrolled");
