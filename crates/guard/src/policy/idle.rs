//! Statements that sleep or wait for a named lock, and do nothing else.
//!
//! While one runs, its session does not use the server, so that its permit is with another from the beginning. The reading
//! is a narrow one, as that of releases: whatever else stands in the statement (another function, an operator, a variable, a
//! table, a second query) makes it work like any other.

use super::token::Token;

/// Whether this is a function that waits and does nothing: most statements have none, and need no closer look.
pub(super) fn is_waiting(word: &[u8]) -> bool {
    ["sleep", "get_lock"].iter().any(|known| word.eq_ignore_ascii_case(known.as_bytes()))
}

/// Whether this one statement only waits: `SELECT SLEEP(1) AS a, GET_LOCK('a', ?)`, `DO SLEEP(1)`.
pub(super) fn is_idle(tokens: &[Token<'_>]) -> bool {
    let Some((verb, rest)) = tokens.split_first() else { return false };
    let rest = rest.strip_suffix(&[Token::Sign(b';')]).unwrap_or(rest);
    (verb.is("select") || verb.is("do")) && (0..rest.len()).all(|at| is_trifle(rest, at))
}

/// Whether the token at this place takes no time there.
fn is_trifle(tokens: &[Token<'_>], at: usize) -> bool {
    let next = tokens.get(at + 1);
    let called = next == Some(&Token::Sign(b'('));
    match tokens[at] {
        Token::Number => true,
        Token::Text(_) => !called,
        Token::Sign(sign) => b"(),?".contains(&sign),
        // Servers take a quoted name of a function for that function.
        Token::Word(word) | Token::Name(word) if called => is_waiting(word),
        // What is in a variable can be long, and takes its time each time that it is looked at.
        Token::Word([b'@', ..]) => false,
        word @ (Token::Word(_) | Token::Name(_)) => {
            // AS, and the name of a column of the result behind it.
            let is_last = matches!(next, None | Some(Token::Sign(b',')));
            word.is("as") || is_last && at > 0 && tokens[at - 1].is("as")
        }
    }
}
