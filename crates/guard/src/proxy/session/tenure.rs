//! For how long a session has had permits.

use evenkeel_core::Nanos;

/// For how long a session has had permits since it stood in line for one: also one after the other, where it holds what
/// lets it pass the queue. The time of loans does not count, in which others ran.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tenure {
    before: Nanos,
    since: Option<Nanos>,
}

impl Tenure {
    /// The session has a permit.
    pub fn goes_on(&mut self, now: Nanos) {
        self.since.get_or_insert(now);
    }

    /// It has none, or has lent it.
    pub fn pauses(&mut self, now: Nanos) {
        if let Some(since) = self.since.take() {
            self.before += now - since;
        }
    }

    /// How long that is by now.
    pub fn length(&self, now: Nanos) -> Nanos {
        self.before + self.since.map_or(Nanos::ZERO, |since| now - since)
    }
}
