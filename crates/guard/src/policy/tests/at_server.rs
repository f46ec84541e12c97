//! Which statement is at the server, and of which kind.

use super::*;

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
