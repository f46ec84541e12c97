//! What the response times of requests are made of, where the server told how long it worked on them.

use super::{section, table};
use crate::format;
use crate::report::markup::Text;
use crate::report::study::Study;
use evenkeel_study::store::format::CellSummary;

/// Names in the records and headings.
const PARTS: [(&str, &str); 6] = [
    ("request_before_ms", "before"),
    ("request_network_ms", "network"),
    ("request_waking_ms", "waking up"),
    ("request_server_waking_ms", "server's waking up"),
    ("request_execution_ms", "execution"),
    ("request_mu_ms", "μ"),
];

/// A row for each cell; nothing where no run has parts.
pub fn parts(study: &Study<'_>) -> String {
    let cells: Vec<&CellSummary> =
        (0..study.plan.series.len()).flat_map(|series| study.cells_of(series)).collect();
    let shown: Vec<(&str, &str)> = PARTS
        .into_iter()
        .filter(|(name, _)| cells.iter().any(|cell| cell.server.contains_key(*name)))
        .collect();
    if shown.is_empty() {
        return String::new();
    }
    let heads: String = shown.iter().map(|(_, head)| format!("<th scope=\"col\">{head}</th>")).collect();
    let rows: String = cells.iter().map(|cell| row(study, cell, &shown)).collect();
    let head = format!("<th scope=\"col\">cell</th>{heads}");
    let table = table("Parts of response times, means over runs", &head, &format!("<tbody>\n{rows}</tbody>"));
    let words = "Of the requests that were drawn. Before is all that is not a statement: lag, wait for a \
                 session, connecting, preparing. \
                 μ is the response less the execution, without what came before: network and waking up.";
    let told: String = format::parts(study.runs)
        .iter()
        .map(|line| format!("<p class=\"words\">{}.</p>\n", Text(line)))
        .collect();
    section("parts", "Network, waking up, execution", words, &format!("{table}{told}"))
}

fn row(study: &Study<'_>, cell: &CellSummary, shown: &[(&str, &str)]) -> String {
    let value = |(name, _): &(&str, &str)| {
        let text = cell.server.get(*name).map_or_else(|| format::ABSENT.to_owned(), format::estimate_time);
        format!("<td>{}</td>", Text(&text))
    };
    let values: String = shown.iter().map(value).collect();
    format!("<tr><th scope=\"row\">{}</th>{values}</tr>\n", Text(&study.cell_name(cell)))
}
