//! Statements, what they do, and whether they go on without a permit.

use super::*;

/// Text, acts by name, bypass.
const TABLE: &[(&str, &str, bool)] = &[
    ("SELECT 1", "", false),
    ("BEGIN", "Begin", false),
    ("begin work", "Begin", false),
    ("START TRANSACTION READ ONLY", "Begin", false),
    ("START SLAVE", "", false),
    ("BEGIN NOT ATOMIC SELECT 1; END", "Call", false),
    ("  /* x */ -- y\n COMMIT", "Commit", true),
    ("COMMIT AND CHAIN", "Commit", false),
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
    ("HANDLER t CLOSE", "", false),
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
    ("SELECT RELEASE_LOCK('a') FROM big", "UnlockSome", false),
    ("SELECT RELEASE_LOCK('a') FROM DUAL", "UnlockName", false),
    ("SELECT RELEASE_ALL_LOCKS() FROM none", "UnlockSome", false),
    ("SELECT `get_lock` ('a', 1)", "LockName", false),
    ("SELECT \"GET_LOCK\"('a', 1)", "LockName", false),
    ("SELECT IS_FREE_LOCK('a')", "", false),
    ("XA START 'x'", "XaStart", false),
    ("XA BEGIN 'x' JOIN", "XaStart", false),
    ("XA END 'x'", "", false),
    ("XA PREPARE 'x'", "XaStart", false),
    ("XA COMMIT 'x' ONE PHASE", "XaEnd", true),
    ("XA ROLLBACK 'x'", "XaEnd", true),
    ("XA RECOVER", "", true),
    ("KILL QUERY 17", "", true),
    ("KILL 17; DELETE FROM t", "", false),
    ("CALL p(1)", "Call", false),
    ("PREPARE s FROM 'SELECT 1'", "", false),
    ("PREPARE s FROM 'SELECT GET_LOCK(\"a\",1)'", "Hidden", false),
    ("PREPARE s FROM @text", "Hidden", false),
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

/// Work that tries to pass for a release.
const WORK: &[&str] = &[
    "UPDATE t SET a = 1 WHERE RELEASE_ALL_LOCKS() = 0",
    "DELETE FROM t WHERE RELEASE_LOCK('a') IS NULL",
    "INSERT INTO t VALUES (RELEASE_ALL_LOCKS())",
    "CREATE TABLE u AS SELECT RELEASE_LOCK('a')",
    "EXPLAIN SELECT RELEASE_LOCK('a')",
    "SET @a = RELEASE_ALL_LOCKS()",
    "SET STATEMENT max_statement_time = (SELECT SLEEP(9)) FOR COMMIT",
    "DO RELEASE_ALL_LOCKS(), BENCHMARK(1000000000, SHA1('a'))",
    "DO BENCHMARK(1000000000, SHA1('a')), RELEASE_ALL_LOCKS()",
    "DO RELEASE_LOCK(SLEEP(9))",
    "DO RELEASE_LOCK((SELECT COUNT(*) FROM t, t u))",
    "DO RELEASE_LOCK(@a := SLEEP(9))",
    "DO RELEASE_LOCK(@@hostname)",
    "DO RELEASE_LOCK('a' + SLEEP(9))",
    "DO RELEASE_LOCK('a', SLEEP(9))",
    "DO RELEASE_LOCK('a') + SLEEP(9)",
    "DO RELEASE_LOCK('a') AND GET_LOCK('b', 9)",
    "DO RELEASE_LOCK('a') = (SELECT COUNT(*) FROM t)",
    "DO -RELEASE_LOCK('a')",
    "DO (RELEASE_LOCK('a'))",
    "DO shop.RELEASE_LOCK('a')",
    "DO `RELEASE_LOCK`('a')",
    "DO RELEASE_LOCK.work('a')",
    "DO RELEASE_LOCKS('a')",
    "DO work(RELEASE_LOCK('a'))",
    "SELECT RELEASE_LOCK('a'), SLEEP(9)",
    "SELECT RELEASE_LOCK('a') FROM t",
    "SELECT RELEASE_LOCK('a') FROM DUAL WHERE SLEEP(9)",
    "SELECT RELEASE_LOCK('a') WHERE SLEEP(9)",
    "SELECT RELEASE_LOCK('a') ORDER BY SLEEP(9)",
    "SELECT RELEASE_LOCK('a') LIMIT 1",
    "SELECT RELEASE_LOCK('a') UNION SELECT SLEEP(9)",
    "SELECT RELEASE_LOCK('a') INTO OUTFILE '/tmp/a'",
    "SELECT RELEASE_LOCK('a') PROCEDURE ANALYSE()",
    "SELECT RELEASE_LOCK('a') FOR UPDATE",
    "SELECT RELEASE_LOCK(GET_LOCK('a', 9))",
    "SELECT RELEASE_LOCK('a') OVER (ORDER BY SLEEP(9))",
    "SELECT *, RELEASE_LOCK('a')",
    "SELECT RELEASE_ALL_LOCKS(SLEEP(9))",
    "SELECT IF(RELEASE_LOCK('a'), SLEEP(9), 1)",
    "(SELECT RELEASE_LOCK('a')) UNION (SELECT SLEEP(9))",
    "WITH x AS (SELECT SLEEP(9)) SELECT RELEASE_LOCK('a')",
    "VALUES (RELEASE_LOCK('a'), SLEEP(9))",
    "CALL p(RELEASE_LOCK('a'))",
    "HANDLER t READ FIRST WHERE RELEASE_LOCK('a')",
    "KILL (SELECT SLEEP(9))",
    "KILL 17 + SLEEP(9)",
    "KILL 17, SLEEP(9)",
    "KILL CONNECTION @a := SLEEP(9)",
    "KILL @a",
    "KILL shop.work(17)",
    "KILL -17",
    "KILL USER CONCAT('a', SLEEP(9))",
    "KILL",
    "COMMIT; SELECT SLEEP(9)",
    "SELECT SLEEP(9); COMMIT",
    "COMMIT; DO RELEASE_LOCK(SLEEP(9))",
    "COMMIT (SELECT 1)",
    "COMMIT WORK AND CHAIN TO s",
    "UNLOCK TABLES t",
    "UNLOCK TABLES; SELECT SLEEP(9)",
    "BACKUP LOCK end",
    "BACKUP STAGE END x",
    "BACKUP STAGE FLUSH",
    "XA COMMIT CONCAT('a', SLEEP(9))",
    "XA COMMIT 'a', SLEEP(9)",
    "XA COMMIT @a",
    "XA ROLLBACK 'a' + SLEEP(9)",
    "XA RECOVER FORMAT = (SELECT 'SQL')",
    "START SLAVE UNTIL master_log_pos = (SELECT SLEEP(9))",
    "PREPARE s FROM 'SELECT RELEASE_LOCK(\"a\")'",
    "EXECUTE IMMEDIATE 'COMMIT'",
    "EXECUTE IMMEDIATE CONCAT('COM', SLEEP(9))",
    "BEGIN NOT ATOMIC DO RELEASE_LOCK('a'); END",
    "IF RELEASE_LOCK('a') THEN SELECT SLEEP(9); END IF",
    "CREATE FUNCTION RELEASE_LOCK(a INT) RETURNS INT RETURN SLEEP(9)",
    "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = RELEASE_LOCK('a')",
    // Executable comments, which servers of some versions run and others pass over.
    "/*!50000 SELECT SLEEP(9), */ RELEASE_LOCK('a')",
    "DO RELEASE_LOCK('a') /*! , SLEEP(9) */",
    "DO RELEASE_LOCK('a') /*M!100000 , SLEEP(9) */",
    "DO /*!99999 RELEASE_LOCK('a') -- */ SLEEP(9)",
    "COMMIT /*!",
    // A backslash that is part of a letter (gbk, sjis, big5) or of a quoted name (ANSI_QUOTES), and a backquote
    // that is part of a letter: the server's literal ends before the one that is read here.
    "DO RELEASE_LOCK(\"a\\\"), SLEEP(9) -- \")",
    "DO RELEASE_LOCK('a\\'), SLEEP(9) -- ')",
    "SELECT RELEASE_LOCK('a') AS `\u{7ff}``, SLEEP(9) -- `",
    "DO RELEASE_LOCK('\u{7ff}')",
    "COMMIT -- \0 ; SELECT SLEEP(9)",
];

/// What gives back, in all the forms that clients write.
const RELEASES: &[&str] = &[
    "select release_lock ( \"a\" ) as done;",
    "SELECT RELEASE_LOCK('a') AS 'x', RELEASE_LOCK('b') y, RELEASE_ALL_LOCKS() `z`",
    "SELECT RELEASE_LOCK(?)",
    "SELECT RELEASE_LOCK(7)",
    "/* shop */ SELECT RELEASE_LOCK(@name) -- done",
    "DO RELEASE_ALL_LOCKS()",
    "DO RELEASE_LOCK('a'), RELEASE_LOCK('it''s')",
    "DO RELEASE_LOCK('; SELECT SLEEP(9)')",
    "KILL 17",
    "KILL ?",
    "kill connection 17",
    "KILL QUERY ID 17",
    "KILL HARD QUERY 17",
    "KILL SOFT CONNECTION 17;",
    "COMMIT WORK AND NO CHAIN RELEASE",
    "COMMIT; UNLOCK TABLES",
    "ROLLBACK;;",
    "UNLOCK TABLE",
    "UNLOCK BINLOG",
    "XA COMMIT 'a'",
    "XA COMMIT 'a', 'b', 1 ONE PHASE",
    "XA COMMIT 0x61, 0x62, 0x1",
    "XA ROLLBACK X'61', x'62'",
    "XA RECOVER FORMAT='SQL'",
    "XA RECOVER CONVERT XID",
];

#[test]
fn what_gives_back_needs_no_permit_and_no_work_passes_as_that() {
    for (texts, bypass) in [(RELEASES, true), (WORK, false)] {
        for text in texts {
            assert_eq!(Statement::read(text.as_bytes(), true, true).bypass, bypass, "{text}");
        }
    }
    assert!(!Statement::read(b"COMMIT", false, true).bypass, "only the whole text can be a release");
}

#[test]
fn a_long_list_of_releases_is_no_doubt_and_needs_a_permit() {
    let long = Statement::read(
        format!("DO RELEASE_LOCK('a'){}", ", RELEASE_LOCK('a')".repeat(16)).as_bytes(),
        true,
        true,
    );
    assert_eq!((names(&long.acts).as_str(), long.bypass), ("", false));
    let taken = Statement::read("DO GET_LOCK('a', 1);".repeat(17).as_bytes(), true, true);
    assert_eq!(names(&taken.acts), "Doubt");
}

#[test]
fn a_statement_idles_where_it_sleeps_or_waits_for_a_named_lock_and_does_nothing_else() {
    for (text, idles) in [
        ("SELECT SLEEP(60)", true),
        ("select /* x */ sleep ( 60 ) as x", true),
        ("SELECT `sleep`(60)", true),
        ("DO SLEEP(?)", true),
        ("SET @a = GET_LOCK('a', 10)", false),
        ("SELECT GET_LOCK(CONCAT(DATABASE(), '.a'), 10), CONNECTION_ID()", false),
        ("SELECT SLEEP(?) AS a, 'x', GET_LOCK('a', 1) AS `b`", true),
        ("SELECT SLEEP(RAND() * 2)", false),
        ("SELECT SLEEP(?) + 1 AS a, 'x', GET_LOCK(?, 1) = 1 b FROM DUAL", false),
        ("SELECT SLEEP(IF(RAND(), 1, COALESCE(2, 3)))", false),
        ("DO SLEEP(0), @a = @b, @a = @b", false),
        ("SET @a = SLEEP(0), @b = @c", false),
        ("SELECT SLEEP(0), `if`(1)", false),
        ("SELECT SLEEP(0), now (1)", false),
        ("SELECT SLEEP(0), @a RLIKE @b", false),
        ("SELECT SLEEP(@a LIKE @b)", false),
        ("SELECT SLEEP(0) UNION TABLE big", false),
        ("SELECT SLEEP(0) INTO @a", false),
        ("SELECT SLEEP(0) AS a, b", false),
        ("SELECT SLEEP(0) AS UNION VALUES (1)", false),
        ("SELECT SLEEP(0) IN (1)", false),
        ("SELECT SLEEP(0), @@global.x", false),
        ("SET GLOBAL x = SLEEP(0)", false),
        ("SELECT SLEEP(0) /*!50000 RLIKE @b */", false),
        ("SELECT 'a\\', SLEEP(0), BENCHMARK(1000000000, SHA1('a')) -- '", false),
        ("SELECT SLEEP(0);", true),
        ("SELECT SLEEP(1) FROM t", false),
        ("SELECT SLEEP(1), (SELECT COUNT(*) FROM t)", false),
        ("UPDATE t SET a = 1 WHERE SLEEP(1)", false),
        ("SELECT SLEEP(work())", false),
        ("SELECT 'SLEEP(60)'", false),
        ("SELECT sleep FROM t", false),
        ("SELECT SLEEP(0); SELECT BENCHMARK(1000000000, SHA1('a'))", false),
        ("SELECT BENCHMARK(1000000000, SHA1('a')); SELECT SLEEP(9)", false),
        ("EXECUTE s USING SLEEP(0)", false),
        ("LOAD DATA INFILE 'x' INTO TABLE t (a) SET b = SLEEP(0)", false),
        ("CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO SELECT SLEEP(1)", false),
    ] {
        assert_eq!(Statement::read(text.as_bytes(), true, true).idles, idles, "{text}");
    }
    assert!(!Statement::read(b"SELECT SLEEP(60)", false, true).idles, "more may follow");
}

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
