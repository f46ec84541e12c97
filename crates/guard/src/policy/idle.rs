//! Statements that sleep or wait for a named lock, and do nothing else.
//!
//! While one runs, its session does not use the server, so that its permit is with another from the beginning. The reading
//! is a narrow one, as that of releases: whatever else stands in the statement (another function, an operator that may take
//! long, a table, a second query) makes it work like any other.

use super::token::Token;

/// Functions that wait and do nothing.
const WAITING: [&str; 2] = ["sleep", "get_lock"];
/// Functions that may stand beside them: they take no time, whatever they are given here. All servers look for these names
/// among their own functions first, in quotes too.
const TRIFLING: [&str; 8] = [
    "release_lock",
    "release_all_locks",
    "is_free_lock",
    "is_used_lock",
    "connection_id",
    "concat",
    "ifnull",
    "rand",
];
/// The same for names that are keywords: in quotes they are a stored function's. Others, as `NOW`, are that also where a
/// blank stands before the parenthesis.
const TRIFLING_KEYWORDS: [&str; 3] = ["database", "if", "coalesce"];
/// What takes no time between values, and what holds calls and lists together.
const SIGNS: &[u8] = b"(),+-*/=?";

/// Whether it waits at all: most statements do not, and need no closer look.
pub(super) fn is_waiting(word: &[u8]) -> bool {
    is_one_of(word, &WAITING)
}

/// Whether this one statement only waits: `SELECT SLEEP(1) AS a, CONNECTION_ID() FROM DUAL`, `DO GET_LOCK(?, 1)`,
/// `SET @a = SLEEP(1)`.
pub(super) fn is_idle(tokens: &[Token<'_>]) -> bool {
    let Some((verb, rest)) = tokens.split_first() else { return false };
    let known = ["select", "do", "set"].iter().any(|known| verb.is(known));
    let rest = rest.strip_suffix(&[Token::Sign(b';')]).unwrap_or(rest);
    let rest = match rest {
        [rest @ .., from, dual] if from.is("from") && dual.is("dual") && verb.is("select") => rest,
        rest => rest,
    };
    known && (0..rest.len()).all(|at| is_trifle(rest, at) || verb.is("set") && is_target(rest, at))
}

/// Whether the token at this place takes no time there.
fn is_trifle(tokens: &[Token<'_>], at: usize) -> bool {
    let next = tokens.get(at + 1);
    let called = next == Some(&Token::Sign(b'('));
    match tokens[at] {
        Token::Number => true,
        Token::Sign(sign) => SIGNS.contains(&sign),
        // What is in a variable can be long, and takes its time each time that it is looked at.
        Token::Word([b'@', ..]) => false,
        Token::Word(word) if called && is_one_of(word, &TRIFLING_KEYWORDS) => true,
        // Servers take a quoted name of a function for that function.
        Token::Word(word) | Token::Name(word) if called => is_waiting(word) || is_one_of(word, &TRIFLING),
        Token::Text(_) => !called,
        Token::Word(_) | Token::Name(_) => {
            // A name of a column of the result, with or without AS.
            let is_last = matches!(next, None | Some(Token::Sign(b',')));
            match at.checked_sub(1).and_then(|before| tokens.get(before)) {
                Some(Token::Sign(b')' | b'?') | Token::Number | Token::Text(_)) => {
                    is_last || tokens[at].is("as") && !is_sign(next)
                }
                Some(before) => before.is("as") && is_last,
                None => false,
            }
        }
    }
}

/// Whether the token at this place is a variable of the user's that is set: `@a = ...` outside of all parentheses.
fn is_target(tokens: &[Token<'_>], at: usize) -> bool {
    let count = |sign: u8| tokens[..at].iter().filter(|token| **token == Token::Sign(sign)).count();
    let first = at == 0 || tokens[at - 1] == Token::Sign(b',');
    let set = tokens.get(at + 1) == Some(&Token::Sign(b'='));
    let variable = matches!(tokens[at], Token::Word([b'@', second, ..]) if *second != b'@');
    variable && first && set && count(b'(') == count(b')')
}

fn is_sign(token: Option<&Token<'_>>) -> bool {
    matches!(token, None | Some(Token::Sign(_)))
}

fn is_one_of(word: &[u8], known: &[&str]) -> bool {
    known.iter().any(|known| word.eq_ignore_ascii_case(known.as_bytes()))
}
