//! What is drawn of an experiment: I/Os per second and windows of each host, and the latency of all, over time.

use super::{Made, Study, look, words};
use crate::report::chart::{Axis, Chart, Guide, Marker, Point, Quantity, Spacing, Trace};
use crate::report::palette::HUES;
use crate::report::plots::Plot;
use evenkeel_core::share::experiment::Treatment as Way;
use evenkeel_core::share::simulation::Stretch;

/// Half of the page.
const HALF: (f64, f64) = (510.0, 300.0);
/// Points of a line at most.
const POINTS: f64 = 50.0;

/// A figure of each host over a stretch.
type Figure = fn(&Study, &Made, Stretch) -> Vec<f64>;

/// What is drawn of each host.
struct Kind {
    key: &'static str,
    heading: &'static str,
    axis: &'static str,
    words: &'static str,
    quantity: Quantity,
    figure: Figure,
}

const IOPS: Kind = Kind {
    key: "iops",
    heading: "I/Os per second",
    axis: "I/Os",
    words: "Each line is a host, by its number.",
    quantity: Quantity::PerSecond,
    figure: |_, made, stretch| made.trace.iops(stretch),
};
const WINDOW: Kind = Kind {
    key: "window",
    heading: "Windows",
    axis: "window",
    words: "Each line is a host, by its number.",
    quantity: Quantity::Plain,
    figure: |_, made, stretch| made.trace.windows(stretch),
};
/// Drawn where a host asks for less for a while: it is what follows from that.
const BETA: Kind = Kind {
    key: "beta",
    heading: "Beta",
    axis: "beta",
    words: "K times a host's shares, as far as it fills its window. The published law adds it to the window; ours does not use it.",
    quantity: Quantity::Plain,
    figure: |study, made, stretch| {
        made.trace.used(stretch).into_iter().map(|used| study.experiment.k * used).collect()
    },
};

/// The published law beside ours, then the latency of all ways.
pub fn all(study: &Study, period_s: f64) -> Vec<Plot> {
    let kinds = if study.experiment.lull().is_some() { &[WINDOW, BETA, IOPS][..] } else { &[IOPS, WINDOW] };
    let mut plots = Vec::new();
    for kind in kinds {
        for way in [Way::Parda, Way::Evenkeel] {
            let made = study.made.iter().find(|made| made.way == way);
            plots.extend(made.map(|made| hosts(study, made, kind, period_s)));
        }
    }
    plots.push(latency(study, period_s));
    plots
}

/// Where the lull begins and ends, and that in words: there is no room for them between the lines.
fn lull(study: &Study) -> (Vec<Guide>, String) {
    let Some((host, (from_s, until_s))) = study.experiment.lull() else { return (Vec::new(), String::new()) };
    let line = |x| Guide::Upright { x, text: String::new() };
    (vec![line(from_s), line(until_s)], format!(" Between the dashed lines host {} asks for less.", host + 1))
}

/// Stretches of whole periods that a line is drawn through.
fn stretches(study: &Study, period_s: f64) -> Vec<Stretch> {
    let duration_s = study.experiment.duration_s;
    let step_s = (duration_s / POINTS / period_s).ceil().max(1.0) * period_s;
    (0..(duration_s / step_s) as usize).map(|at| (at as f64 * step_s, (at + 1) as f64 * step_s)).collect()
}

fn hosts(study: &Study, made: &Made, kind: &Kind, period_s: f64) -> Plot {
    let Kind { key, heading, axis: title, words: about, quantity, figure } = *kind;
    let stretches = stretches(study, period_s);
    let values: Vec<Vec<f64>> = stretches.iter().map(|stretch| figure(study, made, *stretch)).collect();
    let trace = |host: usize| Trace {
        class: format!("s{}", host % HUES),
        marker: Marker::numbered(host / HUES),
        end_text: format!("{}", host + 1),
        points: stretches
            .iter()
            .zip(&values)
            .filter(|(stretch, _)| made.trace.has(**stretch, host))
            .filter_map(|((_, x), of)| Some((*x, *of.get(host)?)))
            .map(|(x, y)| Point {
                x,
                y,
                tip: format!("host {}\n{x:.0} s\n{y:.1}", host + 1),
                ..Point::default()
            })
            .collect(),
        ..Trace::default()
    };
    let (guides, asks) = lull(study);
    let way = words(made.way);
    let chart = Chart {
        id: format!("{key}-{}-{}", made.way.name(), study.experiment.name),
        title: format!("{heading} of each host over time, {way}"),
        description: format!("{heading} of each host, {way}, {}.", study.experiment.what),
        size: HALF,
        x: axis("time, s", Quantity::Plain),
        y: axis(title, quantity),
        guides,
        traces: (0..study.experiment.hosts.len()).map(trace).collect(),
    };
    plot(format!("{heading}: {way}"), format!("{about}{asks}"), chart)
}

fn latency(study: &Study, period_s: f64) -> Plot {
    let stretches = stretches(study, period_s);
    let threshold_ms = 1e3 * study.experiment.threshold_s;
    let trace = |made: &Made| {
        let look = look(made.way);
        let at = |&(from, until): &Stretch| {
            let tells = |host: usize| study.experiment.hosts[host].reports;
            Some((until, 1e3 * made.trace.latency_s((from, until), tells)?))
        };
        let point = |(x, y): (f64, f64)| Point {
            x,
            y,
            tip: format!("{}\n{x:.0} s\n{y:.1} ms", words(made.way)),
            ..Point::default()
        };
        Trace {
            class: format!("s{}", look.hue),
            marker: look.marker,
            dashed: look.dashed,
            points: stretches.iter().filter_map(at).map(point).collect(),
            ..Trace::default()
        }
    };
    let (guides, asks) = lull(study);
    let level = Guide::Level {
        y: threshold_ms,
        text: format!("threshold {threshold_ms:.0} ms"),
        class: "s1".to_owned(),
    };
    let chart = Chart {
        id: format!("latency-{}", study.experiment.name),
        title: "Mean latency over time".to_owned(),
        description: format!("Mean latency of the hosts that keep to a law, {}.", study.experiment.what),
        size: HALF,
        x: axis("time, s", Quantity::Plain),
        y: axis("mean latency", Quantity::Time),
        guides: [vec![level], guides].concat(),
        traces: study.made.iter().map(trace).collect(),
    };
    let words = format!("Mean over the hosts that keep to a law, weighted by their I/Os.{asks}");
    plot("Latency".to_owned(), words, chart)
}

fn axis(title: &str, quantity: Quantity) -> Axis {
    Axis { title: title.to_owned(), quantity, spacing: Spacing::Linear, holds: Vec::new() }
}

fn plot(heading: String, words: String, chart: Chart) -> Plot {
    Plot { heading, words, notes: Vec::new(), chart, narrow: None }
}
