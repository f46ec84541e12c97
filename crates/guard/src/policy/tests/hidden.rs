//! What a text or an error hides.

use super::*;

#[test]
fn an_error_leaves_a_doubt_and_never_a_pass_without_bound() {
    for text in ["LOCK TABLES a READ; LOCK TABLES a READ", "HANDLER a OPEN; HANDLER a OPEN; XA START 'x'"] {
        let mut session = session();
        run(&mut session, text, error(1046));
        assert!(session.hold().is_any() && !session.hold().is_solid(), "{text}: {:?}", session.hold());
    }
    let mut session = session();
    run(&mut session, "BEGIN; COMMIT; SELECT 1", error(1064));
    assert!(!session.hold().is_any(), "nothing of it is taken");
}

#[test]
fn what_begins_behind_what_is_read_is_a_doubt() {
    let mut session = session();
    let head = "/*".to_owned() + &"x".repeat(1_000);
    session.send(&Command { whole: false, ..query(&head) });
    session.replied(&ok(IDLE));
    assert!(session.hold().is_any(), "it may have locked tables");
}

#[test]
fn a_column_called_event_is_no_event() {
    for text in [
        "CREATE TEMPORARY TABLE e (event INT); LOCK TABLES l WRITE",
        "CREATE DEFINER = event VIEW v AS SELECT 1; LOCK TABLES l WRITE",
        "CREATE TABLE event (a INT); LOCK TABLES l WRITE",
    ] {
        let mut session = session();
        session.send(&query(text));
        session.replied(&Reply { many: true, ..ok(IDLE) });
        assert!(session.hold().is_any(), "{text}");
    }
    let mut session = session();
    run(&mut session, "CREATE DEFINER = a PROCEDURE p() LOCK TABLES l WRITE", ok(IDLE));
    assert!(!session.hold().is_any(), "a body does nothing now");
    session.send(&query("CREATE PROCEDURE p() SELECT 1; LOCK TABLES l WRITE"));
    session.replied(&Reply { many: true, ..ok(IDLE) });
    assert!(session.hold().is_any(), "what came behind it did");
}

#[test]
fn a_text_of_several_statements_is_not_done_when_its_first_result_is_written() {
    for (text, single) in
        [("SELECT 1", true), ("SELECT 1;", true), ("SELECT 1; SELECT 2", false), ("CALL p()", false)]
    {
        let mut session = session();
        session.send(&query(text));
        assert_eq!(session.at_server().map(|at| at.single), Some(single), "{text}");
    }
}
