//! All doubts of a study, by cause: how many runs each touches, its worst evidence, and what to do.

mod group;

pub use group::{Doubt, cell_name, doubts};

use evenkeel_study::store::format::{CellSummary, Severity, Verdict};

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
