//! SQL text as words, literals and signs; comments are passed over, executable comments are not.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    Word(&'a [u8]),
    Number,
    Text(&'a [u8]),
    Name(&'a [u8]),
    Sign(u8),
}

impl Token<'_> {
    /// Whether it is this keyword, in any case. A quoted name never is.
    #[inline]
    pub fn is(self, keyword: &str) -> bool {
        matches!(self, Self::Word(word) if word.eq_ignore_ascii_case(keyword.as_bytes()))
    }
}

/// Reads tokens; an end inside a token or comment ends the text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tokens<'a> {
    rest: &'a [u8],
    backslash_escapes: bool,
}

impl<'a> Tokens<'a> {
    pub fn new(text: &'a [u8], backslash_escapes: bool) -> Self {
        Self { rest: text, backslash_escapes }
    }

    pub fn number(mut self) -> Option<u32> {
        self.skip_blank();
        let digits = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        std::str::from_utf8(&self.rest[..digits]).ok()?.parse().ok()
    }

    /// White space, comments, and the frame of executable comments, whose content counts: a server may or
    /// may not run it, depending on its version.
    fn skip_blank(&mut self) {
        loop {
            self.rest = match self.rest {
                [first, rest @ ..] if first.is_ascii_whitespace() || *first == 0x0b => rest,
                [b'#', rest @ ..] => after_line(rest),
                [b'-', b'-'] => &[],
                [b'-', b'-', blank, rest @ ..] if *blank <= b' ' => after_line_from(*blank, rest),
                [b'/', b'*', b'!', rest @ ..] | [b'/', b'*', b'M', b'!', rest @ ..] => after_digits(rest),
                [b'/', b'*', rest @ ..] => after_comment(rest),
                [b'*', b'/', rest @ ..] => rest,
                _ => return,
            }
        }
    }

    fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.rest.split_at(count);
        self.rest = rest;
        taken
    }

    fn quoted(&mut self, quote: u8) -> &'a [u8] {
        let inside = &self.rest[1..];
        let escapes = self.backslash_escapes && quote != b'`';
        let mut at = 0;
        while let Some(&byte) = inside.get(at) {
            match byte {
                b'\\' if escapes => at += 1,
                _ if byte == quote && inside.get(at + 1) == Some(&quote) => at += 1,
                _ if byte == quote => break,
                _ => {}
            }
            at += 1;
        }
        let end = at.min(inside.len());
        self.rest = inside.get(end + 1..).unwrap_or_default();
        &inside[..end]
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        self.skip_blank();
        let first = *self.rest.first()?;
        Some(match first {
            b'\'' | b'"' => Token::Text(self.quoted(first)),
            b'`' => Token::Name(self.quoted(first)),
            b'0'..=b'9' => {
                let length = self.rest.iter().take_while(|byte| is_word(**byte) || **byte == b'.').count();
                self.take(length);
                Token::Number
            }
            _ if is_word(first) => {
                let length = self.rest.iter().take_while(|byte| is_word(**byte)).count();
                Token::Word(self.take(length))
            }
            _ => {
                self.take(1);
                Token::Sign(first)
            }
        })
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'@') || byte >= 0x80
}

fn after_line(rest: &[u8]) -> &[u8] {
    rest.iter().position(|byte| *byte == b'\n').map_or(&[], |end| &rest[end + 1..])
}

fn after_line_from(blank: u8, rest: &[u8]) -> &[u8] {
    if blank == b'\n' { rest } else { after_line(rest) }
}

fn after_digits(rest: &[u8]) -> &[u8] {
    let digits = rest.iter().take(6).take_while(|byte| byte.is_ascii_digit()).count();
    &rest[digits..]
}

fn after_comment(rest: &[u8]) -> &[u8] {
    rest.windows(2).position(|two| two == b"*/").map_or(&[], |end| &rest[end + 2..])
}

// Statements that do nothing but give back what they hold, or end somebody else's work.
//
// These alone pass without a permit, so the reading is a narrow one: each form is spelt out, and whatever
// else stands in the statement (another function, a subquery, an assignment, a table) makes it work like
// any other. A release that is refused here still never waits in the session that holds something: its
// session does not queue at all.

/// The functions that give named locks back. All servers know them by themselves, so that no stored function
/// can take their place; those of MySQL's locking service are loaded by name and could be anybody's.
const RELEASES: [&str; 2] = ["release_lock", "release_all_locks"];

/// Whether a server of any version, character set and mode of quoting reads this text as [`Token`]s do: in
/// some, a backslash is part of a letter or of a quoted name, and an executable comment counts or does not.
pub(super) fn is_plain(text: &[u8]) -> bool {
    let plain = |byte: &u8| byte.is_ascii() && !matches!(byte, b'\\' | 0);
    let executable = |from: &[u8]| from.starts_with(b"/*!") || from.starts_with(b"/*M!");
    text.iter().all(plain)
        && (!text.contains(&b'!') || !text.windows(4).any(executable) && !text.ends_with(b"/*!"))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let show = |token| match token {
            Token::Word(word) => String::from_utf8_lossy(word).into_owned(),
            Token::Number => "0".to_string(),
            Token::Text(text) => format!("'{}'", String::from_utf8_lossy(text)),
            Token::Name(name) => format!("`{}`", String::from_utf8_lossy(name)),
            Token::Sign(sign) => char::from(sign).to_string(),
        };
        Tokens::new(text.as_bytes(), true).map(show).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn text_is_cut_into_tokens() {
        for (text, expected) in [
            ("select  a.b,1.5e3", "select a . b , 0"),
            ("/* c */ -- line\n# other\nx", "x"),
            ("a--1", "a - - 0"),
            ("--\nx", "x"),
            ("--", ""),
            ("/*!40101 SET x */", "SET x"),
            ("/*M!100100 y*/z", "y z"),
            ("/*+ HINT(t) */ z", "z"),
            ("'it''s' \"a\\\"b\" `a``b`", "'it''s' 'a\\\"b' `a``b`"),
            ("'open", "'open'"),
            ("'open\\", "'open\\'"),
            ("/* open", ""),
            ("@a:=@@b", "@a : = @@b"),
            ("тест", "тест"),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn a_backslash_is_one_where_the_session_says_so() {
        let tokens: Vec<_> = Tokens::new(b"'a\\' b", false).collect();
        assert_eq!(tokens, [Token::Text(b"a\\"), Token::Word(b"b")]);
    }
}
