//! What a study came to: headline, cells, caveats.

use super::Look;
use super::grid::{GridColumn, Ink, Place, lines, paint, wrap};
use crate::caveats::{Doubt, doubts, state};
use crate::columns::{Column, MEAN, OPEN, columns};
use crate::failed;
use crate::format::{self, plain};
use evenkeel_core::caveat::Severity;
use evenkeel_lab::explain::Refused;
use evenkeel_study::store::format::{
    CellSummary, HeadlineRecord, PlanFile, RunFile, StatementPlanRecord, SummaryFile,
};

/// Longest line of prose, however wide the terminal.
const PROSE: usize = 100;

/// Widest table of cells without `--wide`.
const TABLE: usize = 100;

/// The end of a study in the terminal: the headlines, a line for each cell, the doubts by cause. `wide` has all figures of a cell, and
/// all doubts.
pub fn profile(plan: &PlanFile, summary: &SummaryFile, runs: &[RunFile], look: Look, wide: bool) -> String {
    let cells = cells(plan, summary, look, wide);
    let is_open = cells.contains('?');
    let cells = cells + &below(summary, runs, is_open, look);
    let finding = failed::of_study(plan, summary, runs);
    let finding = finding.map_or_else(String::new, |text| named("finding", Ink::Bad, &text, look));
    let parts = [finding, headlines(summary, look), cells, caveats(plan, summary, runs, look, wide)];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("\n")
}

/// A text behind a name in colour.
fn named(name: &str, ink: Ink, text: &str, look: Look) -> String {
    let text = wrap(&format!("{name}: {text}."), look.width.min(PROSE), 2);
    format!("{}{}\n", paint(name, ink, look.colour), text.strip_prefix(name).unwrap_or_default())
}

fn headlines(summary: &SummaryFile, look: Look) -> String {
    let mut out: String = summary.headlines.iter().map(|headline| one_headline(headline, look)).collect();
    if let Some(why) = &summary.ended {
        let text = format!("Ended after {}: {why}.", format::counted(summary.runs_done as usize, "run"));
        out.push_str(&format!("{}\n", paint(&wrap(&text, look.width.min(PROSE), 0), Ink::Soft, look.colour)));
    } else if !summary.complete {
        let text = format!("Unfinished: {} of {} runs.", summary.runs_done, summary.runs_planned);
        out.push_str(&format!("{}\n", paint(&text, Ink::Doubt, look.colour)));
    }
    out
}

fn one_headline(headline: &HeadlineRecord, look: Look) -> String {
    let width = look.width.min(PROSE);
    let indent = if headline.label.is_empty() { 0 } else { 2 };
    let line = |text: &String, ink| {
        let text = wrap(&sentence(text), width.saturating_sub(indent), indent);
        format!("{}{}\n", " ".repeat(indent), paint(&text, ink, look.colour))
    };
    let label = match indent {
        0 => String::new(),
        _ => format!("{}\n", paint(&wrap(&headline.label, width, 0), Ink::Strong, look.colour)),
    };
    let said = [&headline.text, &headline.p95_text, &headline.cpu_text];
    let said: String =
        said.into_iter().filter(|text| !text.is_empty()).map(|text| line(text, Ink::Strong)).collect();
    let trust = Some(&headline.trust_text).filter(|text| !text.is_empty());
    label + &said + &trust.map_or_else(String::new, |text| line(text, Ink::Plain))
}

fn sentence(text: &str) -> String {
    if text.ends_with('.') { text.to_owned() } else { format!("{text}.") }
}

fn cells(plan: &PlanFile, summary: &SummaryFile, look: Look, wide: bool) -> String {
    if summary.cells.is_empty() {
        return "No cell has a finished run yet.\n".to_owned();
    }
    let mut sorted: Vec<&CellSummary> = summary.cells.iter().collect();
    sorted.sort_by(|a, b| a.series.cmp(&b.series).then(a.rate_per_s.total_cmp(&b.rate_per_s)));
    let columns = columns(&summary.cells);
    let shown = columns.iter().filter(|column| wide || column.is_usual);
    let mut grid: Vec<GridColumn> = shown.map(|column| grid_column(column, &sorted)).collect();
    grid.push(GridColumn::of(&sorted, ["state", ""], false, 1, |cell| verdict(cell)));
    let look = if wide { look } else { Look { width: look.width.min(TABLE), ..look } };
    lines(grid, &titles(plan, &sorted), look)
}

