//! Statements that do nothing but give back what they hold, or end somebody else's work.
//!
//! These alone pass without a permit, so the reading is a narrow one: each form is spelt out, and whatever
//! else stands in the statement (another function, a subquery, an assignment, a table) makes it work like
//! any other. A release that is refused here still never waits in the session that holds something: its
//! session does not queue at all.

use super::token::Token;

/// The functions that give named locks back. All servers know them by themselves, so that no stored function
/// can take their place; those of MySQL's locking service are loaded by name and could be anybody's.
const RELEASES: [&str; 2] = ["release_lock", "release_all_locks"];

/// Whether a server of any version, character set and mode of quoting reads this text as [`Token`]s do: in
/// some, a backslash is part of a letter or of a quoted name, and an executable comment counts or does not.
pub(super) fn is_plain(text: &[u8]) -> bool {
    let plain = |byte: &u8| byte.is_ascii() && !matches!(byte, b'\\' | 0);
    let executable = |from: &[u8]| from.starts_with(b"/*!") || from.starts_with(b"/*M!");
    text.iter().all(plain) && !text.windows(4).any(executable) && !text.ends_with(b"/*!")
}

/// Whether this one statement only gives back, or kills a connection by its number.
pub(super) fn is_bare(tokens: &[Token<'_>]) -> bool {
    let Some((verb, rest)) = tokens.split_first() else { return false };
    let is = |word: &str| verb.is(word);
    match () {
        () if is("select") => is_list(rest, true),
        () if is("do") => is_list(rest, false),
        // AND CHAIN begins the next transaction, which is work.
        () if is("commit") || is("rollback") => {
            let chains =
                rest.iter().any(|token| token.is("chain")) && !rest.iter().any(|token| token.is("no"));
            !chains && after_any(rest, &["work", "and", "no", "chain", "release"]).is_empty()
        }
        () if is("kill") => is_number(after_any(rest, &["hard", "soft", "connection", "query", "id"])),
        () if is("unlock") => {
            ["tables", "table", "instance", "binlog"].iter().any(|locked| are(rest, &[locked]))
        }
        () if is("backup") => are(rest, &["unlock"]) || are(rest, &["stage", "end"]),
        () if is("xa") => is_xa_end(rest),
        () => false,
    }
}

/// What is left after all leading tokens that are one of these.
fn after_any<'t, 'a>(tokens: &'t [Token<'a>], words: &[&str]) -> &'t [Token<'a>] {
    let known = |token: &&Token<'_>| words.iter().any(|word| token.is(word));
    &tokens[tokens.iter().take_while(known).count()..]
}

fn are(tokens: &[Token<'_>], words: &[&str]) -> bool {
    tokens.len() == words.len() && tokens.iter().zip(words).all(|(token, word)| token.is(word))
}

/// A placeholder stands for a value, never for an expression.
fn is_number(tokens: &[Token<'_>]) -> bool {
    matches!(tokens, [Token::Number | Token::Sign(b'?')])
}

/// `f(a), g() AS b`: releases alone, each with an alias if it may have one.
fn is_list(mut tokens: &[Token<'_>], aliases: bool) -> bool {
    loop {
        let Some(mut rest) = after_release(tokens) else { return false };
        if aliases {
            rest = after_alias(rest);
        }
        match rest {
            [] => return true,
            [Token::Sign(b','), more @ ..] => tokens = more,
            _ => return false,
        }
    }
}

fn after_release<'t, 'a>(tokens: &'t [Token<'a>]) -> Option<&'t [Token<'a>]> {
    let (name, rest) = tokens.split_first()?;
    let known = RELEASES.iter().any(|release| name.is(release));
    match rest {
        [Token::Sign(b'('), Token::Sign(b')'), after @ ..] if known => Some(after),
        [Token::Sign(b'('), argument, Token::Sign(b')'), after @ ..] if known && is_value(*argument) => {
            Some(after)
        }
        _ => None,
    }
}

/// A literal, a placeholder, a variable of the user's: nothing that is computed.
fn is_value(token: Token<'_>) -> bool {
    match token {
        Token::Text(_) | Token::Number | Token::Sign(b'?') => true,
        Token::Word([b'@', second, ..]) => *second != b'@',
        _ => false,
    }
}

fn after_alias<'t, 'a>(tokens: &'t [Token<'a>]) -> &'t [Token<'a>] {
    match tokens {
        [as_word, Token::Word(_) | Token::Name(_) | Token::Text(_), after @ ..] if as_word.is("as") => after,
        [Token::Word(_) | Token::Name(_) | Token::Text(_), after @ ..] => after,
        _ => tokens,
    }
}

/// `XA COMMIT x'61', 'b', 1 ONE PHASE`, `XA ROLLBACK 0x61`, `XA RECOVER FORMAT = 'SQL'`.
fn is_xa_end(rest: &[Token<'_>]) -> bool {
    let Some((verb, rest)) = rest.split_first() else { return false };
    if verb.is("recover") {
        return rest.len() <= 3 && !rest.contains(&Token::Sign(b'('));
    }
    let name = match rest {
        [name @ .., one, phase] if one.is("one") && phase.is("phase") => name,
        name => name,
    };
    let part = |part: &[Token<'_>]| match part {
        [Token::Text(_) | Token::Number] => true,
        [base, Token::Text(_)] => base.is("x") || base.is("b"),
        _ => false,
    };
    (verb.is("commit") || verb.is("rollback")) && name.split(|token| *token == Token::Sign(b',')).all(part)
}
