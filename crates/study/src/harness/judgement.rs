//! What a study says: of the published finding, of its own runs, and of what speaks against them.

use super::plan::{Part, Run};
use crate::format;
use evenkeel_core::caveat::{Caveat, Severity};
use evenkeel_core::statistics::{Estimate, Ratio};
use evenkeel_core::why::Verdict;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// All that a study says of its runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judgement {
    pub headline: String,
    pub published: &'static str,
    /// Where and on what it was published.
    pub source: &'static str,
    pub rule: String,
    pub setting: String,
    /// The published findings, each beside ours.
    pub findings: Vec<Finding>,
    /// Suspects that may make runs differ, each with what was found of it.
    pub verdicts: Vec<Verdict>,
    /// What makes runs differ, level by level.
    pub components: Vec<Share>,
    /// What each row is by each column, where that says more than a line for each cell.
    pub matrices: Vec<Matrix>,
    /// Further sentences, by the name of the part that they are about.
    pub sentences: Vec<(String, String)>,
    /// Doubts about the whole and about single runs.
    pub caveats: Vec<Caveat>,
    /// Where it was measured: name and value.
    pub place: Vec<(&'static str, String)>,
    /// Published figures, to stand beside ours.
    pub references: Vec<Reference>,
    /// Levels worth a line in a chart: part, figure, value, and what it is.
    pub guides: Vec<(String, &'static str, f64, String)>,
}

/// A table of a part: its columns by name, and its rows by name with a place for each column. The page draws it as a heat map.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Matrix {
    pub part: String,
    pub title: String,
    /// What it shows, in a sentence or two.
    pub words: &'static str,
    /// The value that nobody minds; the more a place is above it, the worse. `None` where a value is only large or small.
    pub fine: Option<f64>,
    pub columns: Vec<String>,
    pub rows: Vec<(String, Vec<Option<Mark>>)>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    pub number: Number,
    /// Whether it is among those that matter.
    pub is_strong: bool,
}

/// What one level makes of the variance of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    /// The level: request, run, start, target.
    pub level: &'static str,
    /// Standard deviation, in the unit of the figure, with its 95 % interval.
    pub deviation: Number,
    /// Its share of a run's variance, percent.
    pub percent: f64,
    pub units: f64,
}

/// What was published of a combination of levels.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reference {
    pub part: String,
    pub words: String,
    /// Figures by name, as in runs.
    pub figures: Vec<(String, f64)>,
}

/// A published finding beside ours.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    pub name: &'static str,
    pub part: String,
    pub outcome: Outcome,
    pub published: String,
    pub here: String,
    pub numbers: Vec<Number>,
}

impl Finding {
    /// One of which it may not be known whether it holds.
    pub(crate) fn of(
        name: &'static str,
        part: &str,
        published: &str,
        holds: Option<bool>,
        here: String,
    ) -> Self {
        let (part, published, numbers) = (part.to_owned(), published.to_owned(), Vec::new());
        Self { name, part, outcome: Outcome::of(holds), published, here, numbers }
    }

    pub(crate) fn with(self, numbers: Vec<Number>) -> Self {
        Self { numbers, ..self }
    }
}

impl Reference {
    pub(crate) fn of(
        part: &str,
        words: &str,
        figures: impl IntoIterator<Item = (&'static str, f64)>,
    ) -> Self {
        let figures = figures.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Self { part: part.to_owned(), words: words.to_owned(), figures }
    }
}

/// Whether a published finding holds here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The finding holds here too.
    Holds,
    DoesNotHold,
    /// It cannot be told from these runs or on this machine.
    NotTestable,
}

impl Outcome {
    /// The outcome as tables and pages write it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::DoesNotHold => "does not hold",
            Self::NotTestable => "not testable here",
        }
    }

    /// Of what may not be known.
    pub fn of(holds: Option<bool>) -> Self {
        match holds {
            Some(true) => Self::Holds,
            Some(false) => Self::DoesNotHold,
            None => Self::NotTestable,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Number {
    pub name: String,
    /// The number, in the unit that its name ends with.
    pub value: f64,
    /// Its 95 % interval, where there are runs enough.
    pub interval: Option<(f64, f64)>,
}

impl Number {
    /// One without an interval.
    pub fn plain(name: &str, value: f64) -> Self {
        Self { name: name.to_owned(), value, interval: None }
    }

    /// A mean with its interval.
    pub(crate) fn mean(name: impl Into<String>, mean: &Estimate) -> Self {
        Self { name: name.into(), value: mean.mean, interval: mean.low().zip(mean.high()) }
    }

    /// That of a ratio, where it is known.
    pub(crate) fn of(name: &str, ratio: Option<&Ratio>) -> Vec<Self> {
        let number =
            |ratio: &Ratio| Self { name: name.to_owned(), value: ratio.ratio, interval: ratio.interval };
        ratio.map(number).into_iter().collect()
    }
}

/// Whether all of the interval of a ratio is above this; not known where it is on both sides, or there is none.
pub(crate) fn above(ratio: Option<&Ratio>, least: f64) -> Option<bool> {
    match ratio?.interval? {
        (low, _) if low > least => Some(true),
        (_, high) if high <= least => Some(false),
        _ => None,
    }
}

/// Of these parts too few repeats; of all runs what others took of the CPUs.
pub(crate) fn doubts<'a>(
    parts: impl Iterator<Item = &'a Part>,
    runs: &[Run],
) -> impl Iterator<Item = Caveat> {
    let most = |figure: &str| runs.iter().filter_map(|run| run.figure(figure)).fold(0.0, f64::max);
    let repeats = parts.map(|part| part.repeats).filter(|repeats| *repeats > 0).min();
    let found = [
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

/// The caveats of runs: of each kind the first, with how many runs have it.
pub(crate) fn kinds<'a>(runs: impl Iterator<Item = &'a Vec<Caveat>>) -> Vec<(Caveat, usize)> {
    let mut kinds: Vec<(Caveat, usize)> = Vec::new();
    for caveats in runs {
        let mut seen = BTreeSet::new();
        for caveat in caveats.iter().filter(|caveat| seen.insert(&caveat.code)) {
            match kinds.iter_mut().find(|(known, _)| known.code == caveat.code) {
                Some((_, count)) => *count += 1,
                None => kinds.push((caveat.clone(), 1)),
            }
        }
    }
    kinds
}

/// What speaks against single runs, the gravest kind first.
pub(crate) fn of_runs(runs: &[Run]) -> Vec<Caveat> {
    let mut kinds = kinds(runs.iter().map(|run| &run.caveats));
    kinds.sort_by_key(|(caveat, _)| Reverse(caveat.severity));
    let told = |(caveat, count): (Caveat, usize)| {
        let text = format!("{} (In {count} of {}.)", caveat.text, format::counted(runs.len(), "run"));
        Caveat { text, ..caveat }
    };
    kinds.into_iter().map(told).collect()
}
