//! What a read does besides reading, as far as its text says so.

use super::token::{Kind, tokens};
use std::collections::BTreeSet;
use std::fmt;

/// What the text of a read has that does more than to read, in the words of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// It writes what no rollback takes back: a file, or the next value of a sequence.
    Writes(&'static str),
    /// It calls this function, which waits, or takes a lock by name.
    Waits(&'static str),
    /// It locks the rows that it reads.
    Locks(&'static str),
}

/// `SLEEP(), which waits`.
impl fmt::Display for Act {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Writes(words) => write!(out, "{words}, which writes"),
            Self::Waits(function) => write!(out, "{function}(), which waits"),
            Self::Locks(words) => write!(out, "{words}, which locks rows"),
        }
    }
}

/// Functions that wait, also where another schema has one of that name: better one read too few is made than one too many.
const WAITING: [&str; 10] = [
    "SLEEP",
    "BENCHMARK",
    "GET_LOCK",
    "RELEASE_LOCK",
    "RELEASE_ALL_LOCKS",
    "MASTER_POS_WAIT",
    "MASTER_GTID_WAIT",
    "SOURCE_POS_WAIT",
    "WAIT_FOR_EXECUTED_GTID_SET",
    "WAIT_UNTIL_SQL_THREAD_AFTER_GTIDS",
];

/// What moves a sequence on, also as NEXT VALUE FOR.
const SEQUENCE: &str = "NEXTVAL or SETVAL";

/// Verbs that leave every row and the server as they are, at the start of a statement.
const HARMLESS: [&str; 9] =
    ["SELECT", "WITH", "SHOW", "EXPLAIN", "BEGIN", "COMMIT", "ROLLBACK", "DO", "VALUES"];

/// Words that write wherever they stand in a statement, unless they are functions: behind WITH, in a comment that the server reads.
const WRITING: [&str; 6] = ["INSERT", "UPDATE", "DELETE", "REPLACE", "CALL", "LOAD"];

/// What a SET of more than the session's own values has, also behind others and for `@@`: `SET a = 1, GLOBAL b = 2`. Better one SET too
/// many may write than one too few.
const SETTING: [&str; 6] = ["GLOBAL", "PERSIST", "PERSIST_ONLY", "PASSWORD", "ROLE", "STATEMENT"];

/// What a statement does that a server of somebody else's should not meet unasked, as `writes (UPDATE)`; `None` where it only reads.
/// `stored` are the stored functions of the server, in capitals: any of them may write. What a view calls is not in the text.
pub fn harm(text: &str, stored: &BTreeSet<String>) -> Option<String> {
    let words = words(text);
    if let Some(word) = writing(&words) {
        let is_known = WRITING.contains(&word);
        return Some(if is_known {
            format!("writes ({word})")
        } else {
            format!("begins with {word}, which may write")
        });
    }
    let found = pairs(&words).find_map(|(word, next)| match act(word, next)? {
        Act::Writes(what) => Some(format!("writes ({what})")),
        Act::Locks(what) => Some(format!("locks rows ({what})")),
        Act::Waits(what) if what.contains("LOCK") => Some(format!("takes or releases a lock ({what}())")),
        Act::Waits(_) => None,
    });
    found.or_else(|| Some(format!("calls the stored function {}", stored_function(text, stored)?)))
}

/// The stored function that a statement calls first, in capitals; `stored` are those of the server, in capitals.
pub fn stored_function(text: &str, stored: &BTreeSet<String>) -> Option<String> {
    let calls = |(word, next): (&str, &str)| {
        // Words are in ASCII capitals until here.
        let name = last_name(word).replace("``", "`").to_uppercase();
        (next == "(" && stored.contains(&name)).then_some(name)
    };
    pairs(&words(text)).find_map(calls)
}

