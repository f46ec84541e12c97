//! For how long a session has had permits, by the world's own clock.

use evenkeel_core::Nanos;

/// For how long a session has had permits since it asked for one as others do; loans do not count.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tenure {
    pub before: Nanos,
    since: Option<Nanos>,
    /// Another server has taken the place of its own: until it asks there it may have asked the one of before, which counts
    /// nobody any more, and have begun anew.
    pub is_unsure: bool,
}

impl Tenure {
    /// Another server has taken the place of its own.
    pub fn becomes_unsure(&mut self) {
        self.is_unsure = true;
    }

    /// Brings it up to now: its length so far.
    pub fn goes_on(&mut self, holds: bool, now: Nanos) -> Nanos {
        self.before += self.since.map_or(Nanos::ZERO, |since| now - since);
        self.since = holds.then_some(now);
        self.before
    }
}
