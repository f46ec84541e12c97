//! The columns of a table of cells, the same in the terminal and in the report.

use crate::format::{self, TimeUnit};
use evenkeel_study::profile::READ_MS;
use evenkeel_study::store::format::{CellSummary, EstimateRecord};

pub struct Column {
    pub word: &'static str,
    /// Unit; empty for a count.
    pub unit: &'static str,
    /// The less it is, the longer the column stays where there is little room; 0 stays always.
    pub rank: u8,
    /// Whether it is in the table of a terminal without `--wide`.
    pub is_usual: bool,
    pub text: Box<dyn Fn(&CellSummary) -> String>,
}

/// Columns for these cells; those that no cell has a value for are left out.
pub fn columns(cells: &[CellSummary]) -> Vec<Column> {
    let mut columns = vec![
        column(("rate", "1/s", 0), |cell| format::short(cell.rate_per_s)).usual(),
        column(("throughput", "1/s", 2), |cell| format::estimate(&cell.throughput_per_s, 1.0)).usual(),
        response(cells, (MEAN, 0), |cell| &cell.tau_ms, format::estimate).usual(),
        response(cells, ("p50", 4), |cell| &cell.p50_ms, format::estimate_beside).usual(),
        response(cells, ("p90", 6), |cell| &cell.p90_ms, format::estimate_beside),
        response(cells, ("p95", 1), |cell| &cell.p95_ms, format::estimate_beside).usual(),
        response(cells, ("p99", 3), |cell| &cell.p99_ms, format::estimate_beside).usual(),
        response(cells, ("p99.9", 5), |cell| &cell.p999_ms, format::estimate_beside),
        column(("CPU use", "%", 1), |cell| format::estimate(&no_finer(&cell.theta_percent), 1.0)).usual(),
    ];
    let delay_unit = unit(cells, |cell| Some(&cell.mu_ms));
    let waits = cells.iter().any(|cell| cell.session_wait_ms.mean > 0.0);
    columns.extend(figure(cells, ("lag p99", 4), None, |cell| Some(&cell.lag_p99_ms), mean));
    columns.extend(
        figure(cells, ("session wait", 4), None, |cell| Some(&cell.session_wait_ms), mean).filter(|_| waits),
    );
    if cells.iter().any(|cell| cell.pool_reads_per_request.is_some()) {
        columns.push(column(("reads", "per request", 7), |cell| {
            cell.pool_reads_per_request.as_ref().map_or_else(absent, |reads| mean(reads, 1.0))
        }));
    }
    columns.extend(of_part(cells, READ_TIME));
    columns.extend(figure(cells, ("probe delay", 8), delay_unit, |cell| Some(&cell.mu_ms), format::estimate));
    // In the unit of the delay that it is a part of.
    columns.extend(figure(cells, ("CPU wait", 9), delay_unit, |cell| Some(&cell.probe_wait_ms), mean));
    columns.extend(PARTS.into_iter().filter_map(|part| of_part(cells, part)));
    if cells.iter().any(|cell| cell.target_spread_ms.is_some()) {
        columns.push(column(("spread", "ms", 7), |cell| {
            cell.target_spread_ms.map_or_else(absent, |ms| format::significant(ms, 3))
        }));
    }
    if cells.iter().any(was_disturbed) {
        columns.push(undisturbed(cells));
    }
    columns.push(column(("runs", "", 1), |cell| cell.runs.to_string()).usual());
    if cells.iter().any(|cell| cell.attempts_set_aside > 0) {
        columns.push(column(("set aside", "attempts", 6), |cell| cell.attempts_set_aside.to_string()));
    }
    columns
}

pub const MEAN: &str = "mean";

/// What a `?` says.
pub const OPEN: &str = "the runs are too few, too short or too different for that end of the \
                        interval; `evenkeel size` joins all rates by a model and may give one";

/// Parts of the response times of requests: name in the records, heading, rank.
const PARTS: [(&str, &str, u8); 4] = [
    ("request_network_ms", "network", 3),
    ("request_waking_ms", "waking up", 4),
    ("request_server_waking_ms", "server waking", 4),
    ("request_execution_ms", "execution", 3),
];

