//! Sentences about sessions.

mod at_server;
mod doubts;
mod hidden;
mod locks;
mod prepared;
mod transactions;

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
    After { ended: None, open, digest: 0, statement: 0, killed: false }
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
    assert_eq!(session.passage_at(&query("SELECT 1")), Passage::Queued);
    let after = run(&mut session, "SELECT 1", ok(IDLE));
    assert_eq!((after.ended, after.open), (Some(Outcome::Success), false));
    assert_ne!(after.digest, 0);
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
