//! What is drawn: windows, beta, I/Os per second and latency of both hosts over time, a chart for each way.

use crate::databases::outcome::Cell;
use crate::databases::record::{Period, Run, Setting};
use crate::databases::{NAMES, SHARES, THRESHOLD_S};
use crate::report::chart::{Axis, Chart, Guide, Marker, Point, Quantity, Spacing, Trace};
use crate::report::plots::Plot;
use crate::report::shares::words;
use crate::report::study::Look;
use evenkeel_core::share::experiment::Treatment as Way;

/// Half of the page.
const HALF: (f64, f64) = (510.0, 280.0);
/// Points of a line at most.
const POINTS: f64 = 40.0;

/// A figure over time.
struct Kind {
    key: &'static str,
    heading: &'static str,
    axis: &'static str,
    words: &'static str,
    quantity: Quantity,
    /// Of a period, with its weight in a mean.
    of: fn(&Period) -> Option<(f64, f64)>,
    /// Whether it says anything without a law.
    is_of_a_law: bool,
}

const KINDS: [Kind; 4] = [
    Kind {
        key: "window",
        heading: "Windows",
        axis: "window",
        words: "Most I/Os that a host may have under way.",
        quantity: Quantity::Plain,
        of: |period| Some((period.window, 1.0)),
        is_of_a_law: true,
    },
    Kind {
        key: "beta",
        heading: "Beta",
        axis: "beta",
        words: "Shares as far as they are used: a host's share times min(wanted / window, 1), K = 1, computed here from what \
                the host says of wanted I/Os and its window. The published law adds it to the window; ours does not use it.",
        quantity: Quantity::Plain,
        of: |period| Some((period.beta, 1.0)),
        is_of_a_law: true,
    },
    Kind {
        key: "iops",
        heading: "I/Os per second",
        axis: "I/Os",
        words: "Of the disk with the data.",
        quantity: Quantity::PerSecond,
        of: |period| Some((period.ios_per_s, 1.0)),
        is_of_a_law: false,
    },
    Kind {
        key: "latency",
        heading: "Latency",
        axis: "mean latency",
        // On a linear scale one stall of the machine presses all else onto the floor.
        words: "Mean time of an I/O in the storage, of the disk with the data, on a logarithmic scale.",
        quantity: Quantity::Time,
        of: |period| Some((1e3 * period.latency_s?, period.ios_per_s)),
        is_of_a_law: false,
    },
];

/// How a host is drawn.
pub fn look(host: usize) -> Look {
    let (hue, marker) = [(5, Marker::Square), (0, Marker::Circle)][host];
    Look { hue, marker, dashed: false }
}

/// All of a most window, of the first round that each way has: the laws side by side, figure by figure, and below them what
/// storage does without one.
pub fn all(setting: &Setting, cells: &[&Cell<'_>]) -> Vec<Plot> {
    let (mut plots, mut without) = (Vec::new(), Vec::new());
    for kind in &KINDS {
        let drawn = cells.iter().filter(|cell| !kind.is_of_a_law || cell.way != Way::Uncontrolled);
        let runs: Vec<&Run> = drawn.filter_map(|cell| cell.runs.first().copied()).collect();
        let traces: Vec<Vec<Trace>> = runs.iter().map(|run| traces(setting, run, kind)).collect();
        // Charts side by side are read on the same scale.
        let points = traces.iter().flatten().flat_map(|trace| &trace.points);
        let holds: Vec<f64> = points.map(|point| point.y).collect();
        for (run, traces) in runs.iter().zip(traces) {
            let side = if run.key.way == Way::Uncontrolled { &mut without } else { &mut plots };
            side.push(plot(setting, run, kind, traces, holds.clone()));
        }
    }
    plots.append(&mut without);
    plots
}

fn traces(setting: &Setting, run: &Run, kind: &Kind) -> Vec<Trace> {
    // With a lull a run takes as long as its phases did.
    let whole_s = run.lull.and(run.periods.last()).map_or(setting.run_s(), |last| last.at_s);
    let step_s = (whole_s / POINTS / setting.period_s).ceil().max(1.0) * setting.period_s;
    let trace = |host: usize| {
        let look = look(host);
        let point = |number: usize| {
            let (from_s, x) = (number as f64 * step_s, (number + 1) as f64 * step_s);
            let within = |period: &&Period| period.host == host && period.at_s > from_s && period.at_s <= x;
            let of = run.periods.iter().filter(within).filter_map(|period| (kind.of)(period));
            let (sum, weight) =
                of.fold((0.0, 0.0), |(sum, all), (value, weight)| (sum + value * weight, all + weight));
            let y = (weight > 0.0).then_some(sum / weight)?;
            let tip = format!("host {}\n{x:.1} s\n{} {y:.1}", NAMES[host], kind.axis);
            Some(Point { x, y, tip, ..Point::default() })
        };
        Trace {
            class: format!("s{}", look.hue),
            marker: look.marker,
            end_text: NAMES[host].to_owned(),
            points: (0..(whole_s / step_s) as usize).filter_map(point).collect(),
            ..Trace::default()
        }
    };
    (0..NAMES.len()).map(trace).collect()
}

fn plot(setting: &Setting, run: &Run, kind: &Kind, traces: Vec<Trace>, holds: Vec<f64>) -> Plot {
    let (way, most) = (run.key.way, run.key.most);
    // Beside a lull what is measured is too short for its name.
    let text = if run.lull.is_some() { String::new() } else { "measured".to_owned() };
    let mut guides = vec![Guide::Upright { x: setting.warm_up_s, text }];
    if let Some((from_s, until_s)) = run.lull {
        // The text of a line stands to its left, here between both.
        guides.push(Guide::Upright { x: from_s, text: String::new() });
        guides.push(Guide::Upright { x: until_s, text: "b asks less".to_owned() });
    }
    if kind.key == "latency" {
        let y = 1e3 * THRESHOLD_S;
        guides.push(Guide::Level { y, text: format!("threshold {y:.0} ms"), class: "s1".to_owned() });
    }
    let spacing = if kind.key == "latency" { Spacing::Logarithmic } else { Spacing::Linear };
    let axis =
        |title: &str, quantity, spacing, holds| Axis { title: title.to_owned(), quantity, spacing, holds };
    let shares = SHARES.map(|share| share.to_string()).join(" and ");
    let chart = Chart {
        id: format!("{}-{}-{most}", kind.key, way.name()),
        title: format!("{} of both hosts over time, {}", kind.heading, words(way)),
        description: format!(
            "{} of two hosts with shares of {shares}, {}, most window {most}.",
            kind.heading,
            words(way)
        ),
        size: HALF,
        x: axis("time, s", Quantity::Plain, Spacing::Linear, vec![]),
        y: axis(kind.axis, kind.quantity, spacing, holds),
        guides,
        traces,
    };
    let heading = format!("{}: {}", kind.heading, words(way));
    Plot { heading, words: kind.words.to_owned(), notes: Vec::new(), chart, narrow: None }
}
