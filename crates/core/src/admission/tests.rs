//! What the gate promises, one case each.

use super::*;

const A: SessionId = SessionId(1);
const B: SessionId = SessionId(2);
const C: SessionId = SessionId(3);

fn ms(millis: u64) -> Nanos {
    Nanos::from_millis(millis)
}

/// A session whose connection leads to the first server.
pub(super) fn by(session: SessionId, tenant: TenantId) -> Caller {
    Caller { session, tenant, server: 0, thread: 0 }
}

fn gate(limit: usize) -> (Gate, TenantId) {
    gate_with(limit, Options::default())
}

fn gate_with(limit: usize, options: Options) -> (Gate, TenantId) {
    let mut gate = Gate::new(limit, options);
    let tenant = gate.tenant("shop");
    (gate, tenant)
}

fn ask(gate: &mut Gate, tenant: TenantId, sessions: &[SessionId]) {
    for session in sessions {
        gate.ask(ms(0), by(*session, tenant));
    }
}

fn notices(gate: &mut Gate) -> Vec<Notice> {
    std::iter::from_fn(|| gate.notice()).collect()
}

#[test]
fn a_lower_limit_stops_nobody_and_lets_nobody_in() {
    let (mut gate, shop) = gate(3);
    ask(&mut gate, shop, &[A, B, C]);
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
    ask(&mut gate, shop, &[A, B]);
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
    ask(&mut gate, shop, &[A, B, C]);
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
    ask(&mut gate, shop, &[A, B]);
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
    ask(&mut gate, shop, &[A, B, C]);
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
    ask(&mut gate, shop, &[A, B]);
    gate.settle(ms(1), by(B, shop), None, false);
    assert_eq!((gate.running(), gate.waiting()), (1, 1));
}

fn at_server(since: u64) -> Loan {
    Loan::AtServer { since: ms(since) }
}

#[test]
fn a_statement_that_does_not_use_the_server_makes_room_and_comes_back_unqueued() {
    let (mut gate, shop) = gate(1);
    ask(&mut gate, shop, &[A, B]);
    assert!(gate.lend(ms(100), by(A, shop), at_server(20)));
    assert_eq!(notices(&mut gate), [Notice::Admitted(B, ms(100))]);
    let census = gate.brief_census(ms(1_020));
    assert_eq!((census.running, census.lent, census.loans, census.loans_total), (1, 0, 1, 1));
    assert_eq!(census.oldest, Some(ms(1_000)));
    gate.resume(ms(1_500), by(A, shop));
    let census = gate.brief_census(ms(1_500));
    assert_eq!((census.running, census.loans, census.oldest), (2, 0, None));
}

#[test]
fn loans_at_the_server_are_as_many_as_the_limit_until_more_are_allowed() {
    let (mut gate, shop) = gate(2);
    for session in 0..8 {
        gate.ask(ms(0), by(SessionId(session), shop));
    }
    let lend = |gate: &mut Gate, session| gate.lend(ms(1), by(SessionId(session), shop), at_server(0));
    assert!(lend(&mut gate, 0) && lend(&mut gate, 1));
    assert!(!lend(&mut gate, 2));
    assert!(lend(&mut gate, 0), "it has lent already");
    gate.set_loans_max(Some(3));
    assert!(lend(&mut gate, 2) && !lend(&mut gate, 3));
    gate.set_loans_max(Some(0));
    let census = gate.brief_census(ms(1));
    assert_eq!((census.loans, census.loans_max, census.loans_refused), (3, 2, 2), "never below the limit");
    assert!(gate.lend(ms(2), by(SessionId(3), shop), Loan::Idle), "another bound");
    assert_eq!(gate.brief_census(ms(2)).lent, 1);
}

#[test]
fn what_was_on_loan_tells_the_controller_nothing_and_is_counted() {
    let (mut gate, shop) = gate(2);
    let ended = Some(Ended { outcome: Outcome::Success, digest: 5, busy: ms(60_000) });
    gate.ask(ms(0), by(A, shop));
    gate.lend(ms(1), by(A, shop), at_server(0));
    gate.settle(ms(60_000), by(A, shop), ended, false);
    gate.ask(ms(0), by(B, shop));
    gate.lend(ms(1), by(B, shop), at_server(0));
    gate.resume(ms(2), by(B, shop));
    gate.settle(ms(60_000), by(B, shop), ended, true);
    let interval = gate.take_interval(ms(60_000));
    assert_eq!((interval.completions, interval.on_loan, interval.on_loan_s), (0, 2, 120.0));
    assert_eq!((gate.running(), gate.brief_census(ms(60_000)).response_p99), (1, None));
    // The next transaction of the same session counts like any other, and weighs as if there had been no other.
    let ended = Some(Ended { outcome: Outcome::Success, digest: 6, busy: ms(10) });
    gate.settle(ms(60_010), by(B, shop), ended, false);
    let interval = gate.take_interval(ms(60_010));
    assert_eq!((interval.completions, interval.work, interval.on_loan), (1, 1.0, 0));
    assert_eq!(interval.response_mean, Some(ms(10)));
}

