//! Statements, what they do, and whether they go on without a permit.

use super::*;

/// Text, acts by name, bypass.
const TABLE: &[(&str, &str, bool)] = &[
    ("SELECT 1", "", false),
    ("BEGIN", "Begin", false),
    ("begin work", "Begin", false),
    ("START TRANSACTION READ ONLY", "Begin", false),
    ("START SLAVE", "", true),
    ("BEGIN NOT ATOMIC SELECT 1; END", "Call", false),
    ("  /* x */ -- y\n COMMIT", "Commit", true),
    ("COMMIT AND CHAIN", "Commit", true),
    ("COMMIT; BEGIN", "Commit Begin", false),
    ("ROLLBACK", "Rollback", true),
    ("ROLLBACK WORK TO SAVEPOINT s", "", false),
    ("ROLLBACK TO s", "", false),
    ("LOCK TABLES t WRITE", "LockTables", false),
    ("LOCK TABLES backup READ", "LockTables", false),
    ("/*!40000 LOCK TABLES t READ */", "LockTables", false),
    ("/*M!100000 LOCK TABLE t READ */;", "LockTables", false),
    ("UNLOCK TABLES", "UnlockTables", true),
    ("FLUSH TABLES", "", false),
    ("FLUSH TABLES WITH READ LOCK", "LockGlobal", false),
    ("FLUSH /*!40101 LOCAL */ TABLES WITH READ LOCK", "LockGlobal", false),
    ("FLUSH NO_WRITE_TO_BINLOG TABLES WITH READ LOCK AND DISABLE CHECKPOINT", "LockGlobal", false),
    ("FLUSH TABLES t, u WITH READ LOCK", "LockTables", false),
    ("FLUSH TABLES t FOR EXPORT", "LockTables", false),
    ("BACKUP STAGE START", "LockBackup", false),
    ("BACKUP STAGE BLOCK_COMMIT", "LockBackup", false),
    ("BACKUP STAGE END", "UnlockBackup", true),
    ("BACKUP LOCK t", "LockBackup", false),
    ("BACKUP UNLOCK", "UnlockBackup", true),
    ("LOCK INSTANCE FOR BACKUP", "LockBackup", false),
    ("UNLOCK INSTANCE", "UnlockBackup", true),
    ("LOCK TABLES FOR BACKUP", "LockTables", false),
    ("HANDLER t OPEN", "OpenHandler", false),
    ("HANDLER t READ FIRST", "", false),
    ("HANDLER t CLOSE", "CloseHandler", false),
    ("SELECT GET_LOCK('a', 10)", "LockName", false),
    ("select get_lock ( 'A' , 10 ) x", "LockName", false),
    ("DO GET_LOCK(\"a\",1)", "LockName", false),
    ("SELECT GET_LOCK(?, 10)", "LockSome", false),
    ("SELECT GET_LOCK(CONCAT('a', id), 1) FROM t", "LockSome", false),
    ("SELECT GET_LOCK('a', 1) FROM t", "LockSome", false),
    ("SELECT 'GET_LOCK(1,1)', `get_lock` FROM t", "", false),
    ("SELECT RELEASE_LOCK('a')", "UnlockName", true),
    ("DO RELEASE_LOCK(@x)", "UnlockSome", true),
    ("SELECT RELEASE_ALL_LOCKS()", "UnlockNames", true),
    ("SELECT RELEASE_LOCK('a') FROM big", "UnlockName", false),
    ("SELECT IS_FREE_LOCK('a')", "", false),
    ("XA START 'x'", "XaStart", false),
    ("XA BEGIN 'x' JOIN", "XaStart", false),
    ("XA END 'x'", "", false),
    ("XA PREPARE 'x'", "XaPrepare", false),
    ("XA COMMIT 'x' ONE PHASE", "XaEnd", true),
    ("XA ROLLBACK 'x'", "XaEnd", true),
    ("XA RECOVER", "", true),
    ("KILL QUERY 17", "", true),
    ("KILL 17; DELETE FROM t", "", false),
    ("CALL p(1)", "Call", false),
    ("PREPARE s FROM 'SELECT 1'", "", false),
    ("PREPARE s FROM 'SELECT GET_LOCK(\"a\",1)'", "Doubt", false),
    ("PREPARE s FROM @text", "Doubt", false),
    ("EXECUTE s USING @a", "", false),
    ("EXECUTE IMMEDIATE 'LOCK TABLES t READ'", "Doubt", false),
    ("CREATE PROCEDURE p() BEGIN START TRANSACTION; DO GET_LOCK('a',1); COMMIT; END", "", false),
    ("INSERT INTO t VALUES ('; LOCK TABLES t WRITE')", "", false),
    ("SELECT 1; LOCK TABLES t WRITE", "LockTables", false),
    ("(SELECT 1) UNION (SELECT 2)", "", false),
    ("SET autocommit=0", "", false),
    ("", "", false),
    (";;", "", false),
];

fn names(acts: &[Act]) -> String {
    let name = |act: &Act| format!("{act:?}").split('(').next().unwrap_or_default().to_owned();
    acts.iter().map(name).collect::<Vec<_>>().join(" ")
}

#[test]
fn statements_are_classified() {
    for (text, acts, bypass) in TABLE {
        let read = Statement::read(text.as_bytes(), true, true);
        assert_eq!((names(&read.acts).as_str(), read.bypass), (*acts, *bypass), "{text}");
    }
}

#[test]
fn names_of_locks_are_told_apart_by_case_as_mariadb_does() {
    let named = |text: &str| Statement::read(text.as_bytes(), true, true).acts;
    assert_eq!(named("DO GET_LOCK('a', 1)"), named("SELECT GET_LOCK(\"a\", 2)"));
    assert_ne!(named("DO GET_LOCK('a', 1)"), named("DO GET_LOCK('A', 1)"));
}
