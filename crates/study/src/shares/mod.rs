//! The study of hosts that share storage: the published experiments, on the virtual clock or in real time.
//!
//! `study` is what the harness makes; `live` is a run in real time, with a process for each host and `fio` as their clients. The rest is
//! pure: this file has a part for each published experiment, and `judge` says what the runs come to beside the published figures.

mod fio;
mod judge;
mod live;
mod study;

use crate::harness::{Factor, Figure, Order, Part, Scale, Unit};
use crate::published::{PublishedError, Result};
use evenkeel_core::share::experiment::{Experiment, Treatment};
pub use judge::judge;
use serde::{Deserialize, Serialize};
pub use study::{Shares, record};

/// The study's name in plans and on the command line.
pub const NAME: &str = "shares";

pub const QUESTION: &str =
    "do hosts that share storage get their shares, and does its latency stay at a threshold?";

/// Seconds between two windows in the published experiments.
pub const PUBLISHED_S: f64 = 2.0;

pub fn words(way: Treatment) -> &'static str {
    match way {
        Treatment::Uncontrolled => "uncontrolled",
        Treatment::Parda => "the published law",
        Treatment::Evenkeel => "Evenkeel",
    }
}

pub fn way(name: &str) -> Option<Treatment> {
    Treatment::ALL.into_iter().find(|way| way.name() == name)
}

pub(crate) fn way_of(order: &Order<'_>) -> Result<Treatment> {
    let unknown = || PublishedError::unreadable("way");
    way(order.level("way")).ok_or_else(unknown)
}

/// A part in percent with its sign, which what is next to nothing has not.
pub fn signed(percent: f64) -> String {
    if percent.abs() < 0.05 { "0.0".to_owned() } else { format!("{percent:+.1}") }
}

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

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// Seconds between two windows.
    pub period_s: f64,
    /// In real time, with fio as the clients, instead of on the virtual clock.
    pub live: bool,
}

pub fn parts(experiments: &[Experiment], setting: Setting) -> Vec<Part> {
    let part = |experiment: &Experiment| {
        let experiment = scaled(experiment, setting);
        let lull = experiment.lull();
        let marks = lull.map(|(host, (from_s, until_s))| {
            vec![(from_s, String::new()), (until_s, format!("host {} asks for less", host + 1))]
        });
        let title = format!("{}: {}", experiment.name, experiment.what);
        let ways = Factor::named("way", Treatment::ALL.map(|way| (way.name(), words(way))));
        let about = experiment.why_off.unwrap_or_default();
        let marks = marks.unwrap_or_default();
        Part { marks, ..Part::new(experiment.name, &title, about, vec![ways], 1) }
    };
    experiments.iter().map(part).collect()
}

/// In real time an experiment has as many periods as were published.
pub fn scaled(experiment: &Experiment, setting: Setting) -> Experiment {
    if setting.live { experiment.scaled(setting.period_s / PUBLISHED_S) } else { experiment.clone() }
}
