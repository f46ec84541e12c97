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
