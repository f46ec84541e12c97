//! What a replay came to, in the terminal.

use super::Look;
use super::grid::{GridColumn, Ink, Place, lines, paint, wrap};
use crate::format;
use evenkeel_core::caveat::Caveat;
use evenkeel_study::replay::{Line, Report, Speed};

const PROSE: usize = 100;
/// Characters of a statement.
const NAME: usize = 40;
/// Lines that are shown, besides all findings, where nobody asks for all.
const LINES: usize = 20;

/// The verdict first, then the statements, the worst first; `wide` has all of them.
pub fn replay(report: &Report, look: Look, wide: bool) -> String {
    let ink = if report.is_finding { Ink::Bad } else { Ink::Good };
    let prose =
        |text: &str, ink| format!("{}\n", paint(&wrap(text, look.width.min(PROSE), 0), ink, look.colour));
    let mut out = prose(&format!("{}.", report.headline), ink);
    out.push_str(&prose(&format!("{}.", report.setting()), Ink::Soft));
    let findings = report.lines.iter().filter(|line| line.is_finding()).count();
    let shown = if wide { report.lines.len() } else { report.lines.len().min(LINES.max(findings)) };
    let (shown, hidden) = report.lines.split_at(shown);
    if !shown.is_empty() {
        out.push('\n');
        out.push_str(&lines(columns(shown), &[], look));
    }
    if !hidden.is_empty() {
        out.push_str(&prose(&format!("and {} more", format::count(hidden.len() as u64)), Ink::Soft));
    }
    let caveat = |caveat: &Caveat| prose(&caveat.text, Ink::Doubt);
    out.extend((!report.caveats.is_empty()).then(|| "\n".to_owned()));
    out.extend(report.caveats.iter().map(caveat));
    out
}

fn ms(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |ms| format::significant(ms, 3))
}

fn columns(shown: &[Line]) -> Vec<GridColumn> {
    let statement = GridColumn::of(shown, ["statement", ""], false, 0, |line| line.name(NAME));
    let times = GridColumn::of(shown, ["executions", ""], true, 4, |line| format::count(line.executions));
    if shown.iter().all(|line| line.timing.is_none()) {
        return vec![
            statement,
            times,
            GridColumn::of(shown, ["mean", "ms"], true, 2, |line| ms(line.mean_ms[1])),
            GridColumn::of(shown, ["longest", "ms"], true, 1, |line| ms(line.longest_ms[1])),
            GridColumn::of(shown, ["rows", "mean"], true, 1, |line| format::short(line.rows)),
            GridColumn::of(shown, ["answers", ""], false, 0, answers),
        ];
    }
    vec![
        statement,
        times,
        GridColumn::of(shown, ["first", "ms"], true, 2, |line| ms(line.mean_ms[0])),
        GridColumn::of(shown, ["second", "ms"], true, 2, |line| ms(line.mean_ms[1])),
        GridColumn::of(shown, ["ratio", ""], true, 1, |line| {
            line.timing.as_ref().map_or_else(|| "-".to_owned(), |timing| timing.words())
        }),
        GridColumn::of(shown, ["speed", ""], false, 0, |line| speed(line.speed())),
        GridColumn::of(shown, ["answers", ""], false, 0, answers),
    ]
}

fn speed(speed: Speed) -> Place {
    let ink = match speed {
        Speed::Worse => Ink::Bad,
        Speed::NotKnown => Ink::Soft,
        Speed::Same => Ink::Plain,
        Speed::Better => Ink::Good,
    };
    Place::new(speed.words(), ink)
}

fn answers(line: &Line) -> Place {
    let ink = match line.differences.is_empty() {
        true => Ink::Plain,
        false if line.differs() => Ink::Bad,
        false => Ink::Doubt,
    };
    Place::new(line.answers(), ink)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn the_verdict_stands_first_and_the_worst_before_the_others() {
        let text = replay(&fixture::replay::report(), Look { width: 140, colour: false }, false);
        let found: Vec<&str> =
            text.lines().filter(|line| line.contains("s: 20") || line.contains("worse")).collect();
        assert!(text.starts_with("11.8 answers 2 of 13 statements differently, and 1 is slower"), "{text}");
        assert_eq!(found.len(), 3, "{text}");
        assert!(found[2].contains("1.5") && text.contains("set aside: 20"), "{text}");
    }
}
