//! What an operator sees of the guard: metrics, logs, the journal, the live view; and a guard as a child.

pub mod child;
pub mod inside;
pub mod journal;
pub mod log;
pub mod metrics;
pub mod show;
pub mod top;

#[cfg(test)]
pub mod fixture {
    use evenkeel_core::Nanos;
    use evenkeel_core::admission::{Caller, Gate, Loan, Options, Outcome, SessionId};
    use evenkeel_core::control::{Baseline, Verdict};
    use evenkeel_core::control::{Decision, Reason, Response, Sample};
    use evenkeel_guard::control::Available;
    use evenkeel_guard::snapshot::{Snapshot, Totals};

    /// The last decision: hold at 4.
    pub fn verdict() -> Verdict {
        Verdict { limit: 4, decision: Some(Decision { limit: 4, why: Reason::Fixed }), fault: None }
    }

    /// A tick as a busy guard would see it.
    pub fn sample() -> Sample {
        let mut sample = Sample {
            start: Nanos::from_millis(900),
            end: Nanos::from_secs(1),
            limit: 4,
            in_flight_mean: 3.5,
            in_flight_max: 4,
            queued: 1.5,
            completions: 10,
            work: 10.0,
            response: Some(Response { mean: 0.004, min: 0.001, max: 0.009 }),
            ..Sample::default()
        };
        sample.signals.cpu_per_commit = Some(0.002);
        sample
    }

    /// A snapshot of a busy guard.
    pub fn snapshot() -> Snapshot {
        let mut gate = Gate::new(4, Options::default());
        let tenant = gate.tenant("sh\"op");
        let by = |session| Caller { session: SessionId(session), tenant, server: 0, thread: 0 };
        for session in 0..10 {
            gate.ask(Nanos::ZERO, by(session));
            gate.release(Nanos::from_millis(4), SessionId(session), Outcome::Success, 1.0);
        }
        for session in 0..7 {
            gate.ask(Nanos::from_millis(500), by(session));
        }
        gate.lend(Nanos::from_millis(600), by(0), Loan::AtServer { since: Nanos::from_millis(500) });
        gate.exempt(by(9));
        let interval_totals =
            Totals { ticks: 10, completions: 10, work: 10.0, response_s: 0.04, ..Totals::default() };
        Snapshot {
            at: Nanos::from_secs(1),
            census: gate.census(Nanos::from_secs(1)),
            sample: sample(),
            verdict: verdict(),
            proven: 4,
            controller: "fixed",
            dry_run: false,
            available: Available { process: Some(17), pressure: true, ..Available::default() },
            baseline: Baseline::default(),
            totals: interval_totals,
        }
    }
}
