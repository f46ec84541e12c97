//! Sentences about sessions.

mod doubts;

use super::*;

const TRX: u16 = status::IN_TRANSACTION | status::AUTOCOMMIT;
const IDLE: u16 = status::AUTOCOMMIT;

impl Session {
    fn passage_at(&self, command: &Command<'_>) -> Passage {
        self.passage(&self.look(command))
    }

    fn send(&mut self, command: &Command<'_>) {
        let seen = self.look(command);
        let passage = self.passage(&seen);
        self.sent(seen, passage);
    }
}

fn query(text: &str) -> Command<'_> {
    Command { code: 3, text: Some(text.as_bytes()), whole: true, statement: None }
}

fn other(code: u8) -> Command<'static> {
    Command { code, text: None, whole: true, statement: None }
}

fn ok(status: u16) -> Reply {
    Reply { status: Some(status), ..Reply::default() }
}

fn error(code: u16) -> Reply {
    Reply { error: Some(code), ..Reply::default() }
}

fn session() -> Session {
    Session::new(IDLE, false)
}

fn run(session: &mut Session, text: &str, reply: Reply) -> After {
    session.send(&query(text));
    session.replied(&reply)
}

/// A session that ran these texts with success, each answered with this status.
fn after(texts: &[(&str, u16)]) -> Session {
    let mut session = session();
    for (text, status) in texts {
        run(&mut session, text, ok(*status));
    }
    session
}

fn nothing(open: bool) -> After {
    After { ended: None, open, digest: 0, killed: false }
}

fn prepare(session: &mut Session, text: &'static str, number: u32) {
    session.send(&Command { code: 0x16, ..query(text) });
    let after = session.replied(&Reply { statement: Some(number), ..Reply::default() });
    assert_eq!(after.ended, None);
}

fn execute(number: u32) -> Command<'static> {
    Command { code: 0x17, statement: Some(number), ..other(0x17) }
}

#[test]
fn commands_that_never_need_a_permit_bypass_also_while_locks_are_held() {
    let held = after(&[("LOCK TABLES t WRITE", IDLE)]);
    // QUIT, INIT_DB, PROCESS_KILL, PING, CHANGE_USER, dumps, PREPARE, LONG_DATA, CLOSE, RESET, FETCH, RESET_CONNECTION.
    for code in [1, 2, 12, 14, 17, 18, 0x1e, 0x15, 0x16, 0x18, 0x19, 0x1a, 0x1c, 0x1f] {
        assert_eq!(held.passage_at(&other(code)), Passage::Bypass, "{code:#x}");
        assert_eq!(session().passage_at(&other(code)), Passage::Bypass, "{code:#x}");
    }
    assert_eq!(session().passage_at(&other(0x77)), Passage::Unqueued, "an unknown one");
    assert_eq!(session().passage_at(&other(4)), Passage::Queued, "a list of fields is work");
    let mut session = session();
    for command in [other(0x0e), query("UNLOCK TABLES"), query("COMMIT")] {
        session.send(&command);
        assert_eq!(session.replied(&ok(IDLE)).ended, None, "no completion");
    }
}

#[test]
fn an_administrator_never_needs_a_permit() {
    let mut session = Session::new(IDLE, true);
    assert_eq!(session.passage_at(&query("UPDATE t SET a = 1")), Passage::Bypass);
    assert_eq!(run(&mut session, "BEGIN", ok(TRX)), nothing(false));
}

#[test]
fn a_plain_statement_queues_and_is_a_transaction_of_its_own() {
    let mut session = session();
    assert_eq!(session.passage_at(&query("SELECT a FROM t")), Passage::Queued);
    let after = run(&mut session, "SELECT a FROM t", ok(IDLE));
    assert_eq!((after.ended, after.open), (Some(Outcome::Success), false));
    assert_ne!(after.digest, 0);
}

#[test]
fn a_statement_without_a_table_waits_for_nobody_and_is_no_transaction() {
    let mut session = session();
    for text in ["SELECT 1", "SELECT @@version_comment LIMIT 1", "SET NAMES utf8mb4", "USE shop"] {
        assert_eq!(session.passage_at(&query(text)), Passage::Bypass, "{text}");
        let after = run(&mut session, text, ok(IDLE));
        assert_eq!((after.ended, after.open), (None, false), "{text}");
    }
    session.send(&Command { code: 0x16, ..query("SELECT ?") });
    session.replied(&Reply { statement: Some(3), ..Reply::default() });
    assert_eq!(session.passage_at(&execute(3)), Passage::Bypass);
    run(&mut session, "BEGIN", ok(TRX));
    assert_eq!(
        session.passage_at(&query("SELECT 1")),
        Passage::Unqueued,
        "it runs in the transaction's place"
    );
    assert!(run(&mut session, "SELECT 1", ok(TRX)).open);
}

#[test]
fn pipelined_statements_complete_one_by_one_under_one_permit() {
    let mut session = session();
    session.send(&query("UPDATE t SET a = 1"));
    session.send(&other(0x0e));
    session.send(&query("UPDATE t SET a = 2"));
    let answers: Vec<(Option<Outcome>, bool)> =
        (0..3).map(|_| session.replied(&ok(IDLE))).map(|after| (after.ended, after.open)).collect();
    assert_eq!(answers, [(Some(Outcome::Success), true), (None, true), (Some(Outcome::Success), false)]);
}

#[test]
fn text_beyond_what_was_read_is_trusted_only_while_it_brings_one_result() {
    let long = Command { whole: false, ..query("INSERT INTO t VALUES (1),(2)") };
    for (many, held) in [(false, false), (true, true)] {
        let mut session = session();
        session.send(&long);
        session.replied(&Reply { many, ..ok(IDLE) });
        assert_eq!(session.hold().is_any(), held);
    }
}

#[test]
fn an_answer_that_nobody_asked_for_changes_nothing() {
    let mut session = after(&[("BEGIN", TRX)]);
    assert_eq!(session.replied(&error(1213)), nothing(true));
}

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
    assert_eq!(run(&mut session(), "SELECT a FROM t", error(1969)).ended, Some(Outcome::Overload));
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

#[test]
fn a_statement_is_tableless_or_only_reads_where_nothing_else_can_be_in_it() {
    for (text, tableless, reads) in [
        ("SELECT 1", true, true),
        ("select now(), @@version", true, true),
        ("SET NAMES utf8mb4", true, false),
        ("SET STATEMENT max_statement_time = 1 FOR UPDATE t SET a = 1", false, false),
        ("USE shop", true, false),
        ("SHOW STATUS LIKE 'x'", true, false),
        ("SET @a = (SELECT 1 FROM t)", false, false),
        ("SELECT f()", false, false),
        ("SELECT `f`()", false, false),
        ("SELECT 1; DELETE FROM t", false, false),
        ("SELECT a FROM t WHERE id = 1", false, true),
        ("SELECT COUNT(*) FROM t WHERE a IN (1, 2)", false, true),
        ("SELECT a FROM t FOR UPDATE", false, false),
        ("SELECT a FROM t LOCK IN SHARE MODE", false, false),
        ("SELECT a FROM t INTO OUTFILE 'x'", false, false),
        ("SELECT BENCHMARK(1000000000, 1)", false, false),
        ("SELECT GET_LOCK('a', 1)", false, false),
        ("UPDATE t SET a = 1", false, false),
    ] {
        let read = Statement::read(text.as_bytes(), true, true);
        assert_eq!((read.tableless, read.reads), (tableless, reads), "{text}");
    }
}