/// CPU use with an interval of this many percent on either side at least: ticks of the kernel tell no more, and digits take room.
fn no_finer(theta: &EstimateRecord) -> EstimateRecord {
    const HALF_LEAST: f64 = 0.3;
    let low = theta.low.map(|low| low.min(theta.mean - HALF_LEAST));
    EstimateRecord { low, high: theta.high.map(|high| high.max(theta.mean + HALF_LEAST)), ..theta.clone() }
}

/// What a read of the disk takes, as the server waits for it.
const READ_TIME: (&str, &str, u8) = (READ_MS, "disk read", 8);

/// A column of a figure of the server.
fn of_part(cells: &[CellSummary], (name, word, rank): (&'static str, &'static str, u8)) -> Option<Column> {
    figure(cells, (word, rank), None, move |cell| cell.server.get(name), format::estimate)
}

fn column(
    (word, unit, rank): (&'static str, &'static str, u8),
    text: impl Fn(&CellSummary) -> String + 'static,
) -> Column {
    Column { word, unit, rank, is_usual: false, text: Box::new(text) }
}

impl Column {
    fn usual(self) -> Self {
        Self { is_usual: true, ..self }
    }
}

/// A column of times in a unit that is given, or that suits them; `None` where no cell has any.
fn figure(
    cells: &[CellSummary],
    (word, rank): (&'static str, u8),
    given: Option<TimeUnit>,
    of: impl Fn(&CellSummary) -> Option<&EstimateRecord> + Copy + 'static,
    words: fn(&EstimateRecord, f64) -> String,
) -> Option<Column> {
    let own = unit(cells, of)?;
    let unit = given.unwrap_or(own);
    let text = move |cell: &CellSummary| of(cell).map_or_else(absent, |one| words(one, unit.per_ms()));
    Some(column((word, unit.symbol(), rank), text))
}

/// Whether neighbours took enough to show beside the raw figure what is left without them.
fn was_disturbed(cell: &CellSummary) -> bool {
    cell.undisturbed.as_ref().is_some_and(|record| record.coverage_percent < 99.5)
}

/// Tau of the requests that arrived outside of bursts of the neighbours, and the share of the time that this is; in the unit of tau. The
/// queue that a burst left behind is still in it, so that it lies between the raw tau and that of a machine without neighbours.
fn undisturbed(cells: &[CellSummary]) -> Column {
    let unit = unit(cells, |cell| Some(&cell.tau_ms)).unwrap_or(TimeUnit::Milliseconds);
    let scale = unit.per_ms();
    column(("mean outside bursts", unit.symbol(), 5), move |cell| {
        let text = cell.undisturbed.as_ref().map(|record| {
            let share = format::percent(record.coverage_percent);
            let tau = match cell.lower_bound {
                true => format!("≥ {}", mean(&record.tau_ms, scale)),
                false => format::estimate(&record.tau_ms, scale),
            };
            format!("{tau} in {share} of the time")
        });
        text.unwrap_or_else(absent)
    })
}

fn response(
    cells: &[CellSummary],
    (word, rank): (&'static str, u8),
    of: fn(&CellSummary) -> &EstimateRecord,
    words: fn(&EstimateRecord, f64) -> String,
) -> Column {
    let unit = unit(cells, |cell| Some(of(cell))).unwrap_or(TimeUnit::Milliseconds);
    let scale = unit.per_ms();
    column((word, unit.symbol(), rank), move |cell| {
        match cell.lower_bound && format::mean(of(cell)).is_some() {
            // The interval of a lower bound bounds nothing.
            true => format!("≥ {}", mean(of(cell), scale)),
            // Runs are too few or too short for either end.
            false if of(cell).n > 0 && of(cell).low.is_none() => format!("{} (?)", words(of(cell), scale)),
            false => words(of(cell), scale),
        }
    })
}

fn mean(estimate: &EstimateRecord, scale: f64) -> String {
    let value = format::mean(estimate);
    value.map_or_else(absent, |value| format::significant(value * scale, format::BESIDE_DIGITS))
}

fn absent() -> String {
    format::ABSENT.to_owned()
}

/// The unit that suits the middle of a column, so that one unstable cell does not turn all into seconds; `None` where no cell has it.
pub fn unit(cells: &[CellSummary], of: impl Fn(&CellSummary) -> Option<&EstimateRecord>) -> Option<TimeUnit> {
    let mut means: Vec<f64> = cells.iter().filter_map(|cell| format::mean(of(cell)?)).collect();
    means.sort_by(f64::total_cmp);
    means.get(means.len() / 2).map(|middle| TimeUnit::suiting(*middle))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use evenkeel_study::store::format::UndisturbedRecord;

    fn text(cells: &[CellSummary], word: &str, row: usize) -> String {
        let columns = columns(cells);
        let column = columns.iter().find(|column| column.word == word).unwrap();
        format!("{} {}", (column.text)(&cells[row]), column.unit)
    }

    #[test]
    fn every_value_has_its_interval_and_at_least_is_for_requests_that_were_given_up() {
        let mut cells = fixture::demo().summary.cells;
        let cell = &mut cells[1];
        for figure in [&mut cell.tau_ms, &mut cell.p99_ms] {
            (figure.mean, figure.low, figure.high) = (30.0, Some(21.5), None);
        }
        (cell.p50_ms.low, cell.p50_ms.high) = (Some(0.9 * cell.p50_ms.mean), Some(1.1 * cell.p50_ms.mean));
        assert_eq!(text(&cells[..2], MEAN, 1), "30.0 (22 to ?) ms");
        assert_eq!(text(&cells[..2], "p99", 1), "30.0 (22 to ?) ms");
        assert!(text(&cells[..2], "p50", 1).contains(" ± "), "{}", text(&cells[..2], "p50", 1));
        cells[1].lower_bound = true;
        assert_eq!(text(&cells[..2], "p99", 1), "≥ 30.0 ms");
        cells[1].p99_ms.n = 0;
        assert_eq!(text(&cells[..2], "p99", 1), "not available ms");
    }

    #[test]
    fn no_percentile_is_out_of_order_by_its_rounding() {
        let mut cells = vec![fixture::demo().summary.cells[0].clone()];
        let shown = |cells: &[CellSummary], word: &str| -> f64 {
            let text = text(cells, word, 0);
            let digits: String = text
                .chars()
                .take_while(|c| c.is_ascii_digit() || ".,".contains(*c))
                .filter(|c| *c != ',')
                .collect();
            digits.parse().unwrap_or_else(|_| panic!("{word}: {text}"))
        };
        // Halves of intervals that call for anything from one digit to five, and a skewed one.
        for half in [0.4, 30.0, 90.0, 300.0, 900.0, 4_000.0] {
            for high in [half, 3.0 * half] {
                for (p90, p95, p99) in
                    [(2_063.0, 2_064.0, 2_065.0), (20.41, 20.44, 20.46), (999.4, 999.6, 1_000.4)]
                {
                    let figure = |mean: f64| EstimateRecord { n: 3, mean, ..EstimateRecord::default() };
                    let cell = &mut cells[0];
                    (cell.p90_ms, cell.p99_ms) = (figure(p90), figure(p99));
                    cell.p95_ms =
                        EstimateRecord { low: Some(p95 - half), high: Some(p95 + high), ..figure(p95) };
                    let row = ["p90", "p95", "p99"].map(|word| shown(&cells, word));
                    assert!(row.is_sorted(), "{row:?} of {p90}, {p95}, {p99} with {half}, {high}");
                }
            }
        }
    }

    #[test]
    fn tau_outside_bursts_stands_beside_the_raw_one_with_its_share_of_the_time() {
        let mut cells = fixture::demo().summary.cells;
        let tau_ms = EstimateRecord { n: 3, mean: 20.0, ..EstimateRecord::default() };
        cells[0].undisturbed = Some(UndisturbedRecord { tau_ms, coverage_percent: 62.0 });
        let shown = text(&cells, "mean outside bursts", 0);
        assert!(shown.starts_with("20") && shown.ends_with("in 62 % of the time ms"), "{shown}");
        assert_eq!(text(&cells, "mean outside bursts", 1), "not available ms");
        cells[0].undisturbed.as_mut().unwrap().coverage_percent = 100.0;
        assert!(
            columns(&cells).iter().all(|column| column.word != "mean outside bursts"),
            "it would say the same twice"
        );
    }
}
