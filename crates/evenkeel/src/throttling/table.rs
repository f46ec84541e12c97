//! A study in the terminal: the finding, a line for each point, the doubts.

use super::figures::Figure;
use super::record::{PlanFile, PointFile, StepFile};
use super::summary::{Cell, cells, known};
use super::verdict::verdicts;
use super::words;
use crate::format;
use crate::table::{GridColumn, Ink, Look, Place, lines, paint, wrap};
use evenkeel_core::statistics::Estimate;

/// Longest line of prose, however wide the terminal.
const PROSE: usize = 100;

/// All of it.
pub fn study(plan: &PlanFile, points: &[PointFile], steps: &[StepFile], look: Look) -> String {
    let width = look.width.min(PROSE);
    let verdicts = verdicts(points);
    let headline = wrap(&words::headline(&verdicts, points), width, 0);
    let mut out = format!("{}\n", paint(&headline, Ink::Strong, look.colour));
    out.push_str(&format!(
        "{}\n",
        wrap(&format!("Published ({}): {}", words::SOURCE, words::PUBLISHED), width, 0)
    ));
    out.push_str(&format!("{}\n", wrap(&words::setting(plan), width, 0)));
    let cells = cells(points);
    for verdict in &verdicts {
        let of: Vec<&Cell<'_>> = cells.iter().filter(|cell| cell.load == verdict.load).collect();
        out.push_str(&format!("\n{}\n", paint(verdict.load.words(), Ink::Strong, look.colour)));
        for sentence in words::sentences(verdict) {
            out.push_str(&format!("{}\n", wrap(&sentence, width, 0)));
        }
        out.push_str(&grid(&cells, &of, look));
    }
    out.push_str("\nMeans over runs ± half of the 95 % interval.\n");
    for caveat in words::caveats(plan, points, steps) {
        out.push_str(&format!(
            "{}\n",
            paint(&wrap(&format!("note: {caveat}"), width, 6), Ink::Soft, look.colour)
        ));
    }
    out
}

fn grid(all: &[Cell<'_>], of: &[&Cell<'_>], look: Look) -> String {
    let Some(load) = of.first().map(|cell| cell.load) else { return String::new() };
    let text = |head: &str, right: bool, values: Vec<String>| GridColumn {
        head: [head.to_owned(), String::new()],
        right,
        rank: 0,
        places: values.into_iter().map(|value| Place::new(value, Ink::Plain)).collect(),
    };
    let mut columns = vec![
        text("way", false, of.iter().map(|cell| cell.way.to_string()).collect()),
        text("clients", true, of.iter().map(|cell| cell.clients.to_string()).collect()),
        text("runs", true, of.iter().map(|cell| cell.runs.len().to_string()).collect()),
    ];
    if of.iter().any(|cell| cell.settled().is_some()) {
        columns.push(text("settled", true, of.iter().map(|cell| settled(cell)).collect()));
    }
    columns.extend(known(all, load).into_iter().enumerate().map(|(at, figure)| column(figure, at, of)));
    lines(columns, &[], look)
}

/// Of how many runs the limit had settled.
pub fn settled(cell: &Cell<'_>) -> String {
    cell.settled().map_or_else(|| "-".to_owned(), |settled| format!("{settled} of {}", cell.runs.len()))
}

/// The first three figures are always shown; of the others the last are dropped first.
fn column(figure: &Figure, at: usize, of: &[&Cell<'_>]) -> GridColumn {
    let place = |cell: &&Cell<'_>| match cell.estimate(figure) {
        Some(estimate) => Place::new(value(&estimate), Ink::Plain),
        None => Place::new("-", Ink::Soft),
    };
    GridColumn {
        head: figure.head.map(str::to_owned),
        right: true,
        rank: at.saturating_sub(2).min(255) as u8,
        places: of.iter().map(place).collect(),
    }
}

/// A mean with half of its interval.
pub fn value(estimate: &Estimate) -> String {
    let half = estimate.error.map(|error| (error.high - error.low) / 2.0);
    format::plus_minus(estimate.mean, half)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{falling, plan, reread, steps};
    use super::*;

    #[test]
    fn the_terminal_shows_finding_table_and_doubts() {
        let points: Vec<PointFile> = falling().into_iter().chain(reread()).collect();
        let text = study(&plan(), &points, &steps(), Look { width: 200, colour: false });
        for part in [
            "Shown here: without control",
            "Published (MySQL on Linux 2.4.18",
            "NUM_EBS 1, NUM_ITEMS 1,000",
            "ranges read again and again",
            "direct            8     3        -  1,000 ± 25",
            "reflection       64     3   0 of 3    700",
            "note: DTLB misses, cache misses and cycles are not available",
        ] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
        assert!(!text.contains("DTLB misses  "), "no column without values:\n{text}");
    }

    #[test]
    fn a_narrow_terminal_keeps_throughput_and_response() {
        let text = study(&plan(), &falling(), &steps(), Look { width: 60, colour: false });
        assert!(
            text.contains("throughput") && text.contains("response") && !text.contains("switches"),
            "{text}"
        );
    }
}
