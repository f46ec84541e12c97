//! Caveats as they were found: each once, with the numbers behind it and where it holds.

use crate::format;
use evenkeel_core::caveat::Caveat;
use evenkeel_study::store::format::{CellSummary, PlanFile, SummaryFile};
use std::cmp::Reverse;

/// A caveat and where it holds.
#[derive(Clone, Debug)]
pub struct Found<'a> {
    /// The caveat, with the figures of the first cell.
    pub caveat: &'a Caveat,
    /// Names of cells; empty for the whole.
    pub cells: Vec<String>,
    /// Whether other cells have it with other figures.
    pub varies: bool,
}

impl Found<'_> {
    /// Where it holds: `10/s; with other figures also at 20/s, 30/s`. Empty for the whole.
    pub fn places(&self) -> String {
        match self.cells.split_first() {
            Some((first, rest)) if self.varies => {
                format!("{first}; with other figures also at {}", rest.join(", "))
            }
            _ => self.cells.join(", "),
        }
    }
}

/// The numbers behind a caveat in a line: `lag_mean_s 0.00021, tolerated_s 0.0001`. Empty where none are kept.
pub fn numbers(caveat: &Caveat) -> String {
    let number = |(name, value): (&String, &f64)| format!("{name} {}", format::short(*value));
    caveat.evidence.iter().map(number).collect::<Vec<_>>().join(", ")
}

/// All caveats, the gravest first, otherwise in the order of the records.
pub fn gather<'a>(plan: &PlanFile, summary: &'a SummaryFile) -> Vec<Found<'a>> {
    let whole = summary.caveats.iter().map(|caveat| Found { caveat, cells: Vec::new(), varies: false });
    let mut all: Vec<Found<'a>> = whole.collect();
    for cell in &summary.cells {
        for caveat in &cell.caveats {
            let name = cell_name(plan, cell);
            let same = |found: &&mut Found<'_>| {
                (&found.caveat.code, &found.caveat.severity) == (&caveat.code, &caveat.severity)
                    && !found.cells.is_empty()
            };
            match all.iter_mut().find(same) {
                Some(found) => {
                    found.cells.push(name);
                    found.varies |= found.caveat.text != caveat.text;
                }
                None => all.push(Found { caveat, cells: vec![name], varies: false }),
            }
        }
    }
    all.sort_by_key(|found| Reverse(found.caveat.severity));
    all
}

/// `pool 20 %, insert layout, a, 40/s` or, with one series, `40/s`.
pub fn cell_name(plan: &PlanFile, cell: &CellSummary) -> String {
    let rate = format::rate(cell.rate_per_s);
    match plan.series.get(cell.series) {
        Some(series) if plan.series.len() > 1 => format!("{}, {rate}", series.label),
        _ => rate,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use evenkeel_core::caveat::Severity;

    fn caveat(severity: Severity, text: &str) -> Caveat {
        Caveat::new("code", severity, text)
    }

    #[test]
    fn the_gravest_come_first_and_nothing_is_said_twice() {
        let mut fixture = fixture::demo();
        fixture.summary.caveats = vec![caveat(Severity::Note, "a"), caveat(Severity::Doubt, "b")];
        fixture.summary.cells[0].caveats = vec![caveat(Severity::Invalid, "c")];
        fixture.summary.cells[1].caveats = vec![caveat(Severity::Invalid, "c with other figures")];
        fixture.summary.cells[5].caveats.clear();
        let found = gather(&fixture.plan, &fixture.summary);
        let texts: Vec<_> = found.iter().map(|found| found.caveat.text.as_str()).collect();
        assert_eq!(texts, ["c", "b", "a"]);
        assert_eq!(found[0].places(), "10/s; with other figures also at 20/s");
    }

    #[test]
    fn the_numbers_behind_a_caveat_stand_in_a_line() {
        let late = caveat(Severity::Invalid, "Late.").with("tolerated_s", 0.0001).with("lag_mean_s", 0.00021);
        assert_eq!(numbers(&late), "lag_mean_s 0.00021, tolerated_s 0.0001");
        assert_eq!(numbers(&caveat(Severity::Note, "Of a folder of before.")), "");
    }
}
