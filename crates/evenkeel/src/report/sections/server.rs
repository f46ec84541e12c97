//! What the server said of itself, beside the requests that it answered.

use super::{field, head, row as named, section, table};
use crate::columns::unit;
use crate::format;
use crate::format::TimeUnit;
use crate::report::legend::Study;
use evenkeel_study::store::format::CellSummary;

/// A figure of the table: its name in the records, its heading, its unit.
type Line = (&'static str, &'static str, &'static str);

const PER_REQUEST: &str = "per request";

const FIGURES: [Line; 21] = [
    ("threads_running_mean", "threads running", "mean"),
    ("threads_running_max", "threads running", "most"),
    ("pool_read_requests_per_request", "pages requested", PER_REQUEST),
    ("pool_reads_per_request", "pages read from disk", PER_REQUEST),
    ("pool_miss_percent", "pages not in the pool", "percent"),
    ("server_read_bytes_per_request", "bytes read by the server", PER_REQUEST),
    ("server_write_bytes_per_request", "bytes written by the server", PER_REQUEST),
    ("disk_reads_per_request", "reads of the disk, by all", PER_REQUEST),
    ("disk_writes_per_request", "writes of the disk, by all", PER_REQUEST),
    ("data_read_ms", "server's wait for a read", "ms, mean"),
    ("disk_read_ms", "time of a read on the disk", "ms, mean"),
    ("disk_write_ms", "time of a write on the disk", "ms, mean"),
    ("handler_reads_per_request", "rows read", PER_REQUEST),
    ("handler_writes_per_request", "rows written", PER_REQUEST),
    ("row_lock_waits_per_request", "row lock waits", PER_REQUEST),
    ("row_lock_wait_ms_per_request", "waiting for row locks", "ms per request"),
    ("log_writes_per_request", "log writes", PER_REQUEST),
    ("log_fsyncs_per_request", "log flushes", PER_REQUEST),
    ("tmp_tables_per_request", "temporary tables", PER_REQUEST),
    ("tmp_disk_tables_per_request", "temporary tables on disk", PER_REQUEST),
    ("sort_merge_passes_per_request", "sort merges", PER_REQUEST),
];

/// A row for each cell. Figures that are zero everywhere are named below instead; nothing where the server told
/// nothing.
pub fn server(study: &Study) -> String {
    let cells = study.cells();
    let known = |figure: &Line| cells.iter().any(|cell| value(cell, figure).is_some());
    let is_zero = |figure: &Line| cells.iter().all(|cell| value(cell, figure).is_none_or(|mean| mean == 0.0));
    let (zeros, shown): (Vec<Line>, Vec<Line>) = FIGURES.into_iter().filter(known).partition(is_zero);
    if cells.is_empty() || (shown.is_empty() && !has_delay(&cells)) {
        return String::new();
    }
    let delay_unit = unit(&study.summary.cells, |cell| Some(&cell.mu_ms)).unwrap_or(TimeUnit::Milliseconds);
    let fixed = [
        ("cell", ""),
        ("requests", "all runs"),
        ("probe delay", delay_unit.symbol()),
        ("of it waited for a CPU", delay_unit.symbol()),
    ];
    let heads = fixed.into_iter().chain(shown.iter().map(|(_, name, unit)| (*name, *unit)));
    let heads: String = heads.map(|(name, unit)| head(name, unit)).collect();
    let rows: String = cells.iter().map(|cell| row(study, cell, delay_unit, &shown)).collect();
    let table = table("What the server did, means over runs", &heads, &format!("<tbody>\n{rows}</tbody>"));
    section("server", "Server", &words(&cells), &format!("{table}{}", none(&zeros)))
}

fn has_delay(cells: &[&CellSummary]) -> bool {
    cells.iter().any(|cell| cell.mu_ms.n > 0)
}

fn words(cells: &[&CellSummary]) -> String {
    let delay = match has_delay(cells) {
        false => "The probe delay is not available: the server does not report how long a statement took it.",
        true => {
            "The probe delay is the time of a small probe without its execution at the server: the socket, \
             and waking up on both sides. It includes the waits of both threads for a CPU, which are also \
             shown apart where the kernel reports them: always on our side, on the server's if it runs on this machine."
        }
    };
    format!(
        "The server's own counters in the measured phase, divided by the requests that it counted. The cost \
         of our own queries is left out. {delay} Threads running include our own."
    )
}

fn value(cell: &CellSummary, (name, _, _): &Line) -> Option<f64> {
    cell.server.get(*name).and_then(format::mean)
}

fn row(study: &Study, cell: &CellSummary, delay_unit: TimeUnit, figures: &[Line]) -> String {
    let number = |value: Option<f64>| match value {
        Some(0.0) => "0".to_owned(),
        Some(value) => format::significant(value, 3),
        None => format::ABSENT.to_owned(),
    };
    let scale = delay_unit.per_ms();
    let fixed = [
        format::count(cell.counts.completed),
        format::estimate(&cell.mu_ms, scale),
        number(format::mean(&cell.probe_wait_ms).map(|wait| wait * scale)),
    ];
    let all = fixed.into_iter().chain(figures.iter().map(|figure| number(value(cell, figure))));
    named(&study.cell_name(cell), &all.map(|text| field(&text)).collect::<String>())
}

/// What did not happen at all is said in a line, not in columns of zeros.
fn none(zeros: &[Line]) -> String {
    let names: Vec<&str> = zeros.iter().map(|(_, name, _)| *name).collect();
    match names.as_slice() {
        [] => String::new(),
        names => format!("<p class=\"words\">None at any rate: {}.</p>\n", names.join(", ")),
    }
}
