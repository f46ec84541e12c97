//! Two studies over each other.

use super::spectrum::{of_cell, points};
use super::traces::{Measure, TAU, THETA, THROUGHPUT, trace};
use super::{HALF, PANEL, Plot, WIDE, axis, time_axis};
use crate::format;
use crate::report::chart::{Axis, Chart, Marker, Point, Quantity, Spacing, Trace};
use crate::report::study::{Look, Study};
use evenkeel_study::store::format::CellSummary;

/// What the two are called in charts.
pub const NAMES: [&str; 2] = ["A", "B"];

/// How the first and the second are drawn.
pub fn look(side: usize) -> Look {
    [
        Look { hue: 0, marker: Marker::Circle, dashed: false },
        Look { hue: 1, marker: Marker::Square, dashed: true },
    ][side]
}

/// Response time, throughput and utilisation of a series of each against the arrival rate.
pub fn pair(studies: [&Study<'_>; 2], series: [usize; 2], id: &str) -> Vec<Plot> {
    let linear = |title: &str, quantity| axis(title, quantity, Spacing::Linear);
    let of = |key: &str, y: Axis, measure: &Measure, size| {
        let traces = [0, 1].map(|side| of_side(studies[side], series[side], side, measure)).to_vec();
        let mut x = linear("arrival rate", Quantity::PerSecond);
        x.holds.extend(traces.iter().flat_map(|trace| &trace.points).map(|point| point.x));
        Chart {
            id: format!("{key}-{id}"),
            title: format!("{} of both studies against the arrival rate", y.title),
            description:
                "A line for each study; the table below has the figures where both have the same rate."
                    .to_owned(),
            size,
            x,
            y,
            guides: Vec::new(),
            traces,
        }
    };
    let plot = |heading: &str, words: &str, chart: Chart, narrow: Option<Chart>| Plot {
        heading: heading.to_owned(),
        words: words.to_owned(),
        notes: Vec::new(),
        chart,
        narrow,
    };
    let tau = of("tau", time_axis("mean response time", Spacing::Logarithmic), &TAU, WIDE);
    let narrow = Chart { id: format!("{}-narrow", tau.id), size: HALF, ..tau.clone() };
    vec![
        plot("Response time", "Mean response time with 95 % intervals over runs.", tau, Some(narrow)),
        plot(
            "Throughput",
            "Completions per second, with 95 % intervals over runs.",
            of("throughput", linear("throughput", Quantity::PerSecond), &THROUGHPUT, HALF),
            None,
        ),
        plot(
            "CPU utilisation",
            "CPU use of the server's domain, with 95 % intervals over runs.",
            of("theta", linear("CPU use", Quantity::Percent), &THETA, HALF),
            None,
        ),
    ]
}

fn of_side(study: &Study<'_>, series: usize, side: usize, measure: &Measure) -> Trace {
    let Look { hue, marker, dashed } = look(side);
    let mut trace = trace(study, series, measure);
    trace.points.iter_mut().for_each(|point| point.tip = format!("{}: {}", NAMES[side], point.tip));
    // With two lines close together words beside points hide the other line.
    trace.points.iter_mut().for_each(|point| point.text = String::new());
    Trace { class: format!("s{hue}"), marker, dashed, end_text: NAMES[side].to_owned(), ..trace }
}

/// The distribution of both at each rate that they have in common, all on the same scales.
pub fn distributions(studies: [&Study<'_>; 2], cells: &[[&CellSummary; 2]], id: &str) -> Vec<Plot> {
    let lines = |pair: &[&CellSummary; 2]| -> Vec<Vec<Point>> {
        let of = |side: usize| of_cell(studies[side], pair[side]).0.as_ref().map(points).unwrap_or_default();
        [of(0), of(1)].to_vec()
    };
    let all: Vec<Vec<Vec<Point>>> = cells.iter().map(lines).collect();
    let of_all = |value: fn(&Point) -> f64| all.iter().flatten().flatten().map(value).collect::<Vec<f64>>();
    let (times, nines) = (of_all(|point| point.y), of_all(|point| point.x));
    let plot = |(at, (pair, lines)): (usize, (&[&CellSummary; 2], Vec<Vec<Point>>))| {
        let rate = format::rate(pair[0].rate_per_s);
        let trace = |(side, points): (usize, Vec<Point>)| {
            let Look { hue, marker, dashed } = look(side);
            let end_text = NAMES[side].to_owned();
            Trace { class: format!("s{hue}"), marker, dashed, bare: true, end_text, points, dots: Vec::new() }
        };
        let traces: Vec<Trace> =
            lines.into_iter().enumerate().map(trace).filter(|trace| !trace.points.is_empty()).collect();
        let absent: Vec<&str> =
            NAMES.into_iter().filter(|name| traces.iter().all(|trace| trace.end_text != *name)).collect();
        let mut y = time_axis("response time", Spacing::Logarithmic);
        y.holds.clone_from(&times);
        let mut x = axis("requests that are no slower", Quantity::Percentile, Spacing::Nines);
        x.holds.push(nines.iter().copied().fold(10.0, f64::max));
        let chart = Chart {
            id: format!("spectrum-{id}-{at}"),
            title: format!("Distribution of the response time at {rate}"),
            description: "Response time against the percentile, a line for each study.".to_owned(),
            size: PANEL,
            x,
            y,
            guides: Vec::new(),
            traces,
        };
        let missing =
            || ("Left out:".to_owned(), format!("{}, whose histograms cannot be read", absent.join(" and ")));
        let notes = if absent.is_empty() { Vec::new() } else { vec![missing()] };
        Plot { heading: rate, words: String::new(), notes, chart, narrow: None }
    };
    cells.iter().zip(all.clone()).enumerate().map(plot).collect()
}
