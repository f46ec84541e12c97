//! What an operator sees of the guard: metrics, logs, the journal, the live view; and a guard as a child.

pub mod child;
pub mod inside;
pub mod journal;
pub mod log;
pub mod metrics;
pub mod proven;
pub mod show;
pub mod top;

#[cfg(test)]
pub mod fixture {
    use evenkeel_core::Nanos;
    use evenkeel_core::admission::{Admission, Caller, Ended, Keeper, Options, Outcome, SessionId};
    use evenkeel_core::control::{Baseline, Verdict};
    use evenkeel_core::control::{Decision, Reason, Response, Sample};
    use evenkeel_core::gate::LongReason;
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
        let mut keeper = Keeper::new([4, 2], Options::default());
        let tenant = keeper.tenant("sh\"op");
        let by = |session| Caller { session: SessionId(session), tenant, server: 0, thread: 0 };
        let ask = |keeper: &mut Keeper, at: u64, session: u64| {
            let asked = keeper.ask(Nanos::from_millis(at), by(session), session);
            if let Admission::Admitted(held) = asked { Some(held) } else { None }
        };
        for session in 0..10 {
            let (end, busy) = (Nanos::from_millis(4), Nanos::from_millis(4));
            let mut held = ask(&mut keeper, 0, session).expect("there is room");
            let ended = Ended { outcome: Outcome::Success, digest: 7, busy };
            keeper.ended(end, by(session), &mut held, ended);
            keeper.leave(end, by(session), held);
        }
        let mut held: Vec<_> = (0..7).filter_map(|session| ask(&mut keeper, 500, session)).collect();
        let now = Nanos::from_millis(600);
        keeper.move_to_long(now, by(0), &mut held[0], Nanos::from_secs(1));
        keeper.step_aside(now, by(1), &mut held[1]);
        keeper.exempt(by(9));
        let interval_totals =
            Totals { ticks: 10, completions: 10, work: 10.0, response_s: 0.04, ..Totals::default() };
        Snapshot {
            at: Nanos::from_secs(1),
            census: keeper.census(Nanos::from_secs(1)),
            sample: sample(),
            verdict: verdict(),
            proven: 4,
            controller: "fixed",
            dry_run: false,
            available: Available { process: Some(17), pressure: true, ..Available::default() },
            baseline: Baseline::default(),
            totals: interval_totals,
            long: (2, LongReason::Cost { higher: 3, share: 0.12, in_use: false }),
        }
    }
}
