//! A published study in the terminal: the finding, a line for each cell, the doubts.

use super::{Published, hosts, of_host};
use crate::format;
use crate::table::{GridColumn, Ink, Look, Place, lines, paint, wrap};
use evenkeel_core::statistics::Estimate;
use evenkeel_study::harness::{Cell, Figure, Mark, Matrix, Number, Part, Share};

/// Longest line of prose, however wide the terminal.
const PROSE: usize = 100;
/// The first figures are always shown; of the others the last are dropped first.
const ALWAYS: usize = 3;

pub fn study(view: &Published<'_>, look: Look) -> String {
    let width = look.width.min(PROSE);
    let said = &view.said;
    let line = |text: &str, indent| wrap(text, width, indent) + "\n";
    let mut out = paint(&wrap(&said.headline, width, 0), Ink::Strong, look.colour) + "\n";
    if !said.published.is_empty() {
        out += &line(&format!("Published ({}): {}", said.source, said.published), 0);
    }
    out += &line(&said.setting, 0);
    if !said.verdicts.is_empty() {
        out += "\nWhy\n";
    }
    for verdict in &said.verdicts {
        let (suspect, ruling) = (verdict.suspect.words(), verdict.ruling.words());
        out += &line(&format!("{suspect}: {ruling}. {}", verdict.evidence), 2);
    }
    if !said.components.is_empty() {
        out += "\nWhat makes runs vary\n";
    }
    out.extend(said.components.iter().map(|share| line(&share_words(share), 2)));
    if !said.verdicts.is_empty() {
        out += "\nPublished findings\n";
    }
    for finding in &said.findings {
        let text = format!("{}: {}. {}", finding.published, finding.outcome.words(), finding.here);
        out += &line(text.trim_end(), 2);
    }
    out.extend(view.plan.parts.iter().map(|part| of_part(view, part, look, width)));
    if out.contains('±') {
        out += "\nMeans over runs ± half of the 95 % interval.\n";
    }
    for caveat in &said.caveats {
        out += &(paint(&wrap(&format!("note: {caveat}"), width, 6), Ink::Soft, look.colour) + "\n");
    }
    out
}

/// What one level makes of the variance of a run, in a line.
pub fn share_words(share: &Share) -> String {
    let deviation = &share.deviation;
    let within = deviation.interval.map_or_else(String::new, |(low, high)| {
        format!(" ({} to {})", format::significant(low, 3), format::significant(high, 3))
    });
    format!(
        "{}: {}{within} ms, {} of a run's variance",
        share.level,
        format::significant(deviation.value, 3),
        format::percent(share.percent)
    )
}

fn of_part(view: &Published<'_>, part: &Part, look: Look, width: usize) -> String {
    if part.title.is_empty() {
        return String::new();
    }
    let cells = view.cells_of(part);
    let figures = view.known(&cells);
    let sentences = view.said.sentences.iter().filter(|(name, _)| *name == part.name);
    let sentences: String = sentences.map(|(_, text)| format!("{}\n", wrap(text, width, 0))).collect();
    if figures.is_empty() && sentences.is_empty() {
        return String::new();
    }
    let title = paint(&part.title, Ink::Strong, look.colour);
    let references: String =
        view.references_of(part).map(|text| format!("{}\n", wrap(&text, width, 2))).collect();
    let matrices = view.said.matrices.iter().filter(|matrix| matrix.part == part.name);
    let matrices: String = matrices.map(|of| format!("\n{}", matrix(of, look))).collect();
    // The cells are on the page, where there is room for them.
    let figures = if matrices.is_empty() { grid(part, &cells, &figures, look) } else { matrices };
    format!("\n{title}\n{sentences}{figures}{references}")
}

fn matrix(of: &Matrix, look: Look) -> String {
    let place = |row: &(String, Vec<Option<Mark>>), at: usize| match &row.1[at] {
        Some(mark) => {
            Place::new(number_words(&mark.number), if mark.is_strong { Ink::Strong } else { Ink::Plain })
        }
        None => Place::new("-", Ink::Soft),
    };
    let mut columns = vec![GridColumn::of(&of.rows, [&of.title, ""], false, 0, |row| row.0.clone())];
    columns.extend(
        (of.columns.iter().enumerate())
            .map(|(at, name)| GridColumn::of(&of.rows, [name, ""], true, 0, |row| place(row, at))),
    );
    lines(columns, &[], look)
}

/// `1.90 (1.71 to 2.12)`.
pub fn number_words(number: &Number) -> String {
    let text = |value: f64| format::significant(value, 3);
    let within =
        number.interval.map_or_else(String::new, |(low, high)| format!(" ({} to {})", text(low), text(high)));
    format!("{}{within}", text(number.value))
}

fn grid(part: &Part, cells: &[&Cell<'_>], figures: &[&'static Figure], look: Look) -> String {
    let hosts = hosts(cells);
    let rows: Vec<(&Cell<'_>, &str, bool)> = cells
        .iter()
        .flat_map(|cell| hosts.iter().enumerate().map(|(at, host)| (*cell, host.as_str(), at == 0)))
        .collect();
    let text = |head: &str, right, of: &dyn Fn(&Cell<'_>, &str) -> String| {
        GridColumn::of(&rows, [head, ""], right, 0, |(cell, host, _)| of(cell, host))
    };
    let factors = part.factors.iter();
    let mut columns: Vec<GridColumn> = factors
        .map(|factor| text(&factor.name, factor.is_numeric(), &|cell, _| cell.level(&factor.name).to_owned()))
        .collect();
    if hosts.len() > 1 {
        columns.push(text("host", false, &|_, host| host.to_owned()));
    }
    columns.push(text("runs", true, &|cell, _| cell.runs.len().to_string()));
    columns.extend(figures.iter().enumerate().map(|(at, figure)| {
        let rank = at.saturating_sub(ALWAYS - 1).min(255) as u8;
        GridColumn::of(&rows, figure.head, true, rank, |(cell, host, is_first)| {
            shown(cell, figure, host, *is_first).map_or_else(|| Place::new("-", Ink::Soft), Place::from)
        })
    }));
    lines(columns, &[], look)
}

/// The figure of a host; that of the whole stands beside the first one.
pub fn shown(cell: &Cell<'_>, figure: &Figure, host: &str, is_first: bool) -> Option<String> {
    let of = |key: &str| {
        let values = cell.values(key);
        if figure.is_flag {
            let count = values.iter().filter(|value| **value > 0.0).count();
            return (!values.is_empty()).then(|| format!("{count} of {}", values.len()));
        }
        Estimate::of(&values).map(|estimate| plus_minus(&estimate))
    };
    of(&of_host(figure.key, host)).or_else(|| is_first.then(|| of(figure.key)).flatten())
}

/// A mean and half of its interval.
pub fn plus_minus(estimate: &Estimate) -> String {
    let half = estimate.error.map(|error| (error.high - error.low) / 2.0);
    format::plus_minus(estimate.mean, half)
}
