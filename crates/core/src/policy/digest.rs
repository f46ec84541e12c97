//! Statements that differ only in their literals share a digest: cheap, one pass, no memory.

use super::token::{Token, Tokens};

const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// FNV-1a over some bytes, going on from `start`.
pub(super) fn hash(start: u64, bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(start, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME))
}

/// The digest of a statement: the same for all that differ in literals, letter case, space, and the length of lists.
pub fn digest_of(text: &[u8]) -> u64 {
    digest(Tokens::new(text, true))
}

/// The digest of SQL text: words in one case, every literal the same, lists of literals and rows of VALUES
/// as long as one.
pub(super) fn digest<'a>(tokens: impl Iterator<Item = Token<'a>>) -> u64 {
    let mut state = OFFSET;
    let mut in_values = false;
    let mut after_literal = false;
    let mut comma = false;
    for token in tokens {
        let literal = matches!(token, Token::Number | Token::Text(_) | Token::Sign(b'?'));
        match token {
            Token::Word(word) | Token::Name(word) => {
                in_values = token.is("values") || token.is("value");
                state = hash(state, word.iter().map(u8::to_ascii_lowercase).chain([b' ']));
            }
            // Rows of VALUES, whatever their number, until the next word.
            _ if in_values => continue,
            // `1, 2, 3` is `1`.
            _ if literal && after_literal && comma => {}
            Token::Sign(b',') if after_literal => {
                comma = true;
                continue;
            }
            _ if literal => state = hash(state, [b'?'].into_iter()),
            Token::Sign(sign) => state = hash(state, [sign].into_iter()),
            Token::Number | Token::Text(_) => {}
        }
        if comma && !literal {
            state = hash(state, [b','].into_iter());
        }
        comma = false;
        after_literal = literal;
    }
    state
}

/// The digest of a transaction from those of its statements, in their order.
pub(super) fn follow(transaction: u64, statement: u64) -> u64 {
    hash(if transaction == 0 { OFFSET } else { transaction }, statement.to_le_bytes().into_iter())
}

/// The hash of a lock's name. MariaDB tells names apart by case and MySQL does not; a lock that is given back
/// in another case counts as held, which is the safe side.
pub(super) fn name(text: &[u8]) -> u64 {
    hash(OFFSET, text.iter().copied())
}

// Statements that sleep or wait for a named lock, and do nothing else.
//
// While one runs, its session does not use the server, so that its permit is with another from the beginning. The reading
// is a narrow one, as that of releases: whatever else stands in the statement (another function, an operator, a variable, a
// table, a second query) makes it work like any other.

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

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> u64 {
        digest_of(text.as_bytes())
    }

    #[test]
    fn statements_that_differ_in_literals_alone_share_a_digest() {
        for (one, other) in [
            ("SELECT * FROM t WHERE a = 1", "select *  from t where a='x' -- c"),
            ("SELECT * FROM t WHERE a IN (1,2,3)", "SELECT * FROM t WHERE a IN (7)"),
            ("INSERT INTO t VALUES (1,'a')", "INSERT INTO t VALUES (1,'a'),(2,'b'), (3,?)"),
            ("SELECT a FROM t WHERE b = ?", "SELECT a FROM t WHERE b = 17.5"),
            ("SELECT `a` FROM t", "SELECT a FROM t"),
        ] {
            assert_eq!(of(one), of(other), "{one} | {other}");
        }
    }

    #[test]
    fn statements_that_differ_otherwise_do_not() {
        let texts = [
            "SELECT a FROM t WHERE b = 1",
            "SELECT a FROM t WHERE c = 1",
            "SELECT a, c FROM t WHERE b = 1",
            "SELECT a FROM u WHERE b = 1",
            "UPDATE t SET a = 1 WHERE b = 1",
            "UPDATE t SET a = 1, c = 2 WHERE b = 1",
            "SELECT f(1)",
            "SELECT f(1, a)",
            "SELECT 1",
        ];
        for (index, one) in texts.iter().enumerate() {
            assert!(texts[..index].iter().all(|other| of(one) != of(other)), "{one}");
        }
    }

    #[test]
    fn transactions_differ_by_the_order_of_their_statements() {
        let ab = follow(follow(0, 1), 2);
        assert_ne!(ab, follow(follow(0, 2), 1));
        assert_ne!(follow(0, 1), 0);
    }
}
