//! What the gate promises, one case each.

use super::*;

pub(super) const A: SessionId = SessionId(1);
pub(super) const B: SessionId = SessionId(2);
pub(super) const C: SessionId = SessionId(3);

pub(super) fn ms(millis: u64) -> Nanos {
    Nanos::from_millis(millis)
}

/// A session whose connection leads to the first server.
pub(super) fn by(session: SessionId, tenant: TenantId) -> Caller {
    Caller { session, tenant, server: 0, thread: 0 }
}

pub(super) fn gate(limit: usize) -> (Gate, TenantId) {
    gate_with(limit, Options::default())
}

pub(super) fn gate_with(limit: usize, options: Options) -> (Gate, TenantId) {
    let mut gate = Gate::new(limit, options);
    let tenant = gate.tenant("shop");
    (gate, tenant)
}

pub(super) fn notices(gate: &mut Gate) -> Vec<Notice> {
    std::iter::from_fn(|| gate.notice()).collect()
}

#[test]
fn a_lower_limit_stops_nobody_and_lets_nobody_in() {
    let (mut gate, shop) = gate(3);
    for session in [A, B, C] {
        gate.ask(ms(0), by(session, shop));
    }
    gate.set_limit(ms(1), 1);
    let waiting = SessionId(4);
    assert_eq!(gate.ask(ms(1), by(waiting, shop)), Admission::Queued);
    assert_eq!(gate.census(ms(1)).reason, WaitReason::Overdrawn);
    gate.release(ms(2), A, Outcome::Success, 1.0);
    gate.release(ms(2), B, Outcome::Success, 1.0);
    assert_eq!((notices(&mut gate), gate.running()), (vec![], 1));
    gate.release(ms(3), C, Outcome::Success, 1.0);
    assert_eq!(notices(&mut gate), [Notice::Admitted(waiting, ms(2))]);
}

#[test]
fn an_idle_transaction_lends_its_permit_and_comes_back_unqueued() {
    let (mut gate, shop) = gate(1);
    gate.ask(ms(0), by(A, shop));
    gate.ask(ms(0), by(B, shop));
    assert!(gate.lend(ms(100), by(A, shop), Loan::Idle));
    assert_eq!(notices(&mut gate), [Notice::Admitted(B, ms(100))]);
    gate.resume(ms(200), by(A, shop));
    assert_eq!((gate.running(), gate.census(ms(200)).lent), (2, 0));
    // The debt is paid before anybody new comes in.
    gate.ask(ms(201), by(C, shop));
    gate.release(ms(202), B, Outcome::Success, 1.0);
    assert_eq!(notices(&mut gate), []);
    gate.release(ms(203), A, Outcome::Success, 1.0);
    assert_eq!(notices(&mut gate), [Notice::Admitted(C, ms(2))]);
}

#[test]
fn without_any_end_for_a_second_the_liveness_rule_admits_one_more() {
    let (mut gate, shop) = gate(1);
    for session in [A, B, C] {
        gate.ask(ms(0), by(session, shop));
    }
    gate.tick(ms(999));
    assert_eq!(notices(&mut gate), []);
    gate.tick(ms(1_000));
    assert_eq!(notices(&mut gate), [Notice::Admitted(B, ms(1_000))]);
    gate.tick(ms(1_999));
    assert_eq!(notices(&mut gate), []);
    gate.tick(ms(2_000));
    assert_eq!(notices(&mut gate), [Notice::Admitted(C, ms(2_000))]);
    let census = gate.census(ms(2_000));
    assert_eq!((census.by_liveness, census.liveness_total, census.running), (2, 2, 3));
    gate.release(ms(2_001), C, Outcome::Success, 1.0);
    assert_eq!(gate.census(ms(2_001)).by_liveness, 1);
}

#[test]
fn the_liveness_rule_waits_for_five_times_the_usual_response() {
    let (mut gate, shop) = gate(1);
    for round in 0..100 {
        gate.ask(ms(round * 1_000), by(A, shop));
        gate.release(ms(round * 1_000 + 900), A, Outcome::Success, 1.0);
    }
    gate.ask(ms(100_000), by(A, shop));
    gate.ask(ms(100_000), by(B, shop));
    gate.tick(ms(104_400));
    assert_eq!(notices(&mut gate), []);
    gate.tick(ms(105_200));
    assert_eq!(notices(&mut gate).len(), 1);
}

#[test]
fn the_liveness_rule_counts_from_the_first_waiter_not_from_the_last_end() {
    let (mut gate, shop) = gate(1);
    gate.ask(ms(0), by(A, shop));
    gate.tick(ms(60_000));
    gate.ask(ms(60_000), by(B, shop));
    gate.tick(ms(60_050));
    assert_eq!(notices(&mut gate), []);
}

#[test]
fn a_full_queue_refuses_with_its_reason() {
    let (mut gate, shop) = gate_with(1, Options { queue_max: Some(1), ..Options::default() });
    gate.ask(ms(0), by(A, shop));
    gate.ask(ms(0), by(B, shop));
    let full = Rejection::QueueFull { waiting: 1, bound: 1 };
    assert_eq!(gate.ask(ms(0), by(C, shop)), Admission::Rejected(full));
    assert_eq!((gate.take_interval(ms(1)).rejected, gate.census(ms(1)).tenants[0].rejected), (1, 1));
}

