//! Each run over time: what it did, and what was done to it.

use super::{head, row as named, section, table};
use crate::format;
use crate::report::chart::{Quantity, Strip, Strips};
use crate::report::details::{RunDetails, Second};
use crate::report::legend::{Study, Text};
use evenkeel_study::store::format::{CellSummary, CountsRecord, RunFile, Verdict};
use std::collections::BTreeMap;

/// Runs that a page draws at most; more are more than anybody looks at.
const RUNS: usize = 240;
/// Stolen time from which a second is shaded, percent: from there on a run is measured again.
const STOLEN: f64 = 2.0;

/// Folded away cell by cell; the one whose runs were disturbed most, or the highest that settled, is open.
pub fn timelines(study: &Study) -> String {
    let cells = study.cells();
    if cells.is_empty() {
        return String::new();
    }
    let each = (RUNS / cells.len()).max(1);
    let settled = |cell: &&&CellSummary| cell.stability == Verdict::Settled;
    let open = cells.iter().rfind(settled).or(cells.last()).map(|cell| cell.cell);
    let items: String = cells.iter().map(|cell| item(study, cell, open == Some(cell.cell), each)).collect();
    let words = "Each run second by second; strips of one cell have the same scales. The dashed line is the arrival rate. \
                 Shaded are seconds in which the hypervisor took more than 2 % of the server's CPU time: \
                 there neighbours may have caused a rise of the response time. Used by others is the CPU \
                 time of all but the server and the generator.";
    section("timelines", "Runs over time", words, &items)
}

fn item(study: &Study, cell: &CellSummary, open: bool, most: usize) -> String {
    let runs = study.runs_of(cell.cell);
    let drawn: Vec<(&RunFile, Vec<Second>)> = runs
        .iter()
        .take(most)
        .map(|run| (*run, study.details.of(run).map_or_else(Vec::new, |own| own.seconds(run.measured_s))))
        .collect();
    let panels: String =
        drawn.iter().map(|(run, seconds)| panel(study, cell, run, seconds, &drawn)).collect();
    let left_out = match runs.len().saturating_sub(most) {
        0 => String::new(),
        more => {
            format!("<p class=\"words\">{} more in the study's folder.</p>", format::counted(more, "run"))
        }
    };
    format!(
        "<details class=\"plan timeline\"{}><summary><b>{}</b> <span class=\"words\">{}</span></summary>\
         <div class=\"panels\">\n{panels}</div>{left_out}</details>\n",
        if open { " open" } else { "" },
        Text(&study.cell_name(cell)),
        Text(&summary(cell, &runs))
    )
}

fn summary(cell: &CellSummary, runs: &[&RunFile]) -> String {
    let mut parts = vec![format::counted(runs.len(), "run"), cell.stability.to_string()];
    let stolen = runs.iter().filter_map(|run| run.steal_percent()).fold(0.0, f64::max);
    if stolen >= 0.05 {
        parts.push(format!("up to {stolen:.1} % stolen"));
    }
    parts.join(", ")
}

fn panel(
    study: &Study,
    cell: &CellSummary,
    run: &RunFile,
    seconds: &[Second],
    drawn: &[(&RunFile, Vec<Second>)],
) -> String {
    let name = format!("run {}", run.repeat);
    let tau =
        if run.response.count > 0 { format::time(run.response.mean_ms) } else { format::ABSENT.to_owned() };
    let strips = Strips {
        id: format!("time-{}-{}", cell.cell, run.repeat),
        title: format!("{} over time, {name}", study.cell_name(cell)),
        description: "Throughput, response time, backlog, utilisation, stolen time and what others used, second by second."
            .to_owned(),
        length_s: drawn.iter().map(|(run, _)| run.measured_s).fold(1.0, f64::max),
        strips: FIGURES.iter().map(|figure| strip(figure, cell, seconds, drawn)).collect(),
        shades: shades(seconds),
    };
    format!(
        "<div><h4>{} <small>mean response {}</small></h4>{}{}</div>\n",
        Text(&name),
        Text(&tau),
        missing(study.details.of(run)),
        strips.svg()
    )
}

