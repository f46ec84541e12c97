//! Cuts a statement into words, names, placeholders and signs.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind<'a> {
    /// A keyword, name or number, with dots, and the exponent of a number.
    Word,
    /// A name in backticks, perhaps behind a schema.
    QuotedName,
    /// A named placeholder or a bare one.
    Placeholder(Option<&'a str>),
    /// A comment or white space.
    Space,
    /// A text, or any other sign.
    Other,
}

/// The parts of a text, which together are the text.
pub(super) fn tokens(text: &str) -> impl Iterator<Item = (Kind<'_>, &str)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (kind, length) = next_token(rest)?;
        let (piece, after) = rest.split_at(length);
        rest = after;
        Some((kind, piece))
    })
}

fn next_token(rest: &str) -> Option<(Kind<'_>, usize)> {
    let first = rest.chars().next()?;
    let token = |kind, length| Some((kind, length));
    if let Some(comment) = rest.strip_prefix("/*") {
        return token(Kind::Space, comment.find("*/").map_or(rest.len(), |end| end + 4));
    }
    if first == '#' || rest.starts_with("-- ") || rest.starts_with("--\n") {
        return token(Kind::Space, rest.find('\n').unwrap_or(rest.len()));
    }
    match first {
        '\'' | '"' => token(Kind::Other, quoted(rest, first)),
        '`' => token(Kind::QuotedName, quoted(rest, first)),
        '?' => token(Kind::Placeholder(None), 1),
        ':' => {
            let name = &rest[1..1 + word(&rest[1..])];
            let named = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
            if named { token(Kind::Placeholder(Some(name)), 1 + name.len()) } else { token(Kind::Other, 1) }
        }
        _ if first.is_whitespace() => token(Kind::Space, first.len_utf8()),
        _ if is_word(first) => token(Kind::Word, with_exponent(rest, dotted_word(rest))),
        _ => token(Kind::Other, first.len_utf8()),
    }
}

/// Length of a text or name with its quotes; a doubled quote stands for one, and in texts so does one behind
/// a backslash.
fn quoted(rest: &str, quote: char) -> usize {
    let mut signs = rest.char_indices().skip(1).peekable();
    while let Some((index, sign)) = signs.next() {
        if sign == '\\' && quote != '`' {
            signs.next();
        } else if sign == quote && signs.next_if(|(_, next)| *next == quote).is_none() {
            return index + 1;
        }
    }
    rest.len()
}

/// The length of a number with its exponent, whose sign is no part of a word.
fn with_exponent(rest: &str, length: usize) -> usize {
    let begins = rest.starts_with(|sign: char| sign.is_ascii_digit());
    let is_open = begins && !rest.starts_with("0x") && rest[..length].ends_with(['e', 'E']);
    let behind = rest[length..].strip_prefix(['+', '-']).filter(|_| is_open);
    let digits = behind.map_or(0, |digits| digits.bytes().take_while(u8::is_ascii_digit).count());
    if digits > 0 { length + 1 + digits } else { length }
}

/// Whether a list of words between blanks has this one.
pub(super) fn is_among(word: &str, list: &str) -> bool {
    list.split(' ').any(|own| own == word)
}

fn is_word(sign: char) -> bool {
    sign.is_alphanumeric() || sign == '_' || sign == '$'
}

fn word(rest: &str) -> usize {
    rest.find(|sign| !is_word(sign)).unwrap_or(rest.len())
}

fn dotted_word(rest: &str) -> usize {
    rest.find(|sign| !is_word(sign) && sign != '.').unwrap_or(rest.len())
}