#[test]
fn a_wait_that_reaches_its_bound_ends_with_a_reason() {
    let (mut gate, shop) = gate_with(1, Options { wait_max: Some(ms(200)), ..Options::default() });
    gate.ask(ms(0), by(A, shop));
    gate.ask(ms(10), by(B, shop));
    gate.ask(ms(150), by(C, shop));
    gate.tick(ms(209));
    assert_eq!(notices(&mut gate), []);
    gate.tick(ms(210));
    assert_eq!(notices(&mut gate), [Notice::Rejected(B, Rejection::WaitedTooLong { bound: ms(200) })]);
    assert_eq!(gate.waiting(), 1);
}

#[test]
fn a_dry_run_holds_nothing_back_and_says_what_it_would_have_held() {
    let (mut gate, shop) = gate_with(1, Options { dry_run: true, ..Options::default() });
    for session in [A, B, C] {
        assert_eq!(gate.ask(ms(0), by(session, shop)), Admission::Admitted);
    }
    assert_eq!(gate.census(ms(0)).would_have_queued, 2);
    // Who waits when it is switched on comes in.
    let (mut gate, shop) = self::gate(1);
    for session in [A, B, C] {
        gate.ask(ms(0), by(session, shop));
    }
    gate.set_options(ms(1), Options { dry_run: true, ..Options::default() });
    assert_eq!((notices(&mut gate).len(), gate.waiting()), (2, 0));
}

#[test]
fn absence_saves_up_no_claim() {
    let (mut gate, shop) = gate(1);
    let batch = gate.tenant("batch");
    for session in 0..1_000 {
        gate.ask(ms(session), by(SessionId(session), shop));
        gate.release(ms(session), SessionId(session), Outcome::Success, 1.0);
    }
    gate.ask(ms(1_000), by(A, shop));
    for session in 10..30 {
        gate.ask(ms(1_000), by(SessionId(session), if session < 20 { shop } else { batch }));
    }
    let mut last = A;
    let mut of_batch = 0;
    for turn in 0..10 {
        gate.release(ms(1_001 + turn), last, Outcome::Success, 1.0);
        if let Some(Notice::Admitted(session, _)) = gate.notice() {
            of_batch += u32::from(session.0 >= 20);
            last = session;
        }
    }
    assert!((4..=6).contains(&of_batch), "{of_batch} of 10");
}

#[test]
fn tenants_beyond_the_most_share_one() {
    let mut gate = Gate::new(1, Options::default());
    let ids: std::collections::HashSet<TenantId> =
        (0..5_000).map(|number| gate.tenant(&format!("db{number}"))).collect();
    assert_eq!(ids.len(), Tenants::MAX);
    assert_eq!(gate.census(ms(0)).tenants.last().unwrap().name, Tenants::REST);
}

#[test]
fn an_interval_says_what_happened_in_it() {
    let (mut gate, shop) = gate(2);
    gate.ask(ms(0), by(A, shop));
    gate.ask(ms(50), by(B, shop));
    gate.ask(ms(50), by(C, shop));
    gate.cancel(ms(75), by(C, shop));
    gate.release(ms(100), A, Outcome::Success, 2.5);
    gate.release(ms(100), B, Outcome::Overload, 1.0);
    let interval = gate.take_interval(ms(200));
    assert!((interval.in_flight_mean - 0.75).abs() < 1e-9);
    assert!((interval.queued_mean - 0.125).abs() < 1e-9);
    assert_eq!((interval.in_flight_max, interval.completions, interval.overloads), (2, 1, 1));
    assert_eq!((interval.work, interval.response_mean), (2.5, Some(ms(100))));
    let empty = gate.take_interval(ms(300));
    assert_eq!((empty.start, empty.completions, empty.response_mean), (ms(200), 0, None));
}

#[test]
fn a_chained_transaction_completes_and_keeps_its_permit_and_a_cost_that_is_no_number_counts_as_one() {
    let (mut gate, shop) = gate(1);
    gate.ask(ms(0), by(A, shop));
    gate.complete(ms(10), A, Outcome::Success, f64::NAN);
    gate.release(ms(15), A, Outcome::Success, -3.0);
    let interval = gate.take_interval(ms(20));
    assert_eq!((interval.completions, interval.work), (2, 1.0));
    assert_eq!((interval.response_min, interval.response_max), (Some(ms(5)), Some(ms(10))));
}

#[test]
fn an_answer_settles_what_its_session_holds() {
    let (mut gate, shop) = gate(1);
    gate.ask(ms(0), by(A, shop));
    gate.settle(ms(1), by(A, shop), None, true);
    let ended = Ended { outcome: Outcome::Success, digest: 5, busy: ms(1) };
    gate.settle(ms(2), by(A, shop), Some(ended), true);
    assert_eq!(gate.running(), 1);
    gate.settle(ms(3), by(A, shop), None, false);
    assert_eq!((gate.running(), gate.take_interval(ms(3)).completions), (0, 1));
    gate.settle(ms(4), by(A, shop), None, false);
    gate.settle(ms(4), by(A, shop), None, true);
    assert_eq!((gate.running(), gate.census(ms(4)).unqueued), (1, 1));
}

#[test]
fn an_answer_to_a_command_before_the_one_that_waits_leaves_that_one_waiting() {
    let (mut gate, shop) = gate(1);
    gate.ask(ms(0), by(A, shop));
    gate.ask(ms(0), by(B, shop));
    gate.settle(ms(1), by(B, shop), None, false);
    assert_eq!((gate.running(), gate.waiting()), (1, 1));
}
