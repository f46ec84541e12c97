//! What is drawn of an experiment: I/Os per second and windows of each host, and the latency of all, over time.

use super::{Made, Study, look, words};
use crate::report::chart::{Axis, Chart, Guide, Marker, Point, Quantity, Spacing, Trace};
use crate::report::palette::HUES;
use crate::report::plots::Plot;
use evenkeel_core::share::experiment::Way;
use evenkeel_core::share::simulation::Stretch;

/// Half of the page.
const HALF: (f64, f64) = (510.0, 300.0);
/// Points of a line at most.
const POINTS: f64 = 40.0;

/// Key, heading, title of the axis and quantity of a chart.
type Kind = (&'static str, &'static str, &'static str, Quantity);

/// A figure of each host over a stretch.
type Figure = fn(&Made, Stretch) -> Vec<f64>;

/// The published law beside ours, then the latency of all ways.
pub fn all(study: &Study, period_s: f64) -> Vec<Plot> {
    let figures: [(Kind, Figure); 2] = [
        (("iops", "I/Os per second", "I/Os", Quantity::PerSecond), |made, stretch| made.trace.iops(stretch)),
        (("window", "Windows", "window", Quantity::Plain), |made, stretch| made.trace.windows(stretch)),
    ];
    let mut plots = Vec::new();
    for (kind, figure) in figures {
        for way in [Way::Parda, Way::Evenkeel] {
            let made = study.made.iter().find(|made| made.way == way);
            plots.extend(made.map(|made| hosts(study, made, kind, figure, period_s)));
        }
    }
    plots.push(latency(study, period_s));
    plots
}

/// Stretches of whole periods that a line is drawn through.
fn stretches(study: &Study, period_s: f64) -> Vec<Stretch> {
    let duration_s = study.experiment.duration_s;
    let step_s = (duration_s / POINTS / period_s).ceil().max(1.0) * period_s;
    (0..(duration_s / step_s) as usize).map(|at| (at as f64 * step_s, (at + 1) as f64 * step_s)).collect()
}

fn hosts(
    study: &Study,
    made: &Made,
    (key, heading, title, quantity): Kind,
    figure: Figure,
    period_s: f64,
) -> Plot {
    let stretches = stretches(study, period_s);
    let values: Vec<Vec<f64>> = stretches.iter().map(|stretch| figure(made, *stretch)).collect();
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
    let way = words(made.way);
    let chart = Chart {
        id: format!("{key}-{}-{}", made.way.name(), study.experiment.name),
        title: format!("{heading} of each host over time, {way}"),
        description: format!("{heading} of each host, {way}, {}.", study.experiment.what),
        size: HALF,
        x: axis("time, s", Quantity::Plain),
        y: axis(title, quantity),
        guides: Vec::new(),
        traces: (0..study.experiment.hosts.len()).map(trace).collect(),
    };
    plot(format!("{heading}: {way}"), "Each line is a host, by its number.".to_owned(), chart)
}

fn latency(study: &Study, period_s: f64) -> Plot {
    let stretches = stretches(study, period_s);
    let threshold_ms = 1e3 * study.experiment.threshold_s;
    let trace = |made: &Made| {
        let look = look(made.way);
        let at = |&(from, until): &Stretch| {
            let tells = |host: usize| study.experiment.hosts[host].tells;
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
    let chart = Chart {
        id: format!("latency-{}", study.experiment.name),
        title: "Mean latency over time".to_owned(),
        description: format!("Mean latency of the hosts that keep to a law, {}.", study.experiment.what),
        size: HALF,
        x: axis("time, s", Quantity::Plain),
        y: axis("mean latency", Quantity::Time),
        guides: vec![Guide::Level {
            y: threshold_ms,
            text: format!("threshold {threshold_ms:.0} ms"),
            class: "s1".to_owned(),
        }],
        traces: study.made.iter().map(trace).collect(),
    };
    let words = "Mean over the hosts that keep to a law, weighted by their I/Os.".to_owned();
    plot("Latency".to_owned(), words, chart)
}

fn axis(title: &str, quantity: Quantity) -> Axis {
    Axis { title: title.to_owned(), quantity, spacing: Spacing::Linear, holds: Vec::new() }
}

fn plot(heading: String, words: String, chart: Chart) -> Plot {
    Plot { heading, words, notes: Vec::new(), chart, narrow: None }
}
