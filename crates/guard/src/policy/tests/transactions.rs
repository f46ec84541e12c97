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
    assert!(session.hold().transaction);
    let mut failed = self::after(&[("SET autocommit=0", 0)]);
    assert!(run(&mut failed, "UPDATE t SET a = 1", error(1205)).open);
    assert!(!run(&mut failed, "COMMIT", ok(0)).open);
    let chained = run(&mut self::session(), "COMMIT AND CHAIN", ok(TRX));
    assert!(chained.open, "it begins the next one by itself");
}

#[test]
fn an_open_transaction_ends_as_the_answers_say() {
    let (success, rolled_back) = (Some(Outcome::Success), Some(Outcome::RolledBack));
    let waited = ("UPDATE t SET a = 1", error(1205), None, true);
    for (why, steps) in [
        ("a deadlock, though no flag says so", vec![("SELECT 1", error(1213), rolled_back, false)]),
        ("a lock wait time-out", vec![waited, ("ROLLBACK", ok(IDLE), rolled_back, false)]),
        ("a commit after an error", vec![waited, ("COMMIT", ok(IDLE), success, false)]),
        ("a rollback that the client wanted", vec![("ROLLBACK", ok(IDLE), success, false)]),
        ("a chain", vec![("COMMIT AND CHAIN", ok(TRX), success, true)]),
        ("another begin", vec![("START TRANSACTION", ok(TRX), success, true)]),
        ("a definition", vec![("CREATE TABLE u (a INT)", ok(IDLE), success, false)]),
    ] {
        let mut session = after(&[("BEGIN", TRX)]);
        for (text, reply, ended, open) in steps {
            let after = run(&mut session, text, reply);
            assert_eq!((after.ended, after.open), (ended, open), "{why}: {text}");
        }
    }
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
fn a_procedure_that_fails_may_have_opened_a_transaction() {
    let mut session = session();
    assert!(run(&mut session, "CALL p()", error(1054)).open);
    assert_eq!(session.passage_at(&query("SELECT 1")), Passage::Unqueued);
    assert!(!run(&mut session, "SELECT 1", ok(IDLE)).open);
}

#[test]
fn a_failed_text_of_many_statements_is_in_the_state_of_its_last_flag() {
    let mut session = session();
    let reply = Reply { status: Some(TRX), error: Some(1054), many: true, ..Reply::default() };
    let after = run(&mut session, "BEGIN; UPDATE t SET a = 1; SELECT nosuch", reply);
    assert_eq!((after.ended, after.open), (None, true));
}
