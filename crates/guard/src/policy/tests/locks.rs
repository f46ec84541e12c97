//! What a session holds until it gives it back.

use super::*;

#[test]
fn locks_are_held_until_they_are_given_back_in_the_form_that_fits() {
    for (take, keep, give) in [
        ("LOCK TABLES t READ", "SELECT 1 FROM t", "UNLOCK TABLES"),
        ("FLUSH TABLES WITH READ LOCK", "SELECT RELEASE_ALL_LOCKS()", "UNLOCK TABLES"),
        ("BACKUP STAGE START", "UNLOCK TABLES", "BACKUP STAGE END"),
        ("SELECT GET_LOCK('a', 1)", "SELECT RELEASE_LOCK('A')", "SELECT RELEASE_LOCK('a')"),
        ("SELECT GET_LOCK(?, 1)", "SELECT RELEASE_LOCK(?)", "DO RELEASE_ALL_LOCKS()"),
        ("XA PREPARE 'x'", "SELECT 1", "XA COMMIT 'x'"),
    ] {
        let mut session = session();
        for (text, held) in [(take, true), (keep, true), (give, false)] {
            run(&mut session, text, ok(IDLE));
            assert_eq!(session.hold().is_any(), held, "{take}: after {text}");
            let expected = if held { Passage::Unqueued } else { Passage::Queued };
            assert_eq!(session.passage_at(&query("UPDATE t SET a = 1")), expected, "{take}: after {text}");
        }
    }
}

#[test]
fn what_is_held_follows_from_the_answers() {
    let (tables, global) = ("LOCK TABLES t READ", "FLUSH TABLES WITH READ LOCK");
    let (take, give) = ("DO GET_LOCK('a',1)", "DO RELEASE_LOCK('a')");
    for (steps, held) in [
        (vec![(tables, error(1146))], false),
        (vec![(take, error(1317))], false),
        (vec![(tables, ok(IDLE)), ("UNLOCK TABLES", error(1317))], true),
        (vec![(take, ok(IDLE)), (take, ok(IDLE)), (give, ok(IDLE))], true),
        (vec![(take, ok(IDLE)), (take, ok(IDLE)), (give, ok(IDLE)), (give, ok(IDLE))], false),
        (vec![(tables, ok(IDLE)), ("BEGIN", ok(TRX)), ("COMMIT", ok(IDLE))], false),
        (vec![(global, ok(IDLE)), ("BEGIN", ok(TRX)), ("COMMIT", ok(IDLE))], true),
    ] {
        let mut session = session();
        for (text, reply) in &steps {
            session.send(&query(text));
            session.replied(reply);
        }
        assert_eq!(session.hold().is_any(), held, "{steps:?}");
    }
}

#[test]
fn many_named_locks_cost_no_memory_without_bound() {
    let mut session = session();
    for number in 0..1_000 {
        run(&mut session, &format!("DO GET_LOCK('n{number}', 0)"), ok(IDLE));
    }
    assert!(session.hold.names.len() <= 16 && session.hold().is_any());
}

#[test]
fn a_deadlock_inside_an_xa_transaction_does_not_end_it() {
    let mut session = after(&[("XA START 'x'", TRX)]);
    assert!(run(&mut session, "UPDATE t SET a = 1", error(1213)).open);
    let ended = run(&mut session, "XA ROLLBACK 'x'", ok(IDLE));
    assert!(ended.ended.is_some() && !ended.open);
}

#[test]
fn a_reset_gives_back_all_locks_and_the_transaction() {
    let mut session = after(&[("DO GET_LOCK('a',1)", IDLE), ("BEGIN", TRX)]);
    session.send(&other(0x1f));
    let after = session.replied(&ok(IDLE));
    assert_eq!((after.ended, after.open), (Some(Outcome::Success), false));
    assert!(!session.hold().is_any());
}
