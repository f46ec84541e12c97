//! What flags do not show: whether a failed command may have opened a transaction, and what the text alone claims to hold.

use super::*;

#[test]
fn a_statement_that_the_server_does_not_know_has_opened_nothing() {
    let mut session = session();
    for (number, error_code) in [(7, 1243), (LAST_PREPARED, 1243), (7, 1835)] {
        session.send(&execute(number));
        let after = session.replied(&error(error_code));
        assert_eq!((after.open, session.hold().is_any()), (false, false), "{number}, {error_code}");
    }
    session.send(&other(0x17));
    assert!(!session.replied(&error(1835)).open, "an EXECUTE without a number");
    run(&mut session, "SET autocommit=0", ok(0));
    session.send(&execute(7));
    assert!(!session.replied(&error(1243)).open, "without autocommit neither");
}

#[test]
fn what_may_be_known_to_the_server_may_have_opened_a_transaction_when_it_fails() {
    // By another error something ran, whatever it was.
    let mut unseen = session();
    unseen.send(&execute(7));
    assert!(unseen.replied(&error(1054)).open);
    // Known, and the error is that of a statement inside of it.
    let mut known = session();
    prepare(&mut known, "CALL p()", 7);
    known.send(&execute(7));
    assert!(known.replied(&error(1243)).open);
    // Its number was guessed, before the server had answered with it.
    let mut guessed = session();
    guessed.send(&Command { code: 0x16, ..query("CALL p()") });
    guessed.send(&execute(7));
    guessed.replied(&Reply { statement: Some(7), ..Reply::default() });
    assert!(guessed.replied(&error(1243)).open);
    // More were prepared than are remembered.
    let mut many = session();
    (0..=PREPARED_MAX as u32).for_each(|number| prepare(&mut many, "CALL p()", number));
    many.send(&execute(PREPARED_MAX as u32));
    assert!(many.replied(&error(1243)).open);
}

#[test]
fn a_text_that_was_hidden_and_not_prepared_has_done_nothing() {
    for (text, open) in [("PREPARE s FROM @text", false), ("EXECUTE IMMEDIATE @text", true)] {
        let after = run(&mut session(), text, error(1064));
        assert_eq!(after.open, open, "{text}");
    }
}

#[test]
fn what_every_client_can_have_for_nothing_is_not_solid() {
    for (text, status, solid) in [
        ("SELECT 1", IDLE, false),
        ("SELECT 1", TRX, true),
        ("DO GET_LOCK('a', 1)", IDLE, false),
        ("DO GET_LOCK('a', 1)", TRX, true),
        ("DO GET_LOCK('a', 1); LOCK TABLES t READ", IDLE, false),
        ("HANDLER t OPEN", IDLE, false),
        ("PREPARE s FROM @text", IDLE, false),
        ("LOCK TABLES t READ", IDLE, false),
        ("FLUSH TABLES WITH READ LOCK", IDLE, false),
        ("/*!999999 FLUSH TABLES WITH READ LOCK; */ SELECT 1", IDLE, false),
        ("BEGIN NOT ATOMIC IF 0 THEN SELECT 1; FLUSH TABLES WITH READ LOCK; END IF; END", IDLE, false),
        ("BACKUP LOCK t", IDLE, false),
        ("XA PREPARE 'x'", IDLE, false),
        ("XA START 'x'", TRX, true),
    ] {
        let session = after(&[(text, status)]);
        assert_eq!(session.hold().is_solid(), solid, "{text}");
    }
}
