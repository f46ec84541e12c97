//! How the second study relates to the first, where both have a rate.

use crate::format;
use crate::report::markup::Text;
use crate::report::sections::{section as wrapped, table};
use crate::report::study::Study;
use evenkeel_core::statistics::unpaired_ratio;
use evenkeel_study::store::format::{CellSummary, RunFile};

/// A figure of a run.
struct Figure {
    head: &'static str,
    of: fn(&RunFile) -> Option<f64>,
    /// Whether it is a response time, which is a lower bound where requests were given up.
    is_response: bool,
}

const FIGURES: [Figure; 4] = [
    Figure { head: "mean response", of: |run| answered(run, run.response.mean_ms), is_response: true },
    Figure { head: "p95", of: |run| answered(run, run.response.p95_ms), is_response: true },
    Figure { head: "throughput", of: |run| Some(run.throughput_per_s), is_response: false },
    Figure {
        head: "CPU use",
        of: |run| run.theta.as_ref().map(|theta| theta.total_percent),
        is_response: false,
    },
];

/// A run without an answer has no response time.
fn answered(run: &RunFile, value: f64) -> Option<f64> {
    (run.response.count > 0).then_some(value)
}

/// The table, or which rates to measure for one.
pub fn section(
    studies: [&Study<'_>; 2],
    series: [usize; 2],
    cells: &[[&CellSummary; 2]],
    at: usize,
) -> String {
    let id = format!("ratios-{at}");
    if cells.is_empty() {
        let rates: Vec<String> =
            studies[0].cells_of(series[0]).iter().map(|cell| cell.rate_per_s.to_string()).collect();
        let text = format!(
            "No rate was measured in both. For ratios measure the second again with the rates of the first: \
             --rate {}.",
            rates.join(",")
        );
        return wrapped(&id, "B / A", "", &format!("<p>{}</p>\n", Text(&text)));
    }
    let heads: String =
        FIGURES.iter().map(|figure| format!("<th scope=\"col\">{}</th>", figure.head)).collect();
    let head = format!(
        "<th scope=\"col\">rate<small>1/s</small></th><th scope=\"col\">runs<small>A, B</small></th>{heads}"
    );
    let rows: String = cells.iter().map(|pair| row(studies, pair)).collect();
    let table = table("Ratios of B to A at the same rates", &head, &format!("<tbody>\n{rows}</tbody>"));
    let words = "Geometric means over runs of B as a multiple of those of A, with 95 % intervals (Welch's t over \
                 logarithms). An interval without 1 is bold: there the two differ by more than runs do \
                 among themselves. One figure in twenty does so by chance.";
    wrapped(&id, "B / A", words, &table)
}

fn row(studies: [&Study<'_>; 2], pair: &[&CellSummary; 2]) -> String {
    let runs = [0, 1].map(|side| studies[side].standing_of(pair[side].cell));
    let fields: String = FIGURES.iter().map(|figure| field(figure, pair, &runs)).collect();
    format!(
        "<tr><th scope=\"row\">{}</th><td>{}, {}</td>{fields}</tr>\n",
        Text(&format::short(pair[0].rate_per_s)),
        runs[0].len(),
        runs[1].len()
    )
}

fn field(figure: &Figure, pair: &[&CellSummary; 2], runs: &[Vec<&RunFile>; 2]) -> String {
    if figure.is_response && pair.iter().any(|cell| cell.lower_bound) {
        return "<td class=\"absent\">lower bound</td>".to_owned();
    }
    let values = |side: usize| runs[side].iter().filter_map(|run| (figure.of)(run)).collect::<Vec<f64>>();
    match unpaired_ratio(&values(1), &values(0)) {
        None => format!("<td class=\"absent\">{}</td>", format::ABSENT),
        Some(ratio) if ratio.differs() => format!("<td><b>{}</b></td>", Text(&format::ratio(&ratio))),
        Some(ratio) => format!("<td>{}</td>", Text(&format::ratio(&ratio))),
    }
}