/// Seconds with much stolen time.
fn shades(seconds: &[Second]) -> Vec<(f64, f64)> {
    let half = seconds.windows(2).next().map_or(0.5, |pair| (pair[1].at_s - pair[0].at_s) / 2.0);
    let stolen =
        seconds.iter().filter(|second| second.stolen_percent.is_some_and(|percent| percent > STOLEN));
    stolen.map(|second| (second.at_s - half, second.at_s + half)).collect()
}

/// Name, class, quantity, getter, and what the axis holds in any case, so that what is all but nothing looks so.
type Line = (&'static str, &'static str, Quantity, fn(&Second) -> Option<f64>, f64);

const FIGURES: [Line; 6] = [
    ("throughput", "s0", Quantity::PerSecond, |second| second.throughput_per_s, 1.0),
    ("response time", "s0", Quantity::Time, |second| second.response_ms, 0.0),
    ("backlog, requests", "s0", Quantity::Plain, |second| second.backlog, 5.0),
    ("CPU use", "s2", Quantity::Percent, |second| second.theta_percent, 100.0),
    ("stolen time", "p4", Quantity::Percent, |second| second.stolen_percent, 5.0),
    ("used by others", "s4", Quantity::Percent, |second| second.others_percent, 5.0),
];

/// A figure of a run, on the scale that all runs of its cell have.
fn strip(
    &(title, class, quantity, of, least): &Line,
    cell: &CellSummary,
    seconds: &[Second],
    drawn: &[(&RunFile, Vec<Second>)],
) -> Strip {
    Strip {
        class,
        title,
        quantity,
        points: seconds.iter().map(|second| (second.at_s, of(second))).collect(),
        holds: drawn.iter().flat_map(|(_, seconds)| seconds).filter_map(of).chain([least]).collect(),
        level: (quantity == Quantity::PerSecond).then_some(cell.rate_per_s),
    }
}

/// Files that could not be read.
fn missing(details: Option<&RunDetails>) -> String {
    let all = details.map(|own| [own.intervals.as_ref().err(), own.sense.as_ref().err()]);
    let missing = all.into_iter().flatten().flatten();
    missing.map(|why| format!("<p class=\"words\">not available: {}</p>", Text(why))).collect()
}

/// Table of outcomes, then errors with one text each.
pub fn outcomes(study: &Study) -> String {
    if study.summary.cells.is_empty() {
        return String::new();
    }
    let names = ["cell", "arrivals", "completed", "failed", "timed out", "unsent"];
    let head = names.map(|name| head(name, "")).concat();
    let rows: String = study.cells().into_iter().map(|cell| row(study, cell)).collect();
    let table = table("Outcomes, all runs of a cell added up", &head, &format!("<tbody>\n{rows}</tbody>"));
    let words = "Every arrival ends as completed, failed, timed out or unsent; the four add up.";
    section("outcomes", "Outcomes", words, &format!("{table}{}", errors(study)))
}

fn row(study: &Study, cell: &CellSummary) -> String {
    let CountsRecord { arrivals, completed, failed, timed_out, unsent } = &cell.counts;
    let number = |value: u64| format!("<td>{}</td>", format::count(value));
    let loss = |value: u64| {
        let class = if value > 0 { "doubt" } else { "none" };
        format!("<td><span class=\"{class}\">{}</span></td>", format::count(value))
    };
    let (sent, lost) = ([*arrivals, *completed], [failed.values().sum(), *timed_out, *unsent]);
    named(&study.cell_name(cell), &(sent.map(number).concat() + &lost.map(loss).concat()))
}

fn errors(study: &Study) -> String {
    let mut counts: BTreeMap<u16, u64> = BTreeMap::new();
    for (code, count) in study.summary.cells.iter().flat_map(|cell| &cell.counts.failed) {
        *counts.entry(*code).or_default() += count;
    }
    let text_of = |code: &u16| study.runs.iter().find_map(|run| run.error_texts.get(code));
    let items: String = counts
        .iter()
        .map(|(code, count)| {
            let text = text_of(code).map_or_else(String::new, |text| format!(": {}", Text(text)));
            format!("<li>error {code}, {} times{text}</li>\n", format::count(*count))
        })
        .collect();
    if items.is_empty() { items } else { format!("<ul class=\"errors\">{items}</ul>\n") }
}
