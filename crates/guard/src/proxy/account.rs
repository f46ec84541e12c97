//! How an account authenticates, and from where.
//!
//! On a unix-socket backend the server sees the guard's own system user. An account that authenticates by it
//! would be open to every client of the guard, and nothing in the login shows that: the server asks its kernel
//! and says OK. So the server is asked, by a question that every account may ask about itself.
//!
//! Of the answer, a result of one row, the account's own name is read exactly. A plugin's name anywhere behind it, if only in a
//! comment, counts as the plugin, and so does an answer that cannot be read.

#[cfg(test)]
mod tests;

use evenkeel_wire::packet::HEADER_BYTES;

/// What the server is asked.
pub const QUESTION: &[u8] = b"SHOW CREATE USER CURRENT_USER()";

/// Plugins that ask the system who is at the other end of a socket: MariaDB's and MySQL's, and its name in early ones.
const SOCKET_PLUGINS: [&[u8]; 3] = [b"unix_socket", b"auth_socket", b"socket_peercred"];

/// Whether `SHOW CREATE USER` names a plugin that asks the system who is at the other end of a socket. True as well
/// where the answer cannot be read. A plugin of somebody else's that does the same under another name is not known.
pub fn names_socket_plugin(answer: &[u8]) -> bool {
    Account::read(answer).is_none_or(|account| {
        let names =
            |plugin: &[u8]| account.rest.windows(plugin.len()).any(|part| part.eq_ignore_ascii_case(plugin));
        SOCKET_PLUGINS.into_iter().any(names)
    })
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
struct Account<'a> {
    user: Vec<u8>,
    host: Vec<u8>,
    rest: &'a [u8],
}

impl<'a> Account<'a> {
    /// Reads ``CREATE USER `user`@`host` `` and what follows.
    fn read(answer: &'a [u8]) -> Option<Self> {
        let (user, rest) = quoted(statement(answer)?.strip_prefix(b"CREATE USER ")?)?;
        let (host, rest) = quoted(rest.strip_prefix(b"@")?)?;
        Some(Self { user, host, rest })
    }
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

/// What stands in quotes, and what follows. A quote stands twice where it is meant, and in a text, not in a name, a backslash
/// stands before what is meant.
fn quoted(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let (quote, text) = text.split_first().filter(|(quote, _)| b"`\"'".contains(quote))?;
    let (mut found, mut at) = (Vec::new(), 0);
    loop {
        let byte = text.get(at)?;
        let doubled = byte == quote && text.get(at + 1) == Some(quote);
        let escaped = *byte == b'\\' && *quote == b'\'';
        if byte == quote && !doubled {
            return Some((found, &text[at + 1..]));
        }
        at += usize::from(doubled || escaped);
        found.push(*text.get(at)?);
        at += 1;
    }
}
