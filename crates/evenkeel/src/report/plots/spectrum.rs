//! How response times are distributed at each rate.

use super::traces::is_hollow;
use super::{PANEL, Plot, WIDE, time_axis};
use crate::format;
use crate::report::chart::{Axis, Chart, Point, Quantity, Spacing, Trace};
use crate::report::legend::Study;
use evenkeel_study::store::Distribution;
use evenkeel_study::store::format::CellSummary;

/// A line ends where fewer values than this lie beyond: further up single requests decide.
const BEYOND: f64 = 10.0;
/// Steps from one nine to the next.
const STEPS: i32 = 12;
const RATES: usize = 8;

pub const HEADING: &str = "Distribution";
pub const WORDS: &str = "Response time against the percentile, a line for each arrival rate, all runs of a cell together. Each \
     step to the right leaves a tenth: at p99 one request in a hundred is slower. A line ends where fewer than ten \
     requests lie beyond; it is dashed where the queue did not settle.";

/// The percentile spectrum of each series.
pub fn spectra(study: &Study) -> Vec<Plot> {
    let several = study.has_several();
    let all: Vec<(Vec<Trace>, Vec<String>)> =
        (0..study.plan.series.len()).map(|series| traces(study, series)).collect();
    // All panels have the same scales.
    let points = || all.iter().flat_map(|(traces, _)| traces).flat_map(|trace| &trace.points);
    let times: Vec<f64> = points().map(|point| point.y).collect();
    let most = points().map(|point| point.x).fold(10.0, f64::max);
    let plot = |(series, (traces, missing)): (usize, &(Vec<Trace>, Vec<String>))| {
        let label = &study.plan.series[series].label;
        let mut y = time_axis("response time");
        y.holds.clone_from(&times);
        let mut x = Axis::new("requests that are no slower", Quantity::Percentile, Spacing::Nines);
        x.holds = vec![1.0, most];
        let chart = Chart {
            id: format!("spectrum-{series}"),
            title: format!("Distribution of the response time at each rate: {label}"),
            description: "Response time against the percentile, a line for each arrival rate.".to_owned(),
            size: if several { PANEL } else { WIDE },
            x,
            y,
            guides: Vec::new(),
            traces: traces.clone(),
        };
        let plot = if several { Plot::new(label, "", chart) } else { Plot::new(HEADING, WORDS, chart) };
        match missing.as_slice() {
            [] => plot,
            missing => Plot { note: format!("Left out: {}", missing.join(", ")), ..plot },
        }
    };
    all.iter().enumerate().map(plot).collect()
}

/// Lines of a series, and what could not be drawn.
fn traces(study: &Study, series: usize) -> (Vec<Trace>, Vec<String>) {
    let cells = study.cells_of(series);
    let (mut traces, mut missing) = (Vec::new(), Vec::new());
    for (at, cell) in cells.iter().enumerate() {
        let (distribution, left_out) = of_cell(study, cell);
        missing.extend(left_out);
        let points = distribution.as_ref().map(points).unwrap_or_default();
        if !points.is_empty() {
            traces.push(Trace {
                class: format!("r{}", at * RATES / cells.len().max(1)),
                dashed: is_hollow(cell),
                bare: true,
                end_text: format::rate(cell.rate_per_s),
                points,
                ..Trace::default()
            });
        }
    }
    (traces, missing)
}

/// All runs of a cell that its figures are of together, and those that cannot be read.
fn of_cell(study: &Study, cell: &CellSummary) -> (Option<Distribution>, Vec<String>) {
    let (mut all, mut missing): (Option<Distribution>, Vec<String>) = (None, Vec::new());
    for run in study.standing_of(cell.cell) {
        let details = study.details.of(run);
        match details.map_or(Err("not read"), |own| own.response.as_ref().map_err(String::as_str)) {
            Ok(own) => all = Some(all.map_or_else(|| own.clone(), |all| all.and(own))),
            Err(why) => missing.push(format!("{}, run {}: {why}", study.cell_name(cell), run.repeat)),
        }
    }
    (all, missing)
}

/// From the least value up to where [`BEYOND`] values are left.
fn points(distribution: &Distribution) -> Vec<Point> {
    let most = distribution.count() as f64 / BEYOND;
    let nines =
        (0..).map(|step| 10_f64.powf(f64::from(step) / f64::from(STEPS))).take_while(|nine| *nine <= most);
    let point = |nine: f64| {
        let y = distribution.at_percentile_ms(100.0 * (1.0 - 1.0 / nine))?;
        Some(Point { x: nine, y, ..Point::default() })
    };
    nines.take(100).filter_map(point).collect()
}
