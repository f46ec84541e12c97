//! From cells and runs to traces.

use crate::format;
use crate::report::chart::{Point, Trace};
use crate::report::legend::Study;
use evenkeel_study::store::format::{CellSummary, EstimateRecord, RunFile, Verdict};
use std::fmt::Write as _;

/// What is drawn of a cell, and of each of its runs.
pub struct Measure {
    of_cell: fn(&CellSummary) -> &EstimateRecord,
    of_run: fn(&RunFile) -> Option<f64>,
    /// Whether it is a response time, which is a lower bound where requests were lost.
    is_response: bool,
}

const fn response(
    of_cell: fn(&CellSummary) -> &EstimateRecord,
    of_run: fn(&RunFile) -> Option<f64>,
) -> Measure {
    Measure { of_cell, of_run, is_response: true }
}

pub const TAU: Measure = response(|cell| &cell.tau_ms, |run| Some(run.response.measured()?.mean_ms));
pub const THETA: Measure = Measure {
    of_cell: |cell| &cell.theta_percent,
    of_run: |run| run.theta.as_ref().map(|theta| theta.total_percent),
    is_response: false,
};
pub const THROUGHPUT: Measure = Measure {
    of_cell: |cell| &cell.throughput_per_s,
    of_run: |run| Some(run.throughput_per_s),
    is_response: false,
};

/// The percentiles by name.
pub const PERCENTILES: [(&str, Measure); 5] = [
    ("p50", response(|cell| &cell.p50_ms, |run| Some(run.response.measured()?.p50_ms))),
    ("p90", response(|cell| &cell.p90_ms, |run| Some(run.response.measured()?.p90_ms))),
    ("p95", response(|cell| &cell.p95_ms, |run| Some(run.response.measured()?.p95_ms))),
    ("p99", response(|cell| &cell.p99_ms, |run| Some(run.response.measured()?.p99_ms))),
    ("p99.9", response(|cell| &cell.p999_ms, |run| Some(run.response.measured()?.p999_ms))),
];

pub fn traces(study: &Study, measure: &Measure) -> Vec<Trace> {
    (0..study.plan.series.len()).map(|series| trace(study, series, measure)).collect()
}

pub fn trace(study: &Study, series: usize, measure: &Measure) -> Trace {
    let look = study.look(series);
    let cells = study.cells_of(series);
    Trace {
        class: format!("s{}", look.hue),
        marker: look.marker,
        dashed: look.dashed,
        points: cells.iter().filter_map(|cell| point(study, cell, measure)).collect(),
        dots: cells.iter().flat_map(|cell| dots(study, cell, measure)).collect(),
        ..Trace::default()
    }
}

fn point(study: &Study, cell: &CellSummary, measure: &Measure) -> Option<Point> {
    let estimate = (measure.of_cell)(cell);
    let bound = cell.lower_bound && measure.is_response;
    Some(Point {
        x: cell.rate_per_s,
        y: format::mean(estimate)?,
        // The interval of a lower bound bounds nothing.
        interval: estimate.low.zip(estimate.high).filter(|_| !bound),
        hollow: is_hollow(cell),
        lower_bound: bound,
        tip: tip(study, cell),
    })
}

/// Whether a cell's queue did not settle in some run.
pub fn is_hollow(cell: &CellSummary) -> bool {
    matches!(cell.stability, Verdict::Unstable | Verdict::Mixed)
}

fn dots(study: &Study, cell: &CellSummary, measure: &Measure) -> Vec<(f64, f64)> {
    let values = study.runs_of(cell.cell).into_iter().filter_map(measure.of_run);
    values.filter(|value| value.is_finite()).map(|value| (cell.rate_per_s, value)).collect()
}

fn tip(study: &Study, cell: &CellSummary) -> String {
    let mut text = study.cell_name(cell);
    let mean = match cell.lower_bound {
        true => format!("at least {}", mean_time(&cell.tau_ms)),
        false => format::estimate_time(&cell.tau_ms),
    };
    let _ = write!(
        text,
        "\nmean {mean}\np50 {}, p95 {}, p99 {}\nthroughput {}\nCPU use {}\nlag p99 {}\nprobe delay {}\n{}, {}",
        mean_time(&cell.p50_ms),
        mean_time(&cell.p95_ms),
        mean_time(&cell.p99_ms),
        format::estimate_rate(&cell.throughput_per_s),
        format::estimate_percent(&cell.theta_percent),
        mean_time(&cell.lag_p99_ms),
        format::estimate_time(&cell.mu_ms),
        cell.stability,
        format::counted(cell.runs as usize, "run")
    );
    text
}

fn mean_time(estimate: &EstimateRecord) -> String {
    format::mean(estimate).map_or_else(|| format::ABSENT.to_owned(), format::time)
}
