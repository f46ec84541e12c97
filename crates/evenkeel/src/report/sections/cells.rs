//! The table of cells: every figure of every chart.

use super::{section, table};
use crate::format::{self, TimeUnit};
use crate::report::markup::Text;
use crate::report::study::Study;
use evenkeel_lab::store::format::{CellSummary, EstimateRecord};
use std::fmt::Write as _;

/// A column with one unit for all its rows.
struct Column {
    head: String,
    cell: Box<dyn Fn(&CellSummary) -> String>,
}

/// The table, or a sentence where no cell has runs.
pub fn cells(study: &Study<'_>) -> String {
    let inner = if study.summary.cells.is_empty() {
        "<p>No cell has a finished run yet.</p>\n".to_owned()
    } else {
        let columns = columns(&study.summary.cells);
        let head = columns
            .iter()
            .map(|column| format!("<th scope=\"col\">{}</th>", column.head))
            .collect::<String>();
        table(
            "Cells, means over runs",
            &format!("{head}<th scope=\"col\" class=\"state\">state</th>"),
            &body(study, &columns),
        )
    };
    let words = "Means over runs ± half of the 95 % interval. ≥ marks lower bounds: requests that timed out or \
                 were never sent count at the age they had reached.";
    section("cells", "Cells", words, &inner)
}

fn columns(cells: &[CellSummary]) -> Vec<Column> {
    let mut columns = vec![
        plain("λ, 1/s", |cell| format::short(cell.rate_per_s)),
        plain("throughput, 1/s", |cell| format::estimate(&cell.throughput_per_s, 1.0)),
        response(cells, "τ", |cell| &cell.tau_ms, true),
        response(cells, "p50", |cell| &cell.p50_ms, false),
        response(cells, "p90", |cell| &cell.p90_ms, false),
        response(cells, "p95", |cell| &cell.p95_ms, true),
        response(cells, "p99", |cell| &cell.p99_ms, false),
        response(cells, "p99.9", |cell| &cell.p999_ms, false),
        plain("θ, %", |cell| format::estimate(&cell.theta_percent, 1.0)),
        time(cells, "lag p99", |cell| &cell.lag_p99_ms),
    ];
    if cells.iter().any(|cell| cell.pool_reads_per_request.is_some()) {
        columns.push(plain("reads per request", |cell| mean(cell.pool_reads_per_request.as_ref(), 1.0)));
    }
    if cells.iter().any(|cell| cell.target_spread_ms.is_some()) {
        columns.push(plain("spread, ms", |cell| {
            cell.target_spread_ms.map_or_else(|| format::ABSENT.to_owned(), |ms| format::significant(ms, 3))
        }));
    }
    columns.push(plain("runs", |cell| cell.runs.to_string()));
    columns
}

fn plain(head: &str, cell: impl Fn(&CellSummary) -> String + 'static) -> Column {
    Column { head: Text(head).to_string(), cell: Box::new(cell) }
}

fn time(cells: &[CellSummary], name: &str, of: fn(&CellSummary) -> &EstimateRecord) -> Column {
    let unit = unit(cells, of);
    plain(&format!("{name}, {}", unit.symbol()), move |cell| mean(Some(of(cell)), unit.per_ms()))
}

fn response(
    cells: &[CellSummary],
    name: &str,
    of: fn(&CellSummary) -> &EstimateRecord,
    with_interval: bool,
) -> Column {
    let unit = unit(cells, of);
    plain(&format!("{name}, {}", unit.symbol()), move |cell| {
        let scale = unit.per_ms();
        match cell.lower_bound && format::mean(of(cell)).is_some() {
            // The interval of a lower bound bounds nothing.
            true => format!("≥ {}", mean(Some(of(cell)), scale)),
            false if with_interval => format::estimate(of(cell), scale),
            false => mean(Some(of(cell)), scale),
        }
    })
}

fn mean(estimate: Option<&EstimateRecord>, scale: f64) -> String {
    let value = estimate.and_then(format::mean);
    value.map_or_else(|| format::ABSENT.to_owned(), |value| format::significant(value * scale, 3))
}

/// The unit that suits the middle of a column, so that one unstable cell does not turn all into seconds.
fn unit(cells: &[CellSummary], of: fn(&CellSummary) -> &EstimateRecord) -> TimeUnit {
    let mut means: Vec<f64> = cells.iter().filter_map(|cell| format::mean(of(cell))).collect();
    means.sort_by(f64::total_cmp);
    means.get(means.len() / 2).map_or(TimeUnit::Milliseconds, |middle| TimeUnit::suiting(*middle))
}

fn body(study: &Study<'_>, columns: &[Column]) -> String {
    let mut out = String::new();
    for (index, series) in study.plan.series.iter().enumerate() {
        let cells = study.cells_of(index);
        if cells.is_empty() {
            continue;
        }
        out.push_str("<tbody>\n");
        if study.has_several() {
            let _ = writeln!(
                out,
                "<tr class=\"series\"><th scope=\"rowgroup\" colspan=\"{}\">{} {}</th></tr>",
                columns.len() + 1,
                crate::report::legend::swatch(study.look(index)),
                Text(&series.label)
            );
        }
        cells.iter().for_each(|cell| out.push_str(&row(cell, columns)));
        out.push_str("</tbody>\n");
    }
    out
}

fn row(cell: &CellSummary, columns: &[Column]) -> String {
    let values: String = columns
        .iter()
        .map(|column| {
            let text = (column.cell)(cell);
            let class = if text == format::ABSENT { " class=\"absent\"" } else { "" };
            format!("<td{class}>{}</td>", Text(&text))
        })
        .collect();
    format!("<tr>{values}<td class=\"state\">{}</td></tr>\n", state(cell))
}

fn state(cell: &CellSummary) -> String {
    let class = match cell.stability.as_str() {
        "settled" => "good",
        _ => "doubt",
    };
    let mut out = format!("<span class=\"{class}\">{}</span>", Text(&cell.stability));
    if !cell.valid {
        out.push_str(" <span class=\"bad\">not valid</span>");
    }
    out
}
