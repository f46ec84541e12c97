//! What flags do not show: whether a failed command may have opened a transaction, what the text alone claims to hold, what
//! it hides, and which statement is at the server.

use super::*;
use proptest::prelude::*;

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
        [("DO f()", true), ("DO f();", true), ("SELECT 1; SELECT 2", false), ("CALL p()", false)]
    {
        let mut session = session();
        session.send(&query(text));
        assert_eq!(session.at_server().map(|at| at.single), Some(single), "{text}");
    }
}

#[test]
fn transactions_of_the_same_statements_share_a_digest() {
    let of = |first: &str, second: &str| {
        let mut session = after(&[("BEGIN", TRX)]);
        run(&mut session, first, ok(TRX));
        run(&mut session, second, ok(TRX));
        run(&mut session, "COMMIT", ok(IDLE)).digest
    };
    let one = of("SELECT a FROM t WHERE b = 1", "UPDATE t SET a = 1");
    assert_eq!(one, of("SELECT a FROM t WHERE b = 2", "UPDATE t SET a = 5"));
    assert_ne!(one, of("SELECT a FROM u WHERE b = 2", "UPDATE t SET a = 5"));
}

#[test]
fn the_oldest_statement_under_a_permit_is_the_one_at_the_server() {
    let mut session = session();
    assert_eq!(session.at_server(), None);
    session.send(&other(0x0e));
    assert_eq!(session.at_server(), None, "a ping runs under no permit");
    session.send(&query("SELECT SLEEP(60)"));
    session.send(&query("SELECT a FROM t"));
    session.replied(&ok(IDLE));
    assert_eq!(session.at_server().map(|at| (at.idles, at.single)), Some((true, true)));
    session.replied(&ok(IDLE));
    assert_eq!(session.at_server().map(|at| (at.idles, at.single)), Some((false, true)));
    session.replied(&error(1969));
    assert_eq!(session.at_server(), None);
}

#[test]
fn nothing_is_at_the_server_where_nothing_needs_a_permit() {
    let mut session = session();
    session.send(&Command { code: 0x16, ..query("SELECT 1") });
    assert_eq!(session.at_server(), None);
    let mut administrator = Session::new(IDLE, true);
    administrator.send(&query("SELECT SLEEP(60)"));
    assert_eq!(administrator.at_server(), None);
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in prop::collection::vec(any::<u8>(), 0..200), whole: bool, escapes: bool) {
        Statement::read(&text, whole, escapes);
    }

    #[test]
    fn comments_and_blanks_change_no_classification(index in 0..6_usize, blanks in prop::collection::vec(0..5_usize, 3)) {
        let words = [
            ["LOCK", "TABLES", "t WRITE"], ["FLUSH", "TABLES", "WITH READ LOCK"], ["XA", "COMMIT", "'x'"],
            ["SELECT", "GET_LOCK", "('a',1)"], ["BACKUP", "STAGE", "END"], ["START", "TRANSACTION", ""],
        ][index];
        let blank = [" ", "/* c */", "\n-- c\n", "\t# c\n", " /*+ h */ "];
        let spread: String = words.iter().zip(&blanks).map(|(word, b)| format!("{}{word}", blank[*b])).collect();
        let plain = Statement::read(words.join(" ").as_bytes(), true, true);
        prop_assert_eq!(Statement::read(spread.as_bytes(), true, true), plain, "{}", spread);
    }

    #[test]
    fn whatever_passes_without_a_permit_calls_nothing_but_releases(verb in 0..6_usize, pieces in prop::collection::vec(0..20_usize, 0..8)) {
        const VERBS: [&str; 6] =
            ["SELECT RELEASE_LOCK('a')", "DO RELEASE_LOCK(", "SELECT", "KILL", "COMMIT", "XA COMMIT 'a'"];
        const PIECES: [&str; 20] = [
            "(", ")", ",", ";", "RELEASE_LOCK", "RELEASE_ALL_LOCKS()", "SLEEP", "'a'", "17", "?", "@a", ":=", ".",
            "`x`", "AS", "FROM t", "-", "/*! ", "SELECT", "+",
        ];
        let words: Vec<&str> = pieces.iter().map(|index| PIECES[*index]).collect();
        let text = format!("{} {}", VERBS[verb], words.join(" "));
        if Statement::read(text.as_bytes(), true, true).bypass {
            for work in ["SLEEP (", ":=", ".", "+", "-", "/*!", "( SELECT", "( (", "( RELEASE", "FROM t ,"] {
                prop_assert!(!text.contains(work), "{text}");
            }
        }
    }
}
