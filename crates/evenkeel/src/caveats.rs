//! All doubts of a study, by cause: how many runs each touches, its worst evidence, and what to do.

use crate::format;
use evenkeel_core::caveat::{Cause, Caveat, Severity, cause};
use evenkeel_study::store::format::{CellSummary, PlanFile, RunFile, SummaryFile, Verdict};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// How far a cell can be relied on, and the word for it in tables.
pub fn state(cell: &CellSummary) -> (Severity, &'static str) {
    let is_doubted = cell.caveats.iter().any(|caveat| caveat.severity == Severity::Doubt);
    match (cell.valid, cell.stability) {
        (false, _) => (Severity::Invalid, "not valid"),
        (true, Verdict::Settled) if is_doubted => (Severity::Doubt, "doubt"),
        (true, Verdict::Settled) => (Severity::Note, Verdict::Settled.word()),
        (true, stability) => (Severity::Doubt, stability.word()),
    }
}

/// `pool 20 %, insert layout, a, 40/s` or, with one series, `40/s`.
pub fn cell_name(plan: &PlanFile, cell: &CellSummary) -> String {
    let rate = format::rate(cell.rate_per_s);
    match plan.series.get(cell.series) {
        Some(series) if plan.series.len() > 1 => format!("{}, {rate}", series.label),
        _ => rate,
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Doubt {
    pub name: String,
    pub severity: Severity,
    /// What it touches: `5 of 18 runs, in 2 of 6 cells (20/s, 40/s)`, or `the whole study`.
    pub touches: String,
    /// Where of several cells the worst was seen; empty where there is nothing to choose.
    pub worst_at: String,
    pub seen: String,
    /// What to do; empty where nobody knows.
    pub remedy: String,
}

/// What a run that did not settle says of a rate that the server was seen to carry: nothing about the server.
const DISTURBED: Cause = Cause {
    name: "Some runs did not settle at a rate that the server carries",
    codes: &[],
    remedy: "Other runs at this rate or a higher one settled: these were disturbed, or it is chance.",
};

/// Rows by which tables grow in a study from which on that is a doubt: later runs may have met slower statements.
const GROWN_MUCH: u64 = 10_000;

const FEW_CONNECTIONS: &str = "few-connections";

struct Seen<'a> {
    caveat: &'a Caveat,
    /// The cell; `None` for the whole study.
    cell: Option<&'a CellSummary>,
    /// Its run; `None` for all of the cell.
    run: Option<u32>,
}

/// One for each cause, the gravest first, among equals neighbours, which bring about others, then the one that touches most.
pub fn doubts(plan: &PlanFile, summary: &SummaryFile, runs: &[RunFile]) -> Vec<Doubt> {
    let mut groups: Vec<(&str, Vec<Seen<'_>>)> = Vec::new();
    for seen in all(summary, runs) {
        let code: &str = &seen.caveat.code;
        let name = cause_of(summary, &seen).map_or(code, |cause| cause.name);
        match groups.iter_mut().find(|(known, _)| *known == name) {
            Some((_, group)) => group.push(seen),
            None => groups.push((name, vec![seen])),
        }
    }
    let mut found: Vec<(usize, Doubt)> = groups
        .iter()
        .filter_map(|(_, group)| Some((runs_touched(group), doubt(plan, summary, group)?)))
        .collect();
    let others = cause("other-load").map_or("", |(cause, _)| cause.name);
    found.sort_by_key(|(runs, doubt)| Reverse((doubt.severity, doubt.name == others, *runs)));
    found.into_iter().map(|(_, doubt)| doubt).collect()
}

/// Overload is none at a rate up to the highest that was carried, nor where the connections were the limit.
fn cause_of(summary: &SummaryFile, seen: &Seen<'_>) -> Option<&'static Cause> {
    const WAITS: [&str; 4] = ["queue-unstable", "session-wait", "lower-bound", "backlog-at-end"];
    let (own, _) = cause(&seen.caveat.code)?;
    let is_few = |cell: &CellSummary| cell.caveats.iter().any(|caveat| caveat.code == FEW_CONNECTIONS);
    let cause = match seen.cell.is_some_and(is_few) && WAITS.contains(&&*seen.caveat.code) {
        true => cause(FEW_CONNECTIONS)?.0,
        false => own,
    };
    let is_carried = |cell: &CellSummary| {
        let own = summary.headlines.iter().filter(|headline| headline.series.contains(&cell.series));
        own.filter_map(|headline| headline.bounds.seen_at_per_s).any(|rate| cell.rate_per_s <= rate)
    };
    Some(if is_overload(cause) && seen.cell.is_some_and(is_carried) { &DISTURBED } else { cause })
}

fn is_overload(cause: &Cause) -> bool {
    cause.codes.contains(&["queue-unstable"].as_slice())
}

/// Every caveat once: that of a cell only where none of its runs has it.
fn all<'a>(summary: &'a SummaryFile, runs: &'a [RunFile]) -> Vec<Seen<'a>> {
    let whole = summary.caveats.iter().map(|caveat| Seen { caveat, cell: None, run: None });
    let mut all: Vec<Seen<'a>> = whole.collect();
    for cell in &summary.cells {
        let of_cell = || runs.iter().filter(|run| run.cell == cell.cell);
        for run in of_cell() {
            let seen = |caveat| Seen { caveat, cell: Some(cell), run: Some(run.repeat) };
            all.extend(run.caveats.iter().map(seen));
        }
        let is_of_runs = |code: &str| of_cell().any(|run| run.caveats.iter().any(|own| own.code == code));
        let own = cell.caveats.iter().filter(|caveat| !is_of_runs(&caveat.code));
        all.extend(own.map(|caveat| Seen { caveat, cell: Some(cell), run: None }));
    }
    all
}

fn doubt(plan: &PlanFile, summary: &SummaryFile, group: &[Seen<'_>]) -> Option<Doubt> {
    let worst = group
        .iter()
        .min_by(|one, other| weight(one).partial_cmp(&weight(other)).unwrap_or(std::cmp::Ordering::Equal))?;
    let known = cause_of(summary, worst);
    let is_of_state = group.iter().any(|one| one.caveat.code == "no-reset");
    let rows = summary.written.as_ref().filter(|_| is_of_state).map(|written| &written.rows);
    let grown = rows.map_or(0, |rows| rows.inserted.saturating_sub(rows.deleted));
    let told = format!("; the tables grew by {}", format::counted(grown as usize, "row"));
    let restore = "Restore the data before each run by --reset-command: later runs met larger tables.";
    Some(Doubt {
        name: name(known, &worst.caveat.code),
        severity: match group.iter().map(severity).max()? {
            _ if grown > GROWN_MUCH => Severity::Doubt,
            // That a rate is too high is found, and casts no doubt.
            Severity::Doubt if known.is_some_and(is_overload) => Severity::Note,
            severity => severity,
        },
        touches: touches(plan, summary, group),
        worst_at: worst
            .cell
            .filter(|_| cells_of(group).len() > 1)
            .map_or_else(String::new, |cell| cell_name(plan, cell)),
        seen: seen(&worst.caveat.text).to_owned() + if grown > 0 { told.as_str() } else { "" },
        remedy: match known.filter(|_| grown == 0) {
            Some(cause) => cause.remedy,
            None if grown > 0 => restore,
            None => own_remedy(&worst.caveat.text),
        }
        .to_owned(),
    })
}

/// What is not valid of a run leaves it out, and is a doubt about a cell whose other runs count.
fn severity(seen: &Seen<'_>) -> Severity {
    let most = if seen.cell.is_some_and(|cell| cell.valid) { Severity::Doubt } else { Severity::Invalid };
    seen.caveat.severity.min(most)
}

/// The least is the worst: the gravest, of these the most telling code, of these the worst figure.
fn weight(seen: &Seen<'_>) -> (Reverse<Severity>, usize, f64) {
    let place = cause(&seen.caveat.code).map_or(0, |(_, place)| place);
    let place = if seen.caveat.code == FEW_CONNECTIONS { 0 } else { 1 + place };
    (Reverse(seen.caveat.severity), place, -seen.caveat.badness().unwrap_or(f64::NEG_INFINITY))
}

/// Of a cause that nobody has described, its code in words.
fn name(known: Option<&Cause>, code: &str) -> String {
    known.map_or_else(|| format::capital(&code.replace('-', " ")), |cause| cause.name.to_owned())
}

fn cells_of<'a>(group: &[Seen<'a>]) -> Vec<&'a CellSummary> {
    let mut cells: Vec<&CellSummary> = Vec::new();
    for cell in group.iter().filter_map(|seen| seen.cell) {
        if !cells.iter().any(|known| known.cell == cell.cell) {
            cells.push(cell);
        }
    }
    cells
}

/// Runs with at least one of the caveats; `usize::MAX` where it is about all.
fn runs_touched(group: &[Seen<'_>]) -> usize {
    if group.iter().any(|seen| seen.cell.is_none()) {
        return usize::MAX;
    }
    let of_cell = |cell: &CellSummary| {
        let own = group.iter().filter(|seen| seen.cell.is_some_and(|own| own.cell == cell.cell));
        // All of them, where one is about all.
        let repeats: Option<BTreeSet<u32>> = own.map(|seen| seen.run).collect();
        repeats.map_or(cell.runs as usize, |repeats| repeats.len())
    };
    cells_of(group).into_iter().map(of_cell).sum()
}

/// More names than this are counted only.
const NAMED: usize = 6;

fn touches(plan: &PlanFile, summary: &SummaryFile, group: &[Seen<'_>]) -> String {
    let runs = runs_touched(group);
    if runs == usize::MAX {
        return "the whole study".to_owned();
    }
    let cells = cells_of(group);
    let all = format::counted(summary.cells.len(), "cell");
    let names: Vec<String> = cells.iter().map(|cell| cell_name(plan, cell)).collect();
    let places = match cells.len() {
        _ if cells.len() == summary.cells.len() && cells.len() > 1 => "in all cells".to_owned(),
        1 => format!("at {}", names[0]),
        few if few <= NAMED => format!("in {few} of {all} ({})", names.join(", ")),
        many => format!("in {many} of {all}"),
    };
    format!("{runs} of {}, {places}", format::counted(summary.runs_done as usize, "run"))
}

/// What was seen, without what it means: the first sentence up to its semicolon.
pub fn seen(text: &str) -> &str {
    let first = sentences(text).into_iter().next().unwrap_or_default();
    parted(first, "; ")[0].trim_end_matches("; ").trim_end_matches('.')
}

/// What to do: the last sentence of several.
pub fn own_remedy(text: &str) -> &str {
    sentences(text).into_iter().skip(1).next_back().unwrap_or_default()
}

/// Sentences without how many runs of a cell share them. A point within a number or a name ends none.
fn sentences(text: &str) -> Vec<&str> {
    let shared = text.rfind(" (in ").filter(|_| text.ends_with(" runs)"));
    parted(&text[..shared.unwrap_or(text.len())], ". ").into_iter().map(str::trim).collect()
}

/// The parts of a text, each with the mark at its end; at least one. A mark between “ and ” is a server's, and parts nothing.
fn parted<'a>(text: &'a str, mark: &str) -> Vec<&'a str> {
    let (mut parts, mut start, mut quoted) = (Vec::new(), 0, false);
    for (at, letter) in text.char_indices() {
        quoted = match letter {
            '“' => true,
            '”' => false,
            _ => quoted,
        };
        if !quoted && at >= start && text[at..].starts_with(mark) {
            parts.push(&text[start..at + mark.len()]);
            start = at + mark.len();
        }
    }
    if start < text.len() || parts.is_empty() {
        parts.push(&text[start..]);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::fixture::Fixture;

    fn caveat(code: &'static str, severity: Severity, text: &str) -> Caveat {
        Caveat::new(code, severity, text)
    }

    fn steal(percent: f64) -> Caveat {
        let text = format!(
            "The hypervisor took {percent} % of the CPU time away; the figures lie. Measure elsewhere."
        );
        caveat("steal", Severity::Doubt, &text).with("steal_percent", percent)
    }

    fn found(fixture: &Fixture) -> Vec<Doubt> {
        doubts(&fixture.plan, &fixture.summary, &fixture.runs)
    }

    #[test]
    fn one_cause_is_said_once_with_its_worst_evidence_and_one_remedy() {
        let mut fixture = fixture::demo();
        fixture.runs[0].caveats = vec![steal(3.5)];
        fixture.runs[1].caveats = vec![
            caveat("other-load", Severity::Doubt, "Something else used 41 % of the machine's CPU. Stop it.")
                .with("other_load_percent", 41.0),
            steal(2.5),
        ];
        fixture.runs[4].caveats = vec![steal(12.25)];
        let doubts = found(&fixture);
        let one = doubts.iter().find(|doubt| doubt.name == "Others used the CPUs").unwrap();
        assert_eq!(one.touches, "3 of 18 runs, in 2 of 6 cells (10/s, 20/s)");
        assert_eq!(
            (one.worst_at.as_str(), one.seen.as_str()),
            ("10/s", "Something else used 41 % of the machine's CPU")
        );
        assert!(one.remedy.contains("quieter"), "{}", one.remedy);
        assert_eq!(doubts.iter().filter(|doubt| doubt.name == one.name).count(), 1);
    }

    #[test]
    fn the_gravest_cause_comes_first_and_what_is_of_the_whole_is_said_so() {
        let mut fixture = fixture::demo();
        fixture.runs[0].caveats = vec![steal(3.0)];
        fixture.runs[5].caveats =
            vec![caveat("lag-too-large", Severity::Invalid, "The generator was 2 ms late. Give it CPUs.")];
        assert!(found(&fixture).iter().all(|doubt| doubt.severity < Severity::Invalid), "others count");
        fixture.summary.cells.iter_mut().for_each(|cell| cell.valid = false);
        let doubts = found(&fixture);
        let told: Vec<_> = doubts.iter().map(|doubt| (doubt.severity, doubt.name.as_str())).collect();
        assert_eq!(
            told,
            [
                (Severity::Invalid, "The generator was late"),
                (Severity::Doubt, "Others used the CPUs"),
                (Severity::Doubt, "Few runs"),
                (Severity::Note, "More than the server carries"),
            ]
        );
        assert_eq!((doubts[2].touches.as_str(), doubts[2].worst_at.as_str()), ("the whole study", ""));
    }

    #[test]
    fn a_run_that_did_not_settle_below_what_is_carried_is_no_overload() {
        let mut fixture = fixture::demo();
        let text = "The queue grew by 12 requests. Take a lower rate.";
        let at = fixture.summary.cells.iter().find(|cell| cell.rate_per_s == 20.0).unwrap().cell;
        let run = fixture.runs.iter_mut().find(|run| run.cell == at).unwrap();
        run.caveats = vec![caveat("queue-unstable", Severity::Note, text)];
        fixture.summary.headlines[0].bounds.seen_at_per_s = Some(40.0);
        let doubts = found(&fixture);
        let touches = |name: &str| doubts.iter().find(|doubt| doubt.name == name).unwrap().touches.clone();
        assert_eq!(touches(DISTURBED.name), "1 of 18 runs, at 20/s");
        assert_eq!(touches("More than the server carries"), "3 of 18 runs, at 72/s");
    }

    #[test]
    fn the_words_of_a_server_are_not_parted() {
        let text = "2 failed, by error 1064 “Wrong; see a. b. c (in 2 of 3 runs)”; errors are fast. Mend it. (in 1 of 2 runs)";
        assert_eq!(seen(text), "2 failed, by error 1064 “Wrong; see a. b. c (in 2 of 3 runs)”");
        assert_eq!(own_remedy(text), "Mend it.");
    }
}
