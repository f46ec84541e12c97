//! Loads that begin at the same instant, on several servers.

use evenkeel_core::Nanos;
use evenkeel_os::Stop;
use evenkeel_os::clock::monotonic;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Between the moment when all loads are ready and their start: the last one has to hear of it.
const LEAD: Nanos = Nanos::from_millis(20);
/// The stop switch is looked at this often while others are awaited.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Where loads wait for one another. With the same seed they then have the same arrivals at the same instants, so that what the machine
/// does meanwhile reaches all of them alike.
#[derive(Clone, Debug)]
pub struct Together(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    awaited: usize,
    start: Option<Nanos>,
    is_off: bool,
}

impl Together {
    /// For so many loads.
    pub fn of(loads: usize) -> Self {
        let state = Mutex::new(State { awaited: loads, start: None, is_off: false });
        Self(Arc::new(Shared { state, changed: Condvar::new() }))
    }

    /// One of them cannot begin: nobody waits for it any longer, and nobody begins. After the start it changes nothing.
    pub fn call_off(&self) {
        let mut state = self.state();
        state.is_off |= state.start.is_none();
        self.0.changed.notify_all();
    }

    /// Waits until all are ready; the instant at which all begin, or `None` where one of them never will.
    pub(super) fn start(&self, stop: &Stop) -> Option<Nanos> {
        let mut state = self.state();
        state.awaited = state.awaited.saturating_sub(1);
        if state.awaited == 0 && !state.is_off {
            state.start.get_or_insert_with(|| monotonic() + LEAD);
            self.0.changed.notify_all();
        }
        while state.start.is_none() && !state.is_off {
            if stop.is_set() {
                state.is_off = true;
                self.0.changed.notify_all();
            }
            let waited = self.0.changed.wait_timeout(state, LOOK_EVERY);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.start
    }

    /// Nothing in it is left half done by a thread that panics.
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn loads_begin_at_one_instant_when_the_last_of_them_is_ready() {
        let together = Together::of(3);
        let waiting: Vec<_> = (0..3)
            .map(|_| {
                let together = together.clone();
                thread::spawn(move || together.start(&Stop::default()))
            })
            .collect();
        let starts: Vec<Option<Nanos>> = waiting.into_iter().map(|one| one.join().unwrap()).collect();
        assert!(starts[0].is_some() && starts.iter().all(|start| *start == starts[0]), "{starts:?}");
    }

    #[test]
    fn nobody_waits_for_a_load_that_cannot_begin_or_after_a_stop() {
        let together = Together::of(2);
        let waiting = {
            let together = together.clone();
            thread::spawn(move || together.start(&Stop::default()))
        };
        together.call_off();
        assert_eq!(waiting.join().unwrap(), None);
        assert_eq!(together.start(&Stop::default()), None, "the second one does not begin either");
        let stop = Stop::default();
        stop.set();
        assert_eq!(Together::of(2).start(&stop), None);
    }

    #[test]
    fn what_has_begun_cannot_be_called_off() {
        let together = Together::of(1);
        let start = together.start(&Stop::default());
        together.call_off();
        assert!(start.is_some() && together.start(&Stop::default()) == start);
    }
}
