//! Where two answers to the same statement differ.

use evenkeel_core::Nanos;
use evenkeel_lab::replay::{Answered, Played};
use serde::Serialize;

/// How a second answer differs from the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// An error where there was none, or another one.
    Error,
    /// No error where there was one.
    ErrorGone,
    Rows,
    Affected,
    /// As many rows, with other values.
    Values,
    Warnings,
}

impl Kind {
    pub fn words(self) -> &'static str {
        match self {
            Self::Error => "new errors",
            Self::ErrorGone => "errors no longer raised",
            Self::Rows => "different row counts",
            Self::Affected => "different counts of changed rows",
            Self::Values => "different values",
            Self::Warnings => "different warnings",
        }
    }

    /// Whether it may be what makes the first server itself answer differently: another number of rows has other values.
    pub(super) fn follows(self, unsteady: Self) -> bool {
        self == unsteady || (self, unsteady) == (Self::Values, Self::Rows)
    }

    /// Warnings alone are no other result.
    pub fn is_result(self) -> bool {
        self != Self::Warnings
    }
}

/// The executions that differ in one way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    pub kind: Kind,
    pub executions: u64,
    /// Number of the first of them in the recording.
    pub statement: u64,
    /// What it answered on both sides: an error's code (0 for none), a count, a hash.
    pub example: [u64; 2],
}

impl Difference {
    /// The example in words.
    pub fn words(&self) -> String {
        let [first, second] = self.example;
        let what = match self.kind {
            Kind::Error if first == 0 => format!("error {second}"),
            Kind::Error => format!("error {second} instead of {first}"),
            Kind::ErrorGone => format!("no error instead of {first}"),
            Kind::Rows => format!("{second} rows instead of {first}"),
            Kind::Affected => format!("{second} rows changed instead of {first}"),
            Kind::Values => "different values".to_owned(),
            Kind::Warnings => format!("{second} warnings instead of {first}"),
        };
        format!("{what} (statement {})", self.statement)
    }
}

/// An answer as far as it is known.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Known {
    pub error: Option<u16>,
    pub rows: Option<u64>,
    pub affected: Option<u64>,
    pub hash: Option<u64>,
    pub warnings: Option<u64>,
    pub time: Option<Nanos>,
}

impl From<&Answered> for Known {
    fn from(answered: &Answered) -> Self {
        Self {
            error: answered.error,
            rows: Some(answered.rows),
            affected: Some(answered.affected),
            hash: Some(answered.hash),
            warnings: Some(answered.warnings),
            time: Some(answered.response),
        }
    }
}

impl Known {
    pub fn recorded(played: &Played) -> Self {
        let recorded = &played.recorded;
        Self {
            error: recorded.error,
            rows: recorded.rows,
            affected: recorded.affected,
            time: played.recorded_time,
            ..Self::default()
        }
    }

    /// Whether anything is known but how long it took.
    pub fn is_answer(&self) -> bool {
        self.error.is_some() || self.rows.is_some() || self.affected.is_some()
    }

    /// How `self` differs from `first`. After another error nothing else counts, and of another number of rows not their values.
    pub fn differences(&self, first: &Self) -> Vec<(Kind, [u64; 2])> {
        // Of an answer of which nothing is known, an error may be none that is new.
        if !first.is_answer() {
            return Vec::new();
        }
        if self.error != first.error {
            let kind = if self.error.is_some() { Kind::Error } else { Kind::ErrorGone };
            return vec![(kind, [first.error, self.error].map(|code| code.unwrap_or(0).into()))];
        }
        // How much it brought before the same error depends on how far the server told.
        if self.error.is_some() {
            return Vec::new();
        }
        let differs = |kind, first: Option<u64>, second: Option<u64>| {
            first.zip(second).filter(|(first, second)| first != second).map(|(one, two)| (kind, [one, two]))
        };
        let rows = differs(Kind::Rows, first.rows, self.rows);
        let rows = rows.or_else(|| differs(Kind::Values, first.hash, self.hash));
        let affected = differs(Kind::Affected, first.affected, self.affected);
        rows.into_iter()
            .chain(affected)
            .chain(differs(Kind::Warnings, first.warnings, self.warnings))
            .collect()
    }
}
