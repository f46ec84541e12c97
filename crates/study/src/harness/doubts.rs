//! Doubts that published studies have in common.

use super::plan::Part;
use super::run::Run;
use evenkeel_core::caveat::{Caveat, Severity};

/// Of these parts runs that are missing, and too few repeats; of all runs what others took of the CPUs.
pub(crate) fn doubts(parts: &[&Part], runs: &[Run]) -> Vec<Caveat> {
    let planned: usize = parts.iter().map(|part| part.runs()).sum();
    let done = runs.iter().filter(|run| parts.iter().any(|part| part.name == run.part)).count();
    let unfinished = (done < planned).then(|| {
        let text = format!("Unfinished: {done} of {planned} runs.");
        Caveat::new("incomplete", Severity::Note, text)
            .with("runs_done", done as f64)
            .with("runs_planned", planned as f64)
    });
    let most = |figure: &str| runs.iter().filter_map(|run| run.figure(figure)).fold(0.0, f64::max);
    let repeats = parts.iter().map(|part| part.repeats).filter(|repeats| *repeats > 0).min();
    let found = [
        unfinished,
        Caveat::steal(most("steal_percent")),
        Caveat::other_load(most("other_load_percent")),
        repeats.and_then(|repeats| Caveat::runs(repeats.into())),
    ];
    found.into_iter().flatten().collect()
}