#[test]
fn one_on_loan_that_has_nothing_at_the_server_any_more_makes_room_for_another_loan() {
    let (mut gate, shop) = gate_with(1, Options { lent_max: 1, ..Options::default() });
    ask(&mut gate, shop, &[A, B, C]);
    assert!(gate.lend(ms(1), by(A, shop), at_server(0)) && !gate.lend(ms(1), by(B, shop), at_server(0)));
    assert!(gate.lend(ms(2), by(A, shop), Loan::Idle));
    let census = gate.brief_census(ms(2));
    assert_eq!((census.running, census.lent, census.loans, census.oldest), (1, 1, 0, None));
    assert!(gate.lend(ms(3), by(B, shop), at_server(0)));
    assert!(!gate.lend(ms(4), by(B, shop), Loan::Idle), "as many are idle as may");
    let census = gate.brief_census(ms(4));
    assert_eq!((census.running, census.lent, census.loans, census.lent_refused), (1, 1, 1, 1));
}

#[test]
fn after_a_failover_nothing_of_the_old_server_is_counted() {
    let (mut gate, shop) = gate(2);
    let sessions: Vec<Caller> = (0..5).map(|session| by(SessionId(session), shop)).collect();
    for caller in &sessions {
        gate.ask(ms(0), *caller);
    }
    assert!(gate.lend(ms(1), sessions[0], Loan::Idle) && gate.lend(ms(1), sessions[1], at_server(0)));
    gate.enter(ms(1), by(SessionId(9), shop));
    assert!(gate.exempt(sessions[0]));
    assert_eq!(notices(&mut gate).len(), 2);
    let server = gate.new_server(ms(10));
    assert_eq!((server, gate.server()), (1, 1));
    assert_eq!(notices(&mut gate), [Notice::Admitted(SessionId(4), ms(10))]);
    let census = gate.census(ms(10));
    assert_eq!((census.running, census.lent, census.loans, census.unqueued), (0, 0, 0, 0));
    assert_eq!((census.waiting, census.tenants[0].in_flight, census.tenants[0].exempt), (0, 0, 0));
    assert_eq!((census.tenants[0].admitted, census.tenants[0].waits.count()), (6, 6));
    // Two may run at the new server, whatever the sessions of the old one do.
    let new = |session| Caller { server, ..by(SessionId(session), shop) };
    sessions.iter().for_each(|caller| gate.settle(ms(11), *caller, None, true));
    assert_eq!(gate.ask(ms(11), new(20)), Admission::Admitted);
    assert_eq!(gate.ask(ms(11), new(21)), Admission::Admitted);
    assert_eq!(gate.ask(ms(11), new(22)), Admission::Queued);
    sessions.iter().for_each(|caller| gate.cancel(ms(12), *caller));
    assert_eq!((gate.running(), gate.waiting()), (2, 1));
}

#[test]
fn no_more_sessions_of_a_tenant_pass_the_queue_for_named_locks_than_the_limit_but_for_a_few() {
    let (mut gate, shop) = gate(6);
    let granted = |gate: &mut Gate, from: u64| {
        (from..from + 100).filter(|session| gate.exempt(by(SessionId(*session), shop))).count()
    };
    assert_eq!(granted(&mut gate, 0), 6);
    gate.set_limit(ms(0), 10);
    assert_eq!(granted(&mut gate, 100), 4);
    gate.set_limit(ms(0), 1);
    assert_eq!((granted(&mut gate, 200), gate.named_max()), (0, 4), "who is exempt stays so");
    (0..10).for_each(|_| gate.unexempt(by(A, shop)));
    assert_eq!(granted(&mut gate, 300), 4, "however small the limit is");
    gate.set_limit(ms(0), 1_000);
    assert_eq!(granted(&mut gate, 400), 60, "and the operator's bound holds");
}
