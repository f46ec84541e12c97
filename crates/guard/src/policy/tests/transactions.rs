//! When a transaction begins and ends, and how.

use super::*;

#[test]
fn nothing_queues_in_an_open_transaction_and_commit_completes_it() {
    let mut session = session();
    let begun = run(&mut session, "BEGIN", ok(TRX));
    assert_eq!((begun.ended, begun.open), (None, true));
    assert_eq!(session.passage_at(&query("UPDATE t SET a = 1")), Passage::Unqueued);
    assert_eq!(run(&mut session, "UPDATE t SET a = 1", ok(TRX)).ended, None);
    let done = run(&mut session, "COMMIT", ok(IDLE));
    assert_eq!((done.ended, done.open), (Some(Outcome::Success), false));
}

#[test]
fn without_autocommit_a_single_select_opens_a_transaction() {
    let mut session = after(&[("SET autocommit=0", 0)]);
    assert_eq!(session.passage_at(&query("SELECT * FROM t")), Passage::Queued);
    let after = run(&mut session, "SELECT * FROM t", ok(status::IN_TRANSACTION));
    assert_eq!((after.ended, after.open), (None, true));
    assert_eq!(session.hold().to_string(), "open transaction");
}

#[test]
fn a_deadlock_ends_the_transaction_though_no_flag_says_so() {
    let mut session = after(&[("BEGIN", TRX)]);
    let after = run(&mut session, "UPDATE t SET a = 1", error(1213));
    assert_eq!((after.ended, after.open), (Some(Outcome::RolledBack), false));
}

#[test]
fn a_lock_wait_time_out_leaves_the_transaction_open_and_colours_its_rollback() {
    let mut session = after(&[("BEGIN", TRX)]);
    let after = run(&mut session, "UPDATE t SET a = 1", error(1205));
    assert_eq!((after.ended, after.open), (None, true));
    assert_eq!(run(&mut session, "ROLLBACK", ok(IDLE)).ended, Some(Outcome::RolledBack));
}

#[test]
fn a_transaction_that_commits_after_an_error_has_succeeded() {
    let mut session = after(&[("BEGIN", TRX)]);
    run(&mut session, "UPDATE t SET a = 1", error(1205));
    assert_eq!(run(&mut session, "COMMIT", ok(IDLE)).ended, Some(Outcome::Success));
}

#[test]
fn a_rollback_that_the_client_wanted_is_no_failure() {
    let mut session = after(&[("BEGIN", TRX), ("SELECT 1", TRX)]);
    assert_eq!(run(&mut session, "ROLLBACK", ok(IDLE)).ended, Some(Outcome::Success));
}

#[test]
fn statements_that_fail_alone_tell_nothing_of_the_server_unless_it_was_overload() {
    for (code, outcome) in
        [(1064, Outcome::Ignored), (1205, Outcome::RolledBack), (1213, Outcome::RolledBack)]
    {
        let after = run(&mut session(), "UPDATE t SET a = 1", error(code));
        assert_eq!((after.ended, after.open), (Some(outcome), false), "{code}");
    }
    assert_eq!(run(&mut session(), "SELECT 1", error(1969)).ended, Some(Outcome::Overload));
}

#[test]
fn a_failure_without_autocommit_may_have_opened_a_transaction() {
    let mut session = after(&[("SET autocommit=0", 0)]);
    assert!(run(&mut session, "UPDATE t SET a = 1", error(1205)).open);
    assert!(!run(&mut session, "COMMIT", ok(0)).open);
}

#[test]
fn a_procedure_that_fails_may_have_opened_a_transaction() {
    let mut session = session();
    assert!(run(&mut session, "CALL p()", error(1054)).open);
    assert_eq!(session.passage_at(&query("SELECT 1")), Passage::Unqueued);
    assert!(!run(&mut session, "SELECT 1", ok(IDLE)).open);
}

#[test]
fn commit_and_chain_completes_and_goes_on() {
    let mut session = after(&[("BEGIN", TRX)]);
    let chained = run(&mut session, "COMMIT AND CHAIN", ok(TRX));
    assert_eq!((chained.ended, chained.open), (Some(Outcome::Success), true));
}

#[test]
fn a_begin_inside_a_transaction_completes_the_open_one() {
    let mut session = after(&[("BEGIN", TRX)]);
    let after = run(&mut session, "START TRANSACTION", ok(TRX));
    assert_eq!((after.ended, after.open), (Some(Outcome::Success), true));
}

#[test]
fn definitions_commit_and_the_flag_shows_it() {
    let mut session = after(&[("BEGIN", TRX)]);
    let after = run(&mut session, "CREATE TABLE u (a INT)", ok(IDLE));
    assert_eq!((after.ended, after.open), (Some(Outcome::Success), false));
}

#[test]
fn a_failed_text_of_many_statements_is_in_the_state_of_its_last_flag() {
    let mut session = session();
    let reply = Reply { status: Some(TRX), error: Some(1054), many: true, ..Reply::default() };
    let after = run(&mut session, "BEGIN; UPDATE t SET a = 1; SELECT nosuch", reply);
    assert_eq!((after.ended, after.open), (None, true));
}

#[test]
fn a_commit_that_begins_the_next_transaction_by_itself_needs_a_permit_after_all() {
    let mut session = session();
    assert!(run(&mut session, "COMMIT AND CHAIN", ok(TRX)).open);
}
