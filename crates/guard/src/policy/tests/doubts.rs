//! What flags do not show: whether a failed command may have opened a transaction, and what the text alone claims to hold.

use super::*;

#[test]
fn a_prepared_statement_that_fails_may_have_opened_a_transaction() {
    let mut unseen = session();
    unseen.send(&execute(7));
    assert!(unseen.replied(&error(1054)).open);
    // Known, and the error is that of a statement inside of it.
    let mut known = session();
    prepare(&mut known, "CALL p()", 7);
    known.send(&execute(7));
    assert!(known.replied(&error(1243)).open);
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
