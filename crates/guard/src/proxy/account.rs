//! How an account authenticates, and from where.
//!
//! On a unix-socket backend the server sees the guard's own system user. An account that authenticates by it
//! would be open to every client of the guard, and nothing in the login shows that: the server asks its kernel
//! and says OK. So the server is asked, by a question that every account may ask about itself.
//!
//! Names, comments and hashes in the answer are other people's texts, and some of them sound like the words that are
//! looked for. So the answer is read as what it is: a result of one row, and in it a statement of words and quoted texts.
//! What cannot be read so is taken for the worse.

#[cfg(test)]
mod tests;

use evenkeel_wire::packet::HEADER_BYTES;

/// What the server is asked.
pub const QUESTION: &[u8] = b"SHOW CREATE USER CURRENT_USER()";

/// Plugins that ask the system who is at the other end of a socket: MariaDB's and MySQL's, and its name in early ones.
const SOCKET_PLUGINS: [&[u8]; 3] = [b"unix_socket", b"auth_socket", b"socket_peercred"];
/// Words before the name of a plugin.
const BEFORE_PLUGINS: [&[u8]; 3] = [b"via", b"or", b"with"];

/// Whether `SHOW CREATE USER` names a plugin that asks the system who is at the other end of a socket. True as well
/// where the answer cannot be read. A plugin of somebody else's that does the same under another name is not known.
pub fn names_socket_plugin(answer: &[u8]) -> bool {
    Account::read(answer).is_none_or(|account| account.names_socket_plugin())
}

/// The host in the name of the account: `user@host`, as the server keeps it, `%` for all.
pub fn host_of(answer: &[u8]) -> Option<Vec<u8>> {
    Account::read(answer).map(|account| account.host)
}

/// Whether the account is for some hosts only. Through a guard all clients come from the guard's. True as well where
/// the answer cannot be read.
pub fn is_bound_to_host(answer: &[u8]) -> bool {
    host_of(answer).is_none_or(|host| host != b"%")
}

/// The user in the name of the account, empty for an anonymous one.
pub fn user_of(answer: &[u8]) -> Option<Vec<u8>> {
    Account::read(answer).map(|account| account.user)
}

/// What the statement that would create the account says of it.
struct Account {
    user: Vec<u8>,
    host: Vec<u8>,
    rest: Vec<Token>,
}

impl Account {
    /// Reads ``CREATE USER `user`@`host` `` and more.
    fn read(answer: &[u8]) -> Option<Self> {
        let mut tokens = tokens(statement(answer)?)?.into_iter();
        let mut next_is = |word: &[u8]| tokens.next().is_some_and(|token| token.is_word(word));
        if !(next_is(b"create") && next_is(b"user")) {
            return None;
        }
        match (tokens.next()?, tokens.next()?, tokens.next()?) {
            (Token::Quoted(user), Token::Sign(b'@'), Token::Quoted(host)) => {
                Some(Self { user, host, rest: tokens.collect() })
            }
            _ => None,
        }
    }

    /// A plugin's name stands bare, or in quotes behind the word that announces it; all other texts are in quotes.
    fn names_socket_plugin(&self) -> bool {
        let before = std::iter::once(None).chain(self.rest.iter().map(Some));
        before.zip(&self.rest).any(|(before, token)| match token {
            Token::Word(name) => is_socket_plugin(name),
            Token::Quoted(name) => {
                let announced =
                    before.is_some_and(|token| BEFORE_PLUGINS.iter().any(|word| token.is_word(word)));
                announced && is_socket_plugin(name)
            }
            Token::Sign(_) => false,
        })
    }
}

fn is_socket_plugin(name: &[u8]) -> bool {
    SOCKET_PLUGINS.iter().any(|plugin| name.eq_ignore_ascii_case(plugin))
}

/// The only text in the only row of a result: behind the packets of its count of columns and of its column, and behind
/// an end of the definitions where the client wants one.
fn statement(answer: &[u8]) -> Option<&[u8]> {
    let mut rest = answer;
    let count = packet(&mut rest)?;
    let _definition = packet(&mut rest)?;
    let mut row = packet(&mut rest)?;
    if row.first() == Some(&0xfe) && row.len() < 9 {
        row = packet(&mut rest)?;
    }
    if count.first() == Some(&1) { text(row) } else { None }
}

fn packet<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (header, after) = rest.split_at_checked(HEADER_BYTES)?;
    let length = usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16;
    let (payload, after) = after.split_at_checked(length)?;
    *rest = after;
    Some(payload)
}

/// A text behind its length, and nothing behind it.
fn text(row: &[u8]) -> Option<&[u8]> {
    let (length, text) = match *row {
        [length @ ..=0xfa, ref text @ ..] => (usize::from(length), text),
        [0xfc, a, b, ref text @ ..] => (usize::from(u16::from_le_bytes([a, b])), text),
        [0xfd, a, b, c, ref text @ ..] => (u32::from_le_bytes([a, b, c, 0]) as usize, text),
        _ => return None,
    };
    (text.len() == length).then_some(text)
}

#[derive(Debug, PartialEq, Eq)]
enum Token {
    Word(Vec<u8>),
    Quoted(Vec<u8>),
    Sign(u8),
}

impl Token {
    fn is_word(&self, word: &[u8]) -> bool {
        matches!(self, Self::Word(found) if found.eq_ignore_ascii_case(word))
    }
}

/// All of a statement; none where a quote has no end.
fn tokens(mut text: &[u8]) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    while let Some((&first, rest)) = text.split_first() {
        let (token, rest) = match first {
            b'`' | b'"' | b'\'' => quoted(first, rest).map(|(quoted, rest)| (Token::Quoted(quoted), rest))?,
            b' ' | b'\t' | b'\r' | b'\n' => {
                text = rest;
                continue;
            }
            _ if is_of_word(first) => {
                let end = text.iter().position(|byte| !is_of_word(*byte)).unwrap_or(text.len());
                (Token::Word(text[..end].to_vec()), &text[end..])
            }
            sign => (Token::Sign(sign), rest),
        };
        tokens.push(token);
        text = rest;
    }
    Some(tokens)
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// What stands in quotes up to the end of them, and what follows. A quote stands twice where it is meant, and in a text,
/// not in a name, a backslash stands before what is meant.
fn quoted(quote: u8, text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let (mut found, mut at) = (Vec::new(), 0);
    loop {
        let byte = *text.get(at)?;
        let doubled = byte == quote && text.get(at + 1) == Some(&quote);
        let escaped = byte == b'\\' && quote == b'\'';
        if byte == quote && !doubled {
            return Some((found, &text[at + 1..]));
        }
        at += usize::from(doubled || escaped);
        found.push(*text.get(at)?);
        at += 1;
    }
}
