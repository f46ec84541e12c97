//! Reads that are shorter than a wake-up, in a session.

use super::*;

const READ: &str = "SELECT a FROM t WHERE k = 1";

/// A session whose reads were answered at once so far, at a gate whose only place somebody else has.
fn beside_a_full_gate() -> Harness {
    let mut harness = logged_in(0);
    (0..20).for_each(|_| runs(&mut harness, READ, 0, AT_REST));
    harness.toggle_other();
    harness.forget();
    harness
}

#[test]
fn a_trifle_waits_for_nobody_and_what_is_said_behind_it_asks_for_itself() {
    let mut harness = beside_a_full_gate();
    says(&mut harness, READ);
    assert_eq!((harness.standing(), places(&harness)), (Some(Standing::Free), ([1, 0], 0)));
    let passed = harness.passed;
    says(&mut harness, "BEGIN");
    assert_eq!(
        (harness.standing(), harness.passed),
        (Some(Standing::Free), passed),
        "it would have no place"
    );
    harness.says_packet(Side::Server, 1, &[0, 0, 0, AT_REST, 0, 0, 0]);
    assert_eq!(harness.standing(), Some(Standing::Waiting));
    harness.drop_session();
}

#[test]
fn a_read_that_begins_a_transaction_is_no_trifle() {
    let mut harness = logged_in(0);
    (0..20).for_each(|_| runs(&mut harness, READ, 0, AT_REST));
    // Without autocommit.
    runs(&mut harness, "SET autocommit = 0", 0, 0);
    harness.toggle_other();
    says(&mut harness, READ);
    assert_eq!(harness.standing(), Some(Standing::Waiting));
    harness.drop_session();
}

#[test]
fn a_trifle_that_has_opened_a_transaction_takes_a_place_and_one_that_lasts_a_long_one() {
    let mut harness = beside_a_full_gate();
    runs(&mut harness, READ, 0, IN_TRANSACTION);
    assert_eq!((harness.standing(), places(&harness)), (Some(Standing::Held), ([2, 0], 0)));
    runs(&mut harness, "COMMIT", 0, AT_REST);
    says(&mut harness, READ);
    harness.waits(Nanos::from_secs(60));
    assert_eq!((harness.standing(), places(&harness)), (Some(Standing::Held), ([1, 1], 0)));
    harness.drop_session();
}
