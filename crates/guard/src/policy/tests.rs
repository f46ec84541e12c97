//! Sentences about sessions.

mod doubts;
mod hidden;

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

#[test]
fn commands_that_never_need_a_permit_bypass_also_while_locks_are_held() {
    let held = after(&[("LOCK TABLES t WRITE", IDLE)]);
    // QUIT, INIT_DB, PROCESS_KILL, PING, CHANGE_USER, dumps, PREPARE, LONG_DATA, CLOSE, RESET, FETCH, RESET_CONNECTION.
    for code in [1, 2, 12, 14, 17, 18, 0x1e, 0x15, 0x16, 0x18, 0x19, 0x1a, 0x1c, 0x1f] {
        assert_eq!(held.passage_at(&other(code)), Passage::Bypass, "{code:#x}");
        assert_eq!(session().passage_at(&other(code)), Passage::Bypass, "{code:#x}");
    }
}

#[test]
fn an_unknown_command_does_not_queue() {
    assert_eq!(session().passage_at(&other(0x77)), Passage::Unqueued);
}

#[test]
fn an_administrator_never_needs_a_permit() {
    let mut session = Session::new(IDLE, true);
    assert_eq!(session.passage_at(&query("UPDATE t SET a = 1")), Passage::Bypass);
    assert_eq!(
        run(&mut session, "BEGIN", ok(TRX)),
        After { ended: None, open: false, digest: 0, statement: 0 }
    );
}

