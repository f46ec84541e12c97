//! Which statements a replay may send where nothing may be written.

use crate::workload::sql::{acts, harm, split};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// Verbs of reads that `harm` does not know as such.
const MORE_READS: [&str; 3] = ["USE", "DESCRIBE", "DESC"];

/// Verbs of what may write, which need no further look: such statements are often long.
const WRITES: [&str; 5] = ["INSERT", "UPDATE", "DELETE", "REPLACE", "LOAD"];

/// As much of a statement is read to find its verb.
const HEAD_BYTES: usize = 4_096;

/// Whether it leaves rows, locks and the server as they are: reads, and what only its own session sees. What a function of the user's
/// does is not in the text; `only_reads` takes their names.
pub fn reads_only(sql: &[u8]) -> bool {
    only_reads(sql, &BTreeSet::new())
}

/// The same where the server's stored functions are known, in capitals: what calls one of them may write.
pub fn only_reads(sql: &[u8], stored: &BTreeSet<String>) -> bool {
    if WRITES.contains(&head_verb(sql).as_str()) {
        return false;
    }
    let text = String::from_utf8_lossy(sql);
    let parts = split(&text);
    let parts: Vec<&str> = parts.into_iter().filter(|part| !verb(part).is_empty()).collect();
    // In another character set a backslash may be half a letter, and what looks like a string may be a second statement.
    let is_sure = matches!(text, Cow::Borrowed(_)) || !text.trim_end_matches([';', ' ', '\n']).contains(';');
    is_sure && !parts.is_empty() && parts.iter().all(|part| one_reads(part, stored))
}

fn one_reads(sql: &str, stored: &BTreeSet<String>) -> bool {
    let verb = verb(sql);
    if MORE_READS.contains(&verb.as_str()) {
        return true;
    }
    // A block of statements, of which the text behind it is the first.
    let is_block = verb == "BEGIN" && !matches!(rest(sql).as_str(), "" | "WORK");
    !is_block && !allows_writes(sql) && harm(sql, stored).is_none() && acts(sql).0.is_none()
}

/// Whether it makes a session's transactions writable, which a reading replay has made read-only.
fn allows_writes(sql: &str) -> bool {
    // Names in backticks too.
    let words = crate::workload::sql::words(sql);
    matches!(words.first().map(String::as_str), Some("SET" | "START"))
        && (words.windows(2).any(|two| two == ["READ", "WRITE"])
            || words.iter().any(|word| word.contains("READ_ONLY")))
}

/// Whether it leaves something in its session that later statements see: variables, the database.
pub fn sets_session(sql: &[u8]) -> bool {
    let has = |part: &[u8]| sql.windows(part.len()).any(|found| found.eq_ignore_ascii_case(part));
    matches!(head_verb(sql).as_str(), "SET" | "USE") || has(b":=") || has(b"INTO @")
}

/// Whether it may use the next AUTO_INCREMENT number.
pub fn inserts(sql: &[u8]) -> bool {
    matches!(head_verb(sql).as_str(), "INSERT" | "REPLACE")
}

fn head_verb(sql: &[u8]) -> String {
    verb(&String::from_utf8_lossy(sql.get(..HEAD_BYTES).unwrap_or(sql)))
}

/// The first word in capitals, behind comments and brackets.
fn verb(sql: &str) -> String {
    words(sql).next().unwrap_or_default()
}

/// What follows the first word.
fn rest(sql: &str) -> String {
    words(sql).skip(1).collect::<Vec<_>>().join(" ")
}

fn words(sql: &str) -> impl Iterator<Item = String> {
    crate::workload::sql::words(sql).into_iter().filter(|word| word.starts_with(char::is_alphabetic))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_replay_keeps_reads_and_what_only_the_session_sees() {
        for (text, expected) in [
            ("SELECT a FROM t WHERE b = 'UPDATE t'", true),
            ("(SELECT 1) UNION (SELECT 2);", true),
            ("WITH x AS (SELECT 1) SELECT * FROM x", true),
            ("/* c */ SHOW TABLES", true),
            ("EXPLAIN SELECT 1", true),
            ("DESC t", true),
            ("USE shop", true),
            ("SET @a = 1, SESSION sort_buffer_size = 1000", true),
            ("SET NAMES utf8mb4", true),
            ("BEGIN", true),
            ("begin work", true),
            ("START TRANSACTION READ ONLY", true),
            ("COMMIT", true),
            ("SELECT 1; SELECT 2", true),
            ("SELECT a INTO @x FROM t", true),
            ("SELECT '\u{e4}; x' FROM t", true),
            ("", false),
            (" ; ", false),
            ("-- only a comment", false),
            ("SELECT a FROM t FOR UPDATE", false),
            ("SELECT a FROM t LOCK IN SHARE MODE", false),
            ("SELECT 1 INTO OUTFILE '/tmp/x'", false),
            ("SELECT GET_LOCK('a', 1)", false),
            ("SELECT SLEEP(5)", false),
            ("DO RELEASE_LOCK('a')", false),
            ("SELECT NEXTVAL(s)", false),
            ("WITH x AS (SELECT 1) DELETE FROM t", false),
            ("EXPLAIN ANALYZE UPDATE t SET a = 1", false),
            ("ANALYZE UPDATE t SET a = 1", false),
            ("SELECT 1; DROP TABLE t", false),
            ("BEGIN NOT ATOMIC TRUNCATE t; END", false),
            ("/*! INSERT INTO t */ SELECT 1", false),
            ("SET GLOBAL a = 1", false),
            ("SET SESSION TRANSACTION READ WRITE", false),
            ("set transaction isolation level read committed, read write", false),
            ("SET @@session.tx_read_only = 0", false),
            ("SET @@SESSION.`transaction_read_only`=OFF", false),
            ("/*! SET tx_read_only = 0 */", false),
            ("START TRANSACTION READ WRITE", false),
            ("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", true),
            ("SET PASSWORD = 'x'", false),
            ("CALL p()", false),
            ("INSERT INTO t VALUES (1)", false),
            ("FLUSH TABLES", false),
            ("KILL 5", false),
            ("XA START 'x'", false),
        ] {
            assert_eq!(reads_only(text.as_bytes()), expected, "{text}");
        }
        // Half a letter before a backslash: where the string ends depends on the character set.
        assert!(!reads_only(b"SELECT '\xbf\\'; DELETE FROM t; -- '"));
        assert!(reads_only(b"SELECT '\xff\xfe'"));
        let stored = BTreeSet::from(["PRICE".to_owned()]);
        assert!(reads_only(b"SELECT price(1)") && !only_reads(b"SELECT price(1)", &stored));
    }
}
