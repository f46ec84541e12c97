//! Two studies over each other.

use super::traces::{Measure, TAU, THETA, THROUGHPUT, trace};
use super::{HALF, Plot, WIDE, time_axis};
use crate::report::chart::{Axis, Chart, Marker, Quantity, Spacing, Trace};
use crate::report::legend::{Look, Study};

pub const NAMES: [&str; 2] = ["A", "B"];

/// How the first and the second are drawn.
pub fn look(side: usize) -> Look {
    [
        Look { hue: 0, marker: Marker::Circle, dashed: false },
        Look { hue: 1, marker: Marker::Square, dashed: true },
    ][side]
}

/// Response time, throughput and utilisation of a series of each against the arrival rate.
pub fn pair(studies: [&Study; 2], series: [usize; 2], id: &str) -> [Plot; 3] {
    let linear = |title: &str, quantity| Axis::new(title, quantity, Spacing::Linear);
    let plot = |heading: &str, key: &str, y: Axis, measure: &Measure, size| {
        let chart = Chart {
            id: format!("{key}-{id}"),
            title: format!("{} of both studies against the arrival rate", y.title),
            description: "A line for each study.".to_owned(),
            size,
            x: linear("arrival rate", Quantity::PerSecond),
            y,
            guides: Vec::new(),
            traces: [0, 1].map(|side| of_side(studies[side], series[side], side, measure)).to_vec(),
        };
        Plot::new(heading, "Means with 95 % intervals over runs.", chart)
    };
    let throughput = linear("throughput", Quantity::PerSecond);
    [
        plot("Response time", "tau", time_axis("mean response time"), &TAU, WIDE),
        plot("Throughput", "throughput", throughput, &THROUGHPUT, HALF),
        plot("CPU use", "theta", linear("CPU use", Quantity::Percent), &THETA, HALF),
    ]
}

fn of_side(study: &Study, series: usize, side: usize, measure: &Measure) -> Trace {
    let Look { hue, marker, dashed } = look(side);
    let mut trace = trace(study, series, measure);
    trace.points.iter_mut().for_each(|point| point.tip = format!("{}: {}", NAMES[side], point.tip));
    Trace { class: format!("s{hue}"), marker, dashed, end_text: NAMES[side].to_owned(), ..trace }
}