#[test]
fn a_plain_statement_queues_and_is_a_transaction_of_its_own() {
    let mut session = session();
    assert_eq!(session.passage_at(&query("SELECT 1")), Passage::Queued);
    let after = run(&mut session, "SELECT 1", ok(IDLE));
    assert_eq!((after.ended, after.open), (Some(Outcome::Success), false));
    assert_ne!(after.digest, 0);
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
fn locks_are_held_until_they_are_given_back_in_the_form_that_fits() {
    for (take, keep, give) in [
        ("LOCK TABLES t READ", "SELECT 1 FROM t", "UNLOCK TABLES"),
        ("FLUSH TABLES WITH READ LOCK", "SELECT RELEASE_ALL_LOCKS()", "UNLOCK TABLES"),
        ("BACKUP STAGE START", "UNLOCK TABLES", "BACKUP STAGE END"),
        ("SELECT GET_LOCK('a', 1)", "SELECT RELEASE_LOCK('A')", "SELECT RELEASE_LOCK('a')"),
        ("SELECT GET_LOCK(?, 1)", "SELECT RELEASE_LOCK(?)", "DO RELEASE_ALL_LOCKS()"),
        ("HANDLER t OPEN", "UNLOCK TABLES", "HANDLER t CLOSE"),
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
fn a_named_lock_that_was_taken_twice_has_to_be_given_back_twice() {
    let mut session = after(&[("DO GET_LOCK('a',1)", IDLE), ("DO GET_LOCK('a',1)", IDLE)]);
    run(&mut session, "DO RELEASE_LOCK('a')", ok(IDLE));
    assert!(session.hold().is_any());
    run(&mut session, "DO RELEASE_LOCK('a')", ok(IDLE));
    assert!(!session.hold().is_any());
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
fn locks_that_were_not_granted_are_not_held() {
    for (text, code) in [("LOCK TABLES nosuch READ", 1146), ("SELECT GET_LOCK('a', 1)", 1317)] {
        let mut session = session();
        run(&mut session, text, error(code));
        assert!(!session.hold().is_any(), "{text}");
    }
}

#[test]
fn a_failed_release_releases_nothing() {
    let mut session = after(&[("LOCK TABLES t READ", IDLE)]);
    run(&mut session, "UNLOCK TABLES", error(1317));
    assert!(session.hold().is_any());
}

#[test]
fn begin_ends_table_locks_but_not_the_global_read_lock() {
    let tables = after(&[("LOCK TABLES t READ", IDLE), ("BEGIN", TRX), ("COMMIT", IDLE)]);
    assert!(!tables.hold().is_any());
    let global = after(&[("FLUSH TABLES WITH READ LOCK", IDLE), ("BEGIN", TRX), ("COMMIT", IDLE)]);
    assert_eq!(global.hold().to_string(), "global read lock");
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

fn prepare(session: &mut Session, text: &'static str, number: u32) {
    session.send(&Command { code: 0x16, ..query(text) });
    let after = session.replied(&Reply { statement: Some(number), ..Reply::default() });
    assert_eq!(after.ended, None);
}

fn execute(number: u32) -> Command<'static> {
    Command { code: 0x17, statement: Some(number), ..other(0x17) }
}

#[test]
fn the_text_at_prepare_decides_at_execute() {
    let mut session = session();
    prepare(&mut session, "SELECT GET_LOCK(?, 5)", 7);
    assert!(!session.hold().is_any());
    assert_eq!(session.passage_at(&execute(7)), Passage::Queued);
    session.send(&execute(7));
    session.replied(&ok(IDLE));
    assert_eq!(session.hold().to_string(), "named locks");
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
fn a_bypassing_command_is_no_completion() {
    let mut session = session();
    for command in [other(0x0e), query("UNLOCK TABLES"), query("COMMIT")] {
        session.send(&command);
        assert_eq!(session.replied(&ok(IDLE)).ended, None);
    }
}

#[test]
fn a_commit_that_begins_the_next_transaction_by_itself_needs_a_permit_after_all() {
    let mut session = session();
    assert!(run(&mut session, "COMMIT AND CHAIN", ok(TRX)).open);
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
fn an_answer_that_nobody_asked_for_changes_nothing() {
    let mut session = after(&[("BEGIN", TRX)]);
    assert_eq!(session.replied(&error(1213)), After { ended: None, open: true, digest: 0, statement: 0 });
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
    let digest = |text: &str| Statement::read(text.as_bytes(), true, true).digest;
    let sleeper = AtServer { digest: digest("SELECT SLEEP(60)"), idles: true, single: true };
    assert_eq!(session.at_server(), Some(sleeper));
    assert_eq!(session.replied(&ok(IDLE)).statement, sleeper.digest);
    let reader = AtServer { digest: digest("SELECT a FROM t"), idles: false, single: true };
    assert_eq!(session.at_server(), Some(reader));
    assert_eq!(session.replied(&error(1969)).statement, reader.digest);
    assert_eq!(session.at_server(), None);
}

#[test]
fn statements_without_a_permit_are_of_no_kind() {
    let mut session = session();
    session.send(&Command { code: 0x16, ..query("SELECT 1") });
    assert_eq!(session.at_server(), None);
    assert_eq!(session.replied(&Reply { statement: Some(1), ..Reply::default() }).statement, 0);
    assert_eq!(run(&mut session, "COMMIT", ok(IDLE)).statement, 0);
    let mut administrator = Session::new(IDLE, true);
    administrator.send(&query("SELECT SLEEP(60)"));
    assert_eq!(administrator.at_server(), None);
    assert_eq!(administrator.replied(&ok(IDLE)).statement, 0);
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
fn only_a_query_that_sleeps_and_nothing_else_idles() {
    for (text, idles) in [
        ("SELECT SLEEP(5)", true),
        ("DO SLEEP(5)", true),
        ("SET @a = SLEEP(5)", true),
        ("EXECUTE s USING SLEEP(0)", false),
        ("UPDATE t SET b = CONCAT(b, IF(SLEEP(0), 'y', 'z'))", false),
        ("LOAD DATA INFILE 'x' INTO TABLE t (a) SET b = SLEEP(0)", false),
    ] {
        assert_eq!(Statement::read(text.as_bytes(), true, true).idles, idles, "{text}");
    }
}
