//! The gate, shared between threads.

use crate::admission::{Gate, Notice};
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// One gate behind a mutex that is held for microseconds. What a call brings about for other sessions is
/// delivered after the mutex is free again.
pub struct SharedGate {
    gate: Mutex<Gate>,
    deliver: Box<dyn Fn(Notice) + Send + Sync>,
}

impl SharedGate {
    /// `deliver` is called for each notice by whichever thread caused it, and must not call back.
    pub fn new(gate: Gate, deliver: impl Fn(Notice) + Send + Sync + 'static) -> Self {
        Self { gate: Mutex::new(gate), deliver: Box::new(deliver) }
    }

    /// Calls the gate. A thread that panicked inside leaves it as it was at that moment: counts stay
    /// whole, because no call of the gate panics half way.
    pub fn with<R>(&self, call: impl FnOnce(&mut Gate) -> R) -> R {
        let mut gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        let result = call(&mut gate);
        let Some(first) = gate.notice() else { return result };
        let rest: Vec<Notice> = std::iter::from_fn(|| gate.notice()).collect();
        drop(gate);
        (self.deliver)(first);
        rest.into_iter().for_each(|notice| (self.deliver)(notice));
        result
    }
}

impl fmt::Debug for SharedGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedGate").field("gate", &self.gate).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::{Options, Outcome, SessionId};
    use evenkeel_core::Nanos;
    use std::sync::{Arc, mpsc};

    #[test]
    fn notices_are_delivered_after_the_call_that_caused_them() {
        let (sender, receiver) = mpsc::channel();
        let shared = SharedGate::new(Gate::new(1, Options::default()), move |notice| {
            sender.send(notice).expect("the test listens");
        });
        let tenant = shared.with(|gate| gate.tenant("shop"));
        for session in 0..3 {
            shared.with(|gate| gate.ask(Nanos::ZERO, SessionId(session), tenant));
        }
        shared.with(|gate| gate.set_limit(Nanos(5), 3));
        let delivered: Vec<Notice> = receiver.try_iter().collect();
        assert_eq!(delivered, [1, 2].map(|session| Notice::Admitted(SessionId(session), Nanos(5))));
    }

    #[test]
    fn threads_that_share_a_gate_lose_no_permit() {
        let granted = Arc::new(Mutex::new(Vec::new()));
        let mailbox = Arc::clone(&granted);
        let shared = SharedGate::new(Gate::new(2, Options::default()), move |notice| {
            if let Notice::Admitted(session, _) = notice {
                mailbox.lock().expect("no panic").push(session);
            }
        });
        let tenant = shared.with(|gate| gate.tenant("shop"));
        std::thread::scope(|scope| {
            for thread in 0..4_u64 {
                let shared = &shared;
                scope.spawn(move || {
                    for round in 0..2_000 {
                        let session = SessionId(thread << 32 | round);
                        let now = Nanos(round);
                        shared.with(|gate| gate.ask(now, session, tenant));
                        // Leaves in whatever state it is.
                        shared.with(|gate| gate.cancel(now, session));
                        shared.with(|gate| gate.release(now, session, Outcome::Success, 1.0));
                    }
                });
            }
        });
        assert_eq!(shared.with(|gate| (gate.running(), gate.waiting())), (0, 0));
        assert!(granted.lock().expect("no panic").len() <= 8_000);
    }
}
