//! What a read does besides reading, as far as its text says so.

use super::{Kind, next_token};
use std::fmt;

/// What the text of a read has that does more than to read. The words are those of the text, as `SLEEP()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// It writes what no rollback takes back: a file, or the next value of a sequence.
    Writes(&'static str),
    /// It waits, or takes a lock by name.
    Waits(&'static str),
    /// It locks the rows that it reads.
    Locks(&'static str),
}

/// `SLEEP(), which waits`.
impl fmt::Display for Act {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Writes(words) => write!(out, "{words}, which writes"),
            Self::Waits(words) => write!(out, "{words}, which waits"),
            Self::Locks(words) => write!(out, "{words}, which locks rows"),
        }
    }
}

/// Functions that wait, also where another schema has one of that name: better one read too few is made than one too many.
const WAITING: [(&str, &str); 10] = [
    ("SLEEP", "SLEEP()"),
    ("BENCHMARK", "BENCHMARK()"),
    ("GET_LOCK", "GET_LOCK()"),
    ("RELEASE_LOCK", "RELEASE_LOCK()"),
    ("RELEASE_ALL_LOCKS", "RELEASE_ALL_LOCKS()"),
    ("MASTER_POS_WAIT", "MASTER_POS_WAIT()"),
    ("MASTER_GTID_WAIT", "MASTER_GTID_WAIT()"),
    ("SOURCE_POS_WAIT", "SOURCE_POS_WAIT()"),
    ("WAIT_FOR_EXECUTED_GTID_SET", "WAIT_FOR_EXECUTED_GTID_SET()"),
    ("WAIT_UNTIL_SQL_THREAD_AFTER_GTIDS", "WAIT_UNTIL_SQL_THREAD_AFTER_GTIDS()"),
];

/// The first act in the text, and how many SELECTs the text has. What a stored function or a view does is not in the text.
pub fn acts(text: &str) -> (Option<Act>, usize) {
    let mut words = Vec::new();
    collect(text, &mut words);
    let selects = words.iter().filter(|word| *word == "SELECT").count();
    let follows = |place: usize| words.get(place + 1).map_or("", String::as_str);
    let found = words.iter().enumerate().find_map(|(place, word)| act(word, follows(place)));
    (found, selects)
}

/// A word and what follows it.
fn act(word: &str, next: &str) -> Option<Act> {
    let name = word.rsplit('.').next().unwrap_or(word).trim_matches(['`', '"']);
    match (name, next) {
        ("INTO", "OUTFILE") => Some(Act::Writes("INTO OUTFILE")),
        ("INTO", "DUMPFILE") => Some(Act::Writes("INTO DUMPFILE")),
        ("SETVAL", "(") => Some(Act::Writes("SETVAL()")),
        ("NEXTVAL", "(") => Some(Act::Writes("NEXTVAL()")),
        // As Oracle writes it: sequence.NEXTVAL.
        ("NEXTVAL", _) if word.contains('.') => Some(Act::Writes("NEXTVAL")),
        ("NEXT", "VALUE") => Some(Act::Writes("NEXT VALUE FOR")),
        ("FOR", "UPDATE") => Some(Act::Locks("FOR UPDATE")),
        ("FOR", "SHARE") => Some(Act::Locks("FOR SHARE")),
        ("LOCK", "IN") => Some(Act::Locks("LOCK IN SHARE MODE")),
        (_, "(") => {
            WAITING.iter().find(|(function, _)| *function == name).map(|(_, words)| Act::Waits(words))
        }
        _ => None,
    }
}

/// Words, names and signs in capitals, without texts. What a server reads in a comment (`/*! ... */`, `/*M! ... */`) is among them.
fn collect(text: &str, words: &mut Vec<String>) {
    let mut rest = text;
    while let Some(token) = next_token(rest) {
        let (piece, after) = rest.split_at(token.length);
        let read = piece.strip_prefix("/*!").or_else(|| piece.strip_prefix("/*M!"));
        match (token.kind, read) {
            (Kind::Space, Some(inner)) => {
                let inner = inner.trim_end_matches("*/");
                collect(inner.trim_start_matches(|sign: char| sign.is_ascii_digit()), words);
            }
            (Kind::Space, None) => {}
            _ if piece.starts_with('\'') => {}
            _ => words.push(piece.to_ascii_uppercase()),
        }
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_read_does_besides_is_found_in_its_text_and_nowhere_else() {
        for (text, found) in [
            ("SELECT SLEEP(5)", Some(Act::Waits("SLEEP()"))),
            ("SELECT sleep (?)", Some(Act::Waits("SLEEP()"))),
            ("SELECT `Sleep`(5)", Some(Act::Waits("SLEEP()"))),
            ("SELECT /*!50000 SLEEP(5) */ + 1", Some(Act::Waits("SLEEP()"))),
            ("SELECT benchmark(9, 1)", Some(Act::Waits("BENCHMARK()"))),
            ("SELECT GET_LOCK('a', 1)", Some(Act::Waits("GET_LOCK()"))),
            ("SELECT NEXTVAL(sq)", Some(Act::Writes("NEXTVAL()"))),
            ("SELECT sq.nextval", Some(Act::Writes("NEXTVAL"))),
            ("SELECT NEXT\n VALUE FOR sq", Some(Act::Writes("NEXT VALUE FOR"))),
            ("SELECT SETVAL(sq, 1)", Some(Act::Writes("SETVAL()"))),
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
}
