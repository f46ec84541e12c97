//! What trying a thing came to.

use std::fmt;

/// How much of a thing there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// All that is needed.
    Ok,
    /// Something, and less than is needed.
    Limited,
    /// Nothing of it is there.
    Missing,
}

impl fmt::Display for State {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(match self {
            Self::Ok => "ok",
            Self::Limited => "limited",
            Self::Missing => "missing",
        })
    }
}

/// One thing that was tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What was tried, in a word or two.
    pub name: &'static str,
    /// How much of it there is.
    pub state: State,
    /// What was seen.
    pub seen: String,
    /// What does not work, or not as well, without it; empty where all of it is there.
    pub lost: &'static str,
    /// What to do to have it; empty likewise.
    pub remedy: String,
}

impl Finding {
    /// All of it is there.
    pub(super) fn ok(name: &'static str, seen: impl Into<String>) -> Self {
        Self { name, state: State::Ok, seen: seen.into(), lost: "", remedy: String::new() }
    }

    /// There is less of it than is needed, or nothing.
    pub(super) fn less(
        name: &'static str,
        state: State,
        seen: impl Into<String>,
        lost: &'static str,
        remedy: impl Into<String>,
    ) -> Self {
        Self { name, state, seen: seen.into(), lost, remedy: remedy.into() }
    }
}
