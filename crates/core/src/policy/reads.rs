//! Statements of which little matters: such as only read, touch no table, or do no more than read and write rows.

use super::token::Token;

/// Whether this is one statement that reads or writes rows, by its first word. In an open transaction no more of it matters, where the
/// server says itself what a session locks.
pub fn is_of_rows(text: &[u8]) -> bool {
    const VERBS: [&[u8]; 5] = [b"select", b"insert", b"update", b"delete", b"replace"];
    let text = text.trim_ascii_start();
    let verb = |verb: &&[u8]| text.get(..verb.len()).is_some_and(|word| word.eq_ignore_ascii_case(verb));
    let length = VERBS.iter().find(|one| verb(one)).map(|verb| verb.len());
    length.and_then(|length| text.get(length)).is_some_and(u8::is_ascii_whitespace) && !text.contains(&b';')
}

/// Functions of all servers that do nothing but compute their result, and few of the others.
const PURE: [&str; 24] = [
    "count",
    "sum",
    "min",
    "max",
    "avg",
    "coalesce",
    "ifnull",
    "nullif",
    "if",
    "concat",
    "lower",
    "upper",
    "date",
    "now",
    "database",
    "version",
    "connection_id",
    "user",
    "current_user",
    "last_insert_id",
    "found_rows",
    "row_count",
    "in",
    "values",
];

/// Whether no function is called but such as all servers know: a user's may do anything.
pub(super) fn calls_nothing(tokens: &[Token<'_>]) -> bool {
    tokens.windows(2).all(|two| {
        let named = matches!(two[0], Token::Word(_) | Token::Name(_));
        two[1] != Token::Sign(b'(') || !named || PURE.iter().any(|known| two[0].is(known))
    })
}

pub(super) fn is_tableless(tokens: &[Token<'_>]) -> bool {
    let Some((verb, rest)) = tokens.split_first() else { return false };
    let uses = |token: &Token<'_>| {
        ["from", "select", "into", "table", "password", "statement"].iter().any(|word| token.is(word))
    };
    verb.is("use") || verb.is("show") || (verb.is("select") || verb.is("set")) && !rest.iter().any(uses)
}

pub(super) fn only_reads(tokens: &[Token<'_>]) -> bool {
    let has = |word: &str| tokens.iter().any(|token| token.is(word));
    tokens.first().is_some_and(|verb| verb.is("select"))
        && !["for", "lock", "into", "procedure"].iter().any(|word| has(word))
}

/// DDL but for that on temporary tables, which commits nothing.
pub(super) fn commits(tokens: &[Token<'_>]) -> bool {
    let Some(verb) = tokens.first() else { return false };
    let ddl =
        ["create", "alter", "drop", "truncate", "rename", "grant", "revoke"].iter().any(|word| verb.is(word));
    ddl && !tokens.iter().any(|token| token.is("temporary"))
}

#[cfg(test)]
mod tests {
    use super::is_of_rows;

    #[test]
    fn one_statement_of_rows_is_known_by_its_first_word() {
        for (text, expected) in [
            ("SELECT c FROM t WHERE id = 1", true),
            (" \n update\tt SET a = 1", true),
            ("REPLACE INTO t VALUES (1)", true),
            ("insert into t values (';')", false),
            ("SELECT 1; LOCK TABLES t WRITE", false),
            ("SELECT", false),
            ("SELECTION x", false),
            ("SELECT(1)", false),
            ("COMMIT", false),
            ("/* c */ SELECT 1", false),
            ("XA PREPARE 'x'", false),
            ("CALL p()", false),
            ("", false),
        ] {
            assert_eq!(is_of_rows(text.as_bytes()), expected, "{text}");
        }
    }
}
