//! What the gate promises of loans, of sessions that are exempt, and of a failover.

use super::tests::{A, B, C, by, gate, gate_with, ms, notices};
use super::*;

fn at_server(since: u64) -> Loan {
    Loan::AtServer { since: ms(since) }
}

#[test]
fn a_statement_that_does_not_use_the_server_makes_room_and_comes_back_unqueued() {
    let (mut gate, shop) = gate(1);
    gate.ask(ms(0), by(A, shop));
    gate.ask(ms(0), by(B, shop));
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
    for session in [A, B, C] {
        gate.ask(ms(0), by(session, shop));
    }
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
