//! What the thread itself uses during the measured phase.

use evenkeel_core::Nanos;
use evenkeel_os::clock::thread_cpu;
use evenkeel_os::usage::context_switches;

/// CPU time and context switches between the first loop after the start of the measured phase and the first
/// after its end.
#[derive(Debug, Default)]
pub(super) struct Usage {
    first: Option<(Nanos, u64)>,
    last: Option<(Nanos, u64)>,
}

impl Usage {
    pub fn sample(&mut self, now: Nanos, start: Nanos, end: Nanos) {
        if self.first.is_none() && now >= start {
            self.first = Some((thread_cpu(), context_switches()));
        }
        if self.last.is_none() && now >= end {
            self.last = Some((thread_cpu(), context_switches()));
        }
    }

    /// CPU time and context switches; up to now where the end was not seen.
    pub fn difference(&self) -> (Nanos, u64) {
        let Some(first) = self.first else { return (Nanos::ZERO, 0) };
        let last = self.last.unwrap_or_else(|| (thread_cpu(), context_switches()));
        (last.0 - first.0, last.1.saturating_sub(first.1))
    }
}
