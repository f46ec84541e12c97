//! From cells and runs to traces.

use crate::format;
use crate::report::chart::{Dot, Point, Trace};
use crate::report::study::Study;
use evenkeel_study::store::format::{CellSummary, EstimateRecord, RunFile, Verdict};
use std::fmt::Write as _;

/// What is drawn of a cell, and of each of its runs.
pub struct Measure {
    /// Mean over runs.
    pub of_cell: fn(&CellSummary) -> &EstimateRecord,
    /// Value of one run.
    pub of_run: fn(&RunFile) -> Option<f64>,
    /// Whether it is a response time, which is a lower bound where requests were lost.
    pub is_response: bool,
}

impl Measure {
    const fn response(
        of_cell: fn(&CellSummary) -> &EstimateRecord,
        of_run: fn(&RunFile) -> Option<f64>,
    ) -> Self {
        Self { of_cell, of_run, is_response: true }
    }

    const fn other(
        of_cell: fn(&CellSummary) -> &EstimateRecord,
        of_run: fn(&RunFile) -> Option<f64>,
    ) -> Self {
        Self { of_cell, of_run, is_response: false }
    }
}

pub const TAU: Measure = Measure::response(|cell| &cell.tau_ms, |run| Some(run.response.measured()?.mean_ms));
pub const THETA: Measure =
    Measure::other(|cell| &cell.theta_percent, |run| run.theta.as_ref().map(|theta| theta.total_percent));
pub const THROUGHPUT: Measure =
    Measure::other(|cell| &cell.throughput_per_s, |run| Some(run.throughput_per_s));
pub const MU: Measure = Measure::other(|cell| &cell.mu_ms, |run| run.mu_ms.as_ref().map(|delay| delay.mean));
pub const PROBE_WAIT: Measure =
    Measure::other(|cell| &cell.probe_wait_ms, |run| run.probe_wait_ms.as_ref().map(|wait| wait.mean));
pub const LAG: Measure = Measure::other(|cell| &cell.lag_p99_ms, |run| Some(run.lag.measured()?.p99_ms));

/// The percentiles by name.
pub const PERCENTILES: [(&str, Measure); 5] = [
    ("p50", Measure::response(|cell| &cell.p50_ms, |run| Some(run.response.measured()?.p50_ms))),
    ("p90", Measure::response(|cell| &cell.p90_ms, |run| Some(run.response.measured()?.p90_ms))),
    ("p95", Measure::response(|cell| &cell.p95_ms, |run| Some(run.response.measured()?.p95_ms))),
    ("p99", Measure::response(|cell| &cell.p99_ms, |run| Some(run.response.measured()?.p99_ms))),
    ("p99.9", Measure::response(|cell| &cell.p999_ms, |run| Some(run.response.measured()?.p999_ms))),
];

/// One trace for each series.
pub fn traces(study: &Study<'_>, measure: &Measure) -> Vec<Trace> {
    (0..study.plan.series.len()).map(|series| trace(study, series, measure)).collect()
}

/// The trace of one series.
pub fn trace(study: &Study<'_>, series: usize, measure: &Measure) -> Trace {
    let look = study.look(series);
    let cells = study.cells_of(series);
    Trace {
        class: format!("s{}", look.hue),
        marker: look.marker,
        dashed: look.dashed,
        bare: false,
        end_text: String::new(),
        points: cells.iter().filter_map(|cell| point(study, cell, measure)).collect(),
        dots: cells.iter().flat_map(|cell| dots(study, cell, measure)).collect(),
    }
}

fn point(study: &Study<'_>, cell: &CellSummary, measure: &Measure) -> Option<Point> {
    let estimate = (measure.of_cell)(cell);
    let hollow = is_hollow(cell);
    let bound = cell.lower_bound && measure.is_response;
    Some(Point {
        x: cell.rate_per_s,
        y: format::mean(estimate)?,
        // The interval of a lower bound bounds nothing.
        interval: estimate.low.zip(estimate.high).filter(|_| !bound),
        hollow,
        lower_bound: bound,
        text: point_text(study, cell, estimate, bound),
        tip: tip(study, cell),
    })
}

/// Whether a cell's queue did not settle in some run.
pub fn is_hollow(cell: &CellSummary) -> bool {
    matches!(cell.stability, Verdict::Unstable | Verdict::Mixed)
}

/// With many series, the hollow marker alone must do: words would hide the lines.
fn point_text(study: &Study<'_>, cell: &CellSummary, estimate: &EstimateRecord, bound: bool) -> String {
    match (is_hollow(cell), bound) {
        _ if study.plan.series.len() > 2 => String::new(),
        // It may lie beyond the scale, so its value is said.
        (true, true) => format!("{}, at least {}", cell.stability, mean_time(estimate)),
        (true, false) => cell.stability.to_string(),
        (false, true) => "lower bound".to_owned(),
        (false, false) => String::new(),
    }
}

fn dots(study: &Study<'_>, cell: &CellSummary, measure: &Measure) -> Vec<Dot> {
    let runs = study.runs_of(cell.cell);
    let middle = (runs.len() as f64 - 1.0) / 2.0;
    let place = |(at, run): (usize, &&RunFile)| {
        let y = (measure.of_run)(run).filter(|value| value.is_finite())?;
        Some(Dot { x: cell.rate_per_s, y, aside: (at as f64 - middle) / middle.max(1.0) })
    };
    runs.iter().enumerate().filter_map(place).collect()
}

/// All figures of a cell, one a line.
pub fn tip(study: &Study<'_>, cell: &CellSummary) -> String {
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