/// What a statement does to transactions: `BEGIN`, `COMMIT`, or `""` for what no workload can have, as ROLLBACK; `None` where it is
/// a statement like any other.
pub fn control(text: &str) -> Option<&'static str> {
    let words = words(text);
    let words: Vec<&str> = words.iter().map(|word| last_name(word)).collect();
    match words.as_slice() {
        ["BEGIN"] | ["BEGIN", "WORK"] | ["START", "TRANSACTION"] => Some("BEGIN"),
        ["COMMIT"] | ["COMMIT", "WORK"] => Some("COMMIT"),
        ["BEGIN" | "COMMIT" | "ROLLBACK", ..] | ["START", "TRANSACTION", ..] => Some(""),
        ["SET", set @ ..] if set.contains(&"AUTOCOMMIT") => Some(""),
        _ => None,
    }
}

/// Whether a statement changes rows or the server, by its own text.
pub fn may_write(text: &str) -> bool {
    let words = words(text);
    writing(&words).is_some()
        || pairs(&words).any(|(word, next)| matches!(act(word, next), Some(Act::Writes(_))))
}

/// What an earlier statement of the session has left and this one uses, and what to do; `None` where it stands by itself.
pub fn needed(text: &str) -> Option<&'static str> {
    let (words, mut found) = (words(text), None);
    for part in words.windows(3) {
        match [last_name(&part[0]), part[1].as_str(), part[2].as_str()] {
            ["LAST_INSERT_ID", "(", ")"] => return Some("LAST_INSERT_ID(): put it behind its INSERT"),
            // It sets variables itself, or calls a procedure that may.
            ["CALL", ..] | ["INTO", "@", _] | [_, ":", "="] => return None,
            ["@", ..] | [_, "@", "@"] => {}
            [_, "@", _] => found = Some("a variable: put it behind the statement that sets it"),
            _ => {}
        }
    }
    found
}

/// The word by which it writes, or may: that of its verb first.
fn writing(words: &[String]) -> Option<&str> {
    let is_name = |word: &&String| word.starts_with(|sign: char| sign.is_alphabetic());
    let verb = words.iter().find(is_name).map_or("", String::as_str);
    let is_harmless = match verb {
        "SET" => !words.iter().any(|word| word.split('.').any(|part| SETTING.contains(&part))),
        "START" => pairs(words).all(|(word, next)| word != verb || next == "TRANSACTION"),
        _ => HARMLESS.contains(&verb),
    };
    if !is_harmless {
        return Some(verb);
    }
    let mut before = "";
    pairs(words).find_map(|(word, next)| {
        let writes = WRITING.contains(&word) && next != "(" && before != "FOR";
        before = word;
        writes.then_some(word)
    })
}

/// The first act in the text, and how many SELECTs the text has. What a stored function or a view does is not in the text.
pub fn acts(text: &str) -> (Option<Act>, usize) {
    let words = words(text);
    let selects = words.iter().filter(|word| *word == "SELECT").count();
    (pairs(&words).find_map(|(word, next)| act(word, next)), selects)
}

/// Each word with the one that follows it.
fn pairs(words: &[String]) -> impl Iterator<Item = (&str, &str)> {
    let following = words.iter().skip(1).map(String::as_str).chain(std::iter::once(""));
    words.iter().map(String::as_str).zip(following)
}

/// A name without quotes and what stands before it.
fn last_name(word: &str) -> &str {
    let quotes = ['`', '"'];
    // A dot between quotes is part of the name.
    let name = if word.starts_with(quotes) { word } else { word.rsplit('.').next().unwrap_or(word) };
    name.trim_matches(quotes)
}

/// A word and what follows it.
fn act(word: &str, next: &str) -> Option<Act> {
    match (last_name(word), next) {
        ("INTO", "OUTFILE") => Some(Act::Writes("INTO OUTFILE")),
        ("INTO", "DUMPFILE") => Some(Act::Writes("INTO DUMPFILE")),
        ("NEXTVAL" | "SETVAL", "(") | ("NEXT", "VALUE") => Some(Act::Writes(SEQUENCE)),
        // As Oracle writes it: sequence.NEXTVAL.
        ("NEXTVAL", _) if word.contains('.') => Some(Act::Writes(SEQUENCE)),
        ("FOR", "UPDATE") => Some(Act::Locks("FOR UPDATE")),
        ("FOR", "SHARE") => Some(Act::Locks("FOR SHARE")),
        ("LOCK", "IN") => Some(Act::Locks("LOCK IN SHARE MODE")),
        (name, "(") => WAITING.into_iter().find(|function| *function == name).map(Act::Waits),
        _ => None,
    }
}

