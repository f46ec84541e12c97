//! Doubts that published studies have in common.

use super::plan::{Part, Run};
use crate::format;
use evenkeel_core::caveat::{Caveat, Severity};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Of these parts runs that are missing, and too few repeats; of all runs what others took of the CPUs.
pub(crate) fn doubts<'a>(
    parts: impl Iterator<Item = &'a Part> + Clone,
    runs: &[Run],
) -> impl Iterator<Item = Caveat> {
    let planned: usize = parts.clone().map(Part::runs).sum();
    let done = runs.iter().filter(|run| parts.clone().any(|part| part.name == run.part)).count();
    let unfinished = (done < planned).then(|| {
        let text = format!("Unfinished: {done} of {planned} runs.");
        Caveat::new("incomplete", Severity::Note, text)
            .with("runs_done", done as f64)
            .with("runs_planned", planned as f64)
    });
    let most = |figure: &str| runs.iter().filter_map(|run| run.figure(figure)).fold(0.0, f64::max);
    let repeats = parts.map(|part| part.repeats).filter(|repeats| *repeats > 0).min();
    let found = [
        unfinished,
        Caveat::steal(most("steal_percent")),
        Caveat::other_load(most("other_load_percent")),
        repeats.and_then(|repeats| Caveat::runs(repeats.into())),
    ];
    found.into_iter().flatten()
}

/// Doubts that do not depend on what was measured: code and text of each.
pub(crate) fn standing<const N: usize>(all: [(&'static str, &'static str); N]) -> [Caveat; N] {
    all.map(|(code, text)| Caveat::new(code, Severity::Note, text))
}

/// What speaks against single runs: of each kind the first, with how many runs have it, the gravest kind first.
pub(crate) fn of_runs(runs: &[Run]) -> Vec<Caveat> {
    let mut kinds: Vec<(Caveat, usize)> = Vec::new();
    for run in runs {
        let mut seen = BTreeSet::new();
        for caveat in run.caveats.iter().filter(|caveat| seen.insert(&caveat.code)) {
            match kinds.iter_mut().find(|(known, _)| known.code == caveat.code) {
                Some((_, count)) => *count += 1,
                None => kinds.push((caveat.clone(), 1)),
            }
        }
    }
    kinds.sort_by_key(|(caveat, _)| Reverse(caveat.severity));
    let told = |(caveat, count): (Caveat, usize)| {
        let text = format!("{} (In {count} of {}.)", caveat.text, format::counted(runs.len(), "run"));
        Caveat { text, ..caveat }
    };
    kinds.into_iter().map(told).collect()
}
