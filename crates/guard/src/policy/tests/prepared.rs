//! Statements that are prepared.

use super::*;

#[test]
fn the_text_at_prepare_decides_at_execute() {
    let mut session = session();
    prepare(&mut session, "SELECT GET_LOCK(?, 5)", 7);
    assert!(!session.hold().is_any());
    assert_eq!(session.passage_at(&execute(7)), Passage::Queued);
    session.send(&execute(7));
    session.replied(&ok(IDLE));
    assert!(session.hold().is_any());
    prepare(&mut session, "SELECT RELEASE_ALL_LOCKS()", 8);
    assert_eq!(session.passage_at(&execute(8)), Passage::Bypass);
}

#[test]
fn a_statement_that_was_closed_or_never_seen_may_do_anything() {
    let mut session = session();
    prepare(&mut session, "SELECT 1", 7);
    session.send(&Command { statement: Some(7), ..other(0x19) });
    assert_eq!(session.in_flight(), 0);
    for number in [7, 99] {
        assert_eq!(session.passage_at(&execute(number)), Passage::Unqueued);
    }
}

#[test]
fn the_statement_prepared_last_can_be_run_before_its_number_is_known() {
    let mut session = session();
    session.send(&Command { code: 0x16, ..query("SELECT GET_LOCK('a', 1)") });
    session.send(&execute(LAST_PREPARED));
    session.replied(&Reply { statement: Some(3), ..Reply::default() });
    session.replied(&ok(IDLE));
    assert!(session.hold().is_any());
}

#[test]
fn a_preparation_that_may_compute_something_needs_a_permit() {
    let session = Session::new(IDLE, false);
    let passage = |text: &str, whole| {
        let command = Command { code: 0x16, text: Some(text.as_bytes()), whole, statement: None };
        session.passage(&session.look(&command))
    };
    assert_eq!(passage("SELECT ?", true), Passage::Bypass);
    assert_eq!(passage("SELECT a FROM t WHERE b = ?", true), Passage::Queued, "it may be a view");
    assert_eq!(passage("SELECT ROUND(1.5, BENCHMARK(20000000, SHA1('a')))", true), Passage::Queued);
    assert_eq!(passage("SELECT a FROM t", false), Passage::Queued, "what was not read may compute");
}
