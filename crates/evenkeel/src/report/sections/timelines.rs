//! Each run over time: what it did, and what was done to it.

use super::section;
use crate::format;
use crate::report::chart::{Quantity, Strip, Strips};
use crate::report::details::{RunDetails, Second};
use crate::report::markup::Text;
use crate::report::study::Study;
use evenkeel_study::store::format::{CellSummary, RunFile, Verdict};

/// Runs that a page draws at most; more are more than anybody looks at.
const RUNS: usize = 240;
/// Stolen time from which a second is shaded, percent: from there on a run is measured again.
const STOLEN: f64 = 2.0;

/// Folded away cell by cell; the one whose runs were disturbed most, or the highest that settled, is open.
pub fn timelines(study: &Study<'_>) -> String {
    let cells: Vec<&CellSummary> =
        (0..study.plan.series.len()).flat_map(|series| study.cells_of(series)).collect();
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

fn item(study: &Study<'_>, cell: &CellSummary, open: bool, most: usize) -> String {
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

/// How the runs went, in a line.
fn summary(cell: &CellSummary, runs: &[&RunFile]) -> String {
    let mut parts = vec![format::counted(runs.len(), "run"), cell.stability.to_string()];
    let stolen = runs.iter().filter_map(|run| run.steal_percent()).fold(0.0, f64::max);
    if stolen >= 0.05 {
        parts.push(format!("up to {stolen:.1} % stolen"));
    }
    parts.join(", ")
}

fn panel(
    study: &Study<'_>,
    cell: &CellSummary,
    run: &RunFile,
    seconds: &[Second],
    drawn: &[(&RunFile, Vec<Second>)],
) -> String {
    let name = format!("run {}", run.repeat);
    let tau =
        if run.response.count > 0 { format::time(run.response.mean_ms) } else { format::ABSENT.to_owned() };
    let details = study.details.of(run);
    let strips = Strips {
        id: format!("time-{}-{}", cell.cell, run.repeat),
        title: format!("{} over time, {name}", study.cell_name(cell)),
        description: "Throughput, response time, backlog, utilisation, stolen time and what others used, second by second."
            .to_owned(),
        length_s: drawn.iter().map(|(run, _)| run.measured_s).fold(1.0, f64::max),
        strips: FIGURES.iter().map(|figure| figure.strip(cell, details, seconds, drawn)).collect(),
        shades: shades(seconds),
    };
    format!(
        "<div><h4>{} <small>mean response {}</small></h4>{}</div>\n",
        Text(&name),
        Text(&tau),
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

/// A figure over time.
struct Figure {
    title: &'static str,
    class: &'static str,
    quantity: Quantity,
    of: fn(&Second) -> Option<f64>,
    /// What the axis holds in any case, so that what is all but nothing looks so.
    holds: f64,
    /// Whether it is of the intervals, otherwise of the samples.
    is_of_load: bool,
}

const FIGURES: [Figure; 6] = [
    figure("throughput", "s0", Quantity::PerSecond, |second| second.throughput_per_s, 1.0, true),
    figure("response time", "s0", Quantity::Time, |second| second.response_ms, 0.0, true),
    figure("backlog, requests", "s0", Quantity::Plain, |second| second.backlog, 5.0, true),
    figure("CPU use", "s2", Quantity::Percent, |second| second.theta_percent, 100.0, false),
    figure("stolen time", "p4", Quantity::Percent, |second| second.stolen_percent, 5.0, false),
    figure("used by others", "s4", Quantity::Percent, |second| second.others_percent, 5.0, false),
];

const fn figure(
    title: &'static str,
    class: &'static str,
    quantity: Quantity,
    of: fn(&Second) -> Option<f64>,
    holds: f64,
    is_of_load: bool,
) -> Figure {
    Figure { title, class, quantity, of, holds, is_of_load }
}

impl Figure {
    fn strip(
        &self,
        cell: &CellSummary,
        details: Option<&RunDetails>,
        seconds: &[Second],
        drawn: &[(&RunFile, Vec<Second>)],
    ) -> Strip {
        let mut holds: Vec<f64> =
            drawn.iter().flat_map(|(_, seconds)| seconds).filter_map(|s| (self.of)(s)).collect();
        holds.push(self.holds);
        Strip {
            class: self.class.to_owned(),
            title: self.title.to_owned(),
            quantity: Some(self.quantity),
            points: seconds.iter().map(|second| (second.at_s, (self.of)(second))).collect(),
            holds,
            level: (self.quantity == Quantity::PerSecond).then_some(cell.rate_per_s),
            absent: self.absent(details),
        }
    }

    /// Why there is no value.
    fn absent(&self, details: Option<&RunDetails>) -> String {
        let missing = match (details, self.is_of_load) {
            (Some(details), true) => details.intervals.as_ref().err(),
            (Some(details), false) => details.sense.as_ref().err(),
            (None, _) => None,
        };
        let untold = if self.is_of_load { "no request arrived" } else { "not seen from here" };
        format!("{}: {}", format::ABSENT, missing.map_or(untold, String::as_str))
    }
}