/// Below the cells: what a `?` says, that no cell has a probe delay, who told the parts of the requests and what it cost them, who saw
/// the server.
fn below(summary: &SummaryFile, runs: &[RunFile], is_open: bool, look: Look) -> String {
    let open = is_open.then(|| format!("?: {OPEN}"));
    let has_delay = summary.cells.is_empty() || summary.cells.iter().any(|cell| cell.mu_ms.n > 0);
    let untold = "probe delay: not available, the server does not report how long a statement took it";
    let untold = (!has_delay).then(|| untold.to_owned());
    let seen = format::sensed(runs).into_iter().chain(format::generator(runs));
    let all = open.into_iter().chain(untold).chain(format::parts(runs)).chain(seen);
    let line =
        |text: String| format!("{}\n", paint(&wrap(&text, look.width.min(PROSE), 0), Ink::Soft, look.colour));
    all.map(line).collect()
}

fn grid_column(column: &Column, cells: &[&CellSummary]) -> GridColumn {
    let place = |cell: &&CellSummary| match (column.text)(cell) {
        text if text == format::ABSENT => Place::new("-", Ink::Soft),
        text => Place::new(compact(&text), if column.word == MEAN { Ink::Strong } else { Ink::Plain }),
    };
    GridColumn::of(cells, [column.word, column.unit], true, column.rank, place)
}

/// `1.2±0.1` and `1.2 (1.1-1.4)`: four response times with their intervals fit side by side.
fn compact(text: &str) -> String {
    text.replace(" ± ", "±").replace(" to ", "-")
}

fn verdict(cell: &CellSummary) -> Place {
    let (severity, word) = state(cell);
    let ink = match severity {
        Severity::Note => Ink::Good,
        Severity::Doubt => Ink::Doubt,
        Severity::Invalid => Ink::Bad,
    };
    Place::new(word, ink)
}

/// Labels of the series before their first rows, where there are several.
fn titles(plan: &PlanFile, cells: &[&CellSummary]) -> Vec<(usize, String)> {
    let mut titles = Vec::new();
    for (row, cell) in cells.iter().enumerate() {
        let is_first = row == 0 || cells[row - 1].series != cell.series;
        if let Some(series) = plan.series.get(cell.series).filter(|_| is_first && plan.series.len() > 1) {
            titles.push((row, series.label.clone()));
        }
    }
    titles
}

/// So many doubts are shown in full, and of others their names: the first ones are mostly why there are others.
const IN_FULL: usize = 3;

fn caveats(plan: &PlanFile, summary: &SummaryFile, runs: &[RunFile], look: Look, wide: bool) -> String {
    let doubts = doubts(plan, summary, runs);
    let is_full =
        |(at, doubt): &(usize, &Doubt)| wide || *at < IN_FULL || doubt.severity == Severity::Invalid;
    let (full, others): (Vec<_>, Vec<_>) = doubts.iter().enumerate().partition(is_full);
    let full: String = full.into_iter().map(|(_, doubt)| one_doubt(doubt, look)).collect();
    let names: Vec<&str> = others.iter().map(|(_, doubt)| doubt.name.as_str()).collect();
    let names = format!("{} (in full: `evenkeel runs {} --wide`, and the report)", names.join("; "), plan.id);
    full + &if others.is_empty() { String::new() } else { named("also", Ink::Soft, &names, look) }
}

/// A cause, what it touches, its worst that was seen, and what to do.
fn one_doubt(doubt: &Doubt, look: Look) -> String {
    let (name, ink) = match doubt.severity {
        Severity::Invalid => ("not valid", Ink::Bad),
        Severity::Doubt => ("doubt", Ink::Doubt),
        Severity::Note => ("note", Ink::Soft),
    };
    let worst =
        if doubt.worst_at.is_empty() { String::new() } else { format!("worst at {}: ", doubt.worst_at) };
    let text = format!("{}: {}; {worst}{}", doubt.name, doubt.touches, doubt.seen);
    let remedy = match doubt.remedy.as_str() {
        "" => String::new(),
        remedy => format!("  {}\n", wrap(remedy, look.width.min(PROSE).saturating_sub(2), 2)),
    };
    named(name, ink, &text, look) + &remedy
}

/// A statement with at least this share of the work, in percent, is a heavy hitter.
pub const HEAVY_PERCENT: f64 = 20.0;

/// A table of statements, the heaviest first, then the text and plan of each.
pub fn plans(plans: &[StatementPlanRecord], look: Look) -> String {
    if plans.is_empty() {
        return "No statement has a plan.\n".to_owned();
    }
    let sorted = by_share(plans);
    let columns = vec![
        GridColumn::of(&sorted, ["statement", ""], false, 0, |plan| Place::new(&plan.statement, Ink::Strong)),
        GridColumn::of(&sorted, ["class", ""], false, 0, |plan| plan.class.to_string()),
        GridColumn::of(&sorted, ["work", ""], true, 1, |plan| share(plan)),
        GridColumn::of(&sorted, ["why", ""], false, 2, |plan| plan.reason.clone()),
    ];
    let details: String = sorted.iter().map(|plan| detail(plan, look)).collect();
    format!("{}{details}", lines(columns, &[], look))
}