/// Words, quoted names and signs in capitals, without texts and comments.
pub fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    collect(text, &mut words);
    words
}

/// Words, names and signs in capitals, without texts. What a server reads in a comment (`/*! ... */`, `/*M! ... */`) is among them.
fn collect(text: &str, words: &mut Vec<String>) {
    for (kind, piece) in tokens(text) {
        let read = piece.strip_prefix("/*!").or_else(|| piece.strip_prefix("/*M!"));
        match (kind, read) {
            (Kind::Space, Some(inner)) => {
                let inner = inner.trim_end_matches("*/");
                collect(inner.trim_start_matches(|sign: char| sign.is_ascii_digit()), words);
            }
            (Kind::Space, None) => {}
            _ if piece.starts_with('\'') => {}
            _ => words.push(piece.to_ascii_uppercase()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_read_does_besides_is_found_in_its_text_and_nowhere_else() {
        for (text, found) in [
            ("SELECT SLEEP(5)", Some(Act::Waits("SLEEP"))),
            ("SELECT sleep (?)", Some(Act::Waits("SLEEP"))),
            ("SELECT `Sleep`(5)", Some(Act::Waits("SLEEP"))),
            ("SELECT /*!50000 SLEEP(5) */ + 1", Some(Act::Waits("SLEEP"))),
            ("SELECT benchmark(9, 1)", Some(Act::Waits("BENCHMARK"))),
            ("SELECT GET_LOCK('a', 1)", Some(Act::Waits("GET_LOCK"))),
            ("SELECT NEXTVAL(sq)", Some(Act::Writes(SEQUENCE))),
            ("SELECT sq.nextval", Some(Act::Writes(SEQUENCE))),
            ("SELECT NEXT\n VALUE FOR sq", Some(Act::Writes(SEQUENCE))),
            ("SELECT SETVAL(sq, 1)", Some(Act::Writes(SEQUENCE))),
            ("SELECT 1 INTO OUTFILE '/tmp/x'", Some(Act::Writes("INTO OUTFILE"))),
            ("SELECT a INTO /* to */ DUMPFILE '/tmp/x' FROM t", Some(Act::Writes("INTO DUMPFILE"))),
            ("SELECT a FROM t FOR UPDATE", Some(Act::Locks("FOR UPDATE"))),
            ("SELECT a FROM t FOR SHARE", Some(Act::Locks("FOR SHARE"))),
            ("SELECT a FROM t LOCK IN SHARE MODE", Some(Act::Locks("LOCK IN SHARE MODE"))),
            ("SELECT 'SLEEP(5)', sleep, nextval FROM t -- FOR UPDATE", None),
            ("SELECT /* SLEEP(5) */ a INTO @a FROM t USE INDEX FOR JOIN (i)", None),
        ] {
            assert_eq!(acts(text), (found, 1), "{text}");
        }
        assert_eq!(acts("SELECT a FROM (SELECT 1 AS a) AS t").1, 2);
    }

    #[test]
    fn what_needs_an_earlier_statement_is_known_by_its_text() {
        for (text, words) in [
            ("INSERT INTO t VALUES (LAST_INSERT_ID(), 1)", "LAST_INSERT_ID(): put it"),
            ("UPDATE t SET a = 1 WHERE b = `last_insert_id` ( )", "LAST_INSERT_ID(): put it"),
            ("UPDATE t SET a = @x WHERE b = @@server_id", "a variable: put it"),
            ("UPDATE t SET a = LAST_INSERT_ID(a + 1) WHERE b = @@server_id", ""),
            ("SELECT a, @r := @r + 1 FROM t, (SELECT @r := 0) AS r", ""),
            ("SELECT a INTO @a FROM t WHERE b = '@x'", ""),
            ("CALL p(@total)", ""),
        ] {
            let found = needed(text).unwrap_or_default();
            assert!(found.starts_with(words) && found.is_empty() == words.is_empty(), "{text}: {found}");
        }
    }

    #[test]
    fn what_writes_or_locks_is_known_by_its_text_and_what_calls_a_stored_function_by_its_name() {
        let stored = BTreeSet::from(["PRICE".to_owned(), "A.B`C".to_owned()]);
        for (text, words) in [
            ("SELECT a FROM t WHERE b = ?", None),
            ("(SELECT REPLACE(a, 'x', 'y'), INSERT(a, 1, 1, 'z') FROM t) UNION SELECT 'UPDATE'", None),
            ("SELECT SLEEP(1), price FROM t", None),
            ("SET @a := 1, @b = 'GLOBAL', SESSION sql_mode = DEFAULT, @@session.c = 2", None),
            ("BEGIN", None),
            ("START TRANSACTION READ ONLY", None),
            ("update t set a = 1", Some("writes (UPDATE)")),
            ("REPLACE INTO t VALUES (1)", Some("writes (REPLACE)")),
            ("CALL p(1)", Some("writes (CALL)")),
            ("LOAD DATA LOCAL INFILE 'x' INTO TABLE t", Some("writes (LOAD)")),
            ("TRUNCATE t", Some("begins with TRUNCATE, which may write")),
            ("LOCK TABLES t READ", Some("begins with LOCK, which may write")),
            ("WITH x AS (SELECT 1) DELETE FROM t", Some("writes (DELETE)")),
            ("/*! INSERT INTO t */ SELECT 1", Some("writes (INSERT)")),
            ("SELECT 1 INTO OUTFILE '/tmp/x'", Some("writes (INTO OUTFILE)")),
            ("SELECT a FROM t FOR UPDATE", Some("locks rows (FOR UPDATE)")),
            ("SELECT a FROM t LOCK IN SHARE MODE", Some("locks rows (LOCK IN SHARE MODE)")),
            ("SELECT SLEEP(0), GET_LOCK('a', 1)", Some("takes or releases a lock (GET_LOCK())")),
            ("SELECT shop.`price` (1)", Some("calls the stored function PRICE")),
            ("SELECT shop.price(1)", Some("calls the stored function PRICE")),
            ("SELECT `price`(1)", Some("calls the stored function PRICE")),
            ("SELECT `shop`.`price`(1)", Some("calls the stored function PRICE")),
            ("SELECT `a.b``c`(1)", Some("calls the stored function A.B`C")),
        ] {
            assert_eq!(harm(text, &stored).as_deref(), words, "{text}");
        }
        let sets = "GLOBAL a = 1; SESSION a = 1, GLOBAL b = 2; a = 1, /* for all */ persist b = 2; PERSIST_ONLY a = 1; \
                    a = 1, @@GLOBAL.b = 2; a = 1, @@persist . b = 2; @@persist_only.a = 1; a = 1, PASSWORD = 'x'; \
                    DEFAULT ROLE r FOR u; ROLE r; STATEMENT max_statement_time=1 FOR DELETE FROM t";
        for text in sets.split("; ") {
            let found = harm(&format!("set {text}"), &stored);
            assert_eq!(found.as_deref(), Some("begins with SET, which may write"), "{text}");
        }
        for text in ["SLAVE", "REPLICA", "ALL SLAVES", "GROUP_REPLICATION", "/*! SLAVE */", ""] {
            assert!(may_write(&format!("START {text}")), "{text}");
        }
        assert!(
            may_write("WITH x AS (SELECT 1) UPDATE t SET a = 1") && !may_write("SELECT a FROM t FOR UPDATE")
        );
    }
}
