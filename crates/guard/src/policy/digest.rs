//! Statements that differ only in their literals share a digest: cheap, one pass, no memory.

use super::token::Token;

const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// FNV-1a over some bytes, going on from `start`.
pub(super) fn hash(start: u64, bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(start, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME))
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

#[cfg(test)]
mod tests {
    use super::super::token::Tokens;
    use super::*;

    fn of(text: &str) -> u64 {
        digest(Tokens::new(text.as_bytes(), true))
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