/// What the server said against statements, with what they ask; nothing where it took all.
pub fn refused(refused: &[Refused], look: Look) -> String {
    let one = |refused: &Refused| {
        let (name, sql) = (paint("refused:", Ink::Bad, look.colour), &refused.sql);
        let width = look.width.saturating_sub(2);
        // ER_NO_DB_ERROR.
        let hint = if refused.code == 1046 { "  hint: name the database: URL/shop\n" } else { "" };
        format!("\n{name} {}\n  {}\n{hint}", plain(&refused.to_string()), wrap(sql, width, 2))
    };
    refused.iter().map(one).collect()
}

/// The heaviest first; those whose share was not measured keep their order behind.
pub fn by_share(plans: &[StatementPlanRecord]) -> Vec<&StatementPlanRecord> {
    let share = |plan: &StatementPlanRecord| plan.work_share_percent.unwrap_or(-1.0);
    let mut sorted: Vec<&StatementPlanRecord> = plans.iter().collect();
    sorted.sort_by(|a, b| share(b).total_cmp(&share(a)));
    sorted
}

fn share(plan: &StatementPlanRecord) -> Place {
    match plan.work_share_percent.filter(|share| share.is_finite()) {
        Some(share) if share >= HEAVY_PERCENT => Place::new(format::percent(share), Ink::Doubt),
        Some(share) => Place::new(format::percent(share), Ink::Plain),
        None => Place::new("-", Ink::Soft),
    }
}

fn detail(plan: &StatementPlanRecord, look: Look) -> String {
    let width = look.width.saturating_sub(2);
    // A tab would be dropped as a control character.
    let untabbed = plan.plan.replace('\t', "  ");
    let tree: String = untabbed.trim_end().lines().map(|line| format!("  {}\n", plain(line))).collect();
    let not_made = plan.not_made.as_ref().map_or_else(String::new, |why| {
        format!("  {}\n", wrap(&plain(&format!("not measured: {why}")), width, 2))
    });
    let proposal = plan.proposal.as_ref().map_or_else(String::new, |index| {
        let rows = plan.rows_share_percent.unwrap_or(0.0);
        let share =
            format!("this statement reads {} of all rows that the workload reads", format::percent(rows));
        format!("  proposal, not tried: {};\n  {}\n", plain(index), wrap(&share, width, 2))
    });
    format!(
        "\n{}\n  {}\n{not_made}{tree}{proposal}",
        paint(&plain(&plan.statement), Ink::Strong, look.colour),
        wrap(&plan.sql, width, 2)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn text(fixture: &fixture::Fixture, width: usize) -> String {
        shown(fixture, width, false)
    }

    fn shown(fixture: &fixture::Fixture, width: usize, wide: bool) -> String {
        profile(&fixture.plan, &fixture.summary, &fixture.runs, Look { width, colour: false }, wide)
    }

    #[test]
    fn no_line_is_wider_than_the_terminal_and_the_mean_stays() {
        for width in [40, 60, 80, 120, 200] {
            for fixture in [fixture::demo(), fixture::factors(), fixture::twelve(), fixture::single()] {
                let text = text(&fixture, width);
                let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
                assert!(widest <= width, "{widest} > {width}\n{text}");
                assert!(text.contains(MEAN) && text.contains("rate"), "{text}");
            }
        }
    }

    #[test]
    fn the_usual_table_is_no_wider_than_a_hundred_and_wide_has_the_rest() {
        let fixture = fixture::demo();
        let usual = shown(&fixture, 250, false);
        let head = usual.lines().find(|line| line.trim_start().starts_with("rate")).unwrap();
        let words: Vec<&str> = head.split("  ").map(str::trim).filter(|word| !word.is_empty()).collect();
        assert_eq!(words, ["rate", "throughput", "mean", "p50", "p95", "p99", "CPU use", "runs", "state"]);
        assert!(usual.lines().all(|line| line.chars().count() <= 100), "{usual}");
        let wide = shown(&fixture, 250, true);
        assert!(wide.contains("p99.9") && wide.contains("lag p99"), "{wide}");
    }

    #[test]
    fn a_study_whose_runs_are_chosen_one_by_one_says_why_it_ended() {
        let mut fixture = fixture::demo();
        fixture.plan.settings.within_s = Some(60.0);
        fixture.plan.ended = Some("the time is up".to_owned());
        fixture.summary = evenkeel_study::profile::summarise(&fixture.plan, &fixture.runs);
        let said = text(&fixture, 120);
        assert!(said.contains("\nEnded after 18 runs: the time is up.\n"), "{said}");
        fixture.plan.ended = None;
        fixture.summary = evenkeel_study::profile::summarise(&fixture.plan, &fixture.runs);
        assert!(!text(&fixture, 120).contains("Ended"), "it goes on");
    }
}
