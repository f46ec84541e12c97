//! Doubts about a result, each with code, weight, sentence and evidence, made in one place: about the load generator in
//! `generator`, the machine in `machine`, one run in `run`, a cell or the whole in `study`. Constructors that take a
//! measurement return `None` where there is nothing to doubt; [`threshold`] has all the figures that decide it. [`cause`] puts
//! codes together that have one remedy.

mod badness;
mod cause;
mod failed;
mod generator;
mod machine;
mod run;
mod study;
pub mod threshold;

pub use cause::{CAUSES, Cause, cause};
pub use failed::FailedBy;
pub use threshold::*;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Good to know; the figures stand.
    Note,
    /// The figures may be off, or wider than they look.
    Doubt,
    /// The measurement itself failed: the figures are about the generator, not the server.
    Invalid,
}

impl Severity {
    pub const GRAVEST_FIRST: [Self; 3] = [Self::Invalid, Self::Doubt, Self::Note];
}

/// A doubt about a result: the same in memory, in a study folder and for programs.
#[derive(Clone, Debug, PartialEq)]
pub struct Caveat {
    /// A short name that never changes, for files and filters: `lag-too-large`. One that a later version wrote may be
    /// any.
    pub code: Cow<'static, str>,
    pub severity: Severity,
    /// One or two full sentences: what was seen, what it means, what to do.
    pub text: String,
    /// The numbers behind it, by name with unit: `lag_mean_s`, `tolerated_s`. Counts have no unit. Empty where nothing was
    /// counted.
    pub evidence: BTreeMap<String, f64>,
}

impl Caveat {
    pub fn new(code: &'static str, severity: Severity, text: impl Into<String>) -> Self {
        Self { code: Cow::Borrowed(code), severity, text: text.into(), evidence: BTreeMap::new() }
    }

    /// Adds a number to the evidence. What is not there or no finite number is left out: it is evidence of nothing, and
    /// JSON has no word for it.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Option<f64>>) -> Self {
        if let Some(value) = value.into().filter(|value| value.is_finite()) {
            self.evidence.insert(name.to_owned(), value);
        }
        self
    }

    /// The same about one of several: `host a: ` stands before its text.
    #[must_use]
    pub fn of(self, which: &str) -> Self {
        Self { text: format!("{which}{}", self.text), ..self }
    }
}

impl fmt::Display for Caveat {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

/// Whether most requests failed, see [`FAILURES_FOUND`].
pub fn most_failed(failed: u64, arrivals: u64) -> bool {
    share(failed, arrivals) > FAILURES_FOUND
}

/// A part as a share of the whole; zero of nothing.
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn plural(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests;
