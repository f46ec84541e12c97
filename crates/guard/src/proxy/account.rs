//! How an account authenticates, and from where.
//!
//! On a unix-socket backend the server sees the guard's own system user. An account that authenticates by it
//! would be open to every client of the guard, and nothing in the login shows that: the server asks its kernel
//! and says OK. So the server is asked, by a question that every account may ask about itself.
//!
//! Of the answer, a result of one row, the account's own name is read exactly. A plugin's name anywhere behind it, if only in a
//! comment, counts as the plugin, and so does an answer that cannot be read.

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

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_wire::packet;

    /// The answer of a server, with an end of the definitions or without.
    fn answers(user: &str, host: &str, statement: &[u8]) -> [Vec<u8>; 2] {
        [true, false].map(|with_end| {
            let (mut out, mut number) = (Vec::new(), 1);
            let mut put =
                |payload: &[u8]| packet::put(&mut out, &mut number, |out| out.extend_from_slice(payload));
            put(&[1]);
            let name = format!("CREATE USER for {user}@{host}");
            put(&[
                b"\x03def\0\0\0",
                &[name.len() as u8][..],
                name.as_bytes(),
                b"\0\x0c-\0\0\x10\0\0\xfd\x01\0'\0\0",
            ]
            .concat());
            if with_end {
                put(b"\xfe\0\0\x02\0");
            }
            match statement.len() {
                length @ 0..0xfb => put(&[&[length as u8], statement].concat()),
                length => put(&[&[0xfc], &(length as u16).to_le_bytes()[..], statement].concat()),
            }
            put(if with_end { b"\xfe\0\0\x02\0" } else { b"\xfe\0\0\x02\0\0\0" });
            out
        })
    }

    /// A user `a@%` with `more` behind its name.
    fn of(more: &str) -> [Vec<u8>; 2] {
        answers("a", "%", format!("CREATE USER `a`@`%`{more}").as_bytes())
    }

    #[test]
    fn the_answer_of_a_real_server_is_read() {
        // MariaDB 10.11, for a client of each kind.
        let name = b"\x03def\0\0\0&CREATE USER for via unix_socket@local%\0\x0c-\0\0\x10\0\0\xfd\x01\0'\0\0";
        let row = b"&CREATE USER `via unix_socket`@`local%`";
        for answer in [
            [
                b"\x01\0\0\x01\x01<\0\0\x02",
                &name[..],
                b"\x05\0\0\x03\xfe\0\0\x02\0'\0\0\x04",
                row,
                b"\x05\0\0\x05\xfe\0\0\x02\0",
            ]
            .concat(),
            [b"\x01\0\0\x01\x01<\0\0\x02", &name[..], b"'\0\0\x03", row, b"\x07\0\0\x04\xfe\0\0\x02\0\0\0"]
                .concat(),
        ] {
            assert_eq!(host_of(&answer).as_deref(), Some(&b"local%"[..]));
            assert!(is_bound_to_host(&answer) && !names_socket_plugin(&answer));
        }
    }

    #[test]
    fn accounts_of_a_socket_are_known_by_their_plugin() {
        for more in [
            " IDENTIFIED VIA unix_socket",
            " IDENTIFIED VIA unix_socket USING 'other'",
            " IDENTIFIED VIA UNIX_SOCKET",
            " IDENTIFIED  VIA\n  unix_socket",
            " IDENTIFIED VIA `unix_socket`",
            " IDENTIFIED VIA unix_socket OR mysql_native_password USING '*94BDCEBE'",
            " IDENTIFIED VIA mysql_native_password USING 'invalid' OR unix_socket",
            " IDENTIFIED VIA ed25519 USING 'it''s' OR pam USING 'mariadb' OR unix_socket USING 'x' REQUIRE SSL",
            " IDENTIFIED VIA pam USING 'a\\'b\\\\' OR unix_socket",
            " IDENTIFIED WITH 'auth_socket' REQUIRE NONE PASSWORD EXPIRE DEFAULT ACCOUNT UNLOCK",
            " IDENTIFIED WITH `auth_socket` AS 'other'",
            " IDENTIFIED WITH auth_socket",
            " IDENTIFIED WITH 'caching_sha2_password' AS '$A$005$x' AND IDENTIFIED WITH 'auth_socket' REQUIRE NONE",
        ] {
            for answer in of(more) {
                assert!(names_socket_plugin(&answer), "{more}");
            }
        }
    }

    #[test]
    fn words_in_names_make_no_account_of_a_socket() {
        for more in [
            "",
            " IDENTIFIED BY PASSWORD '*94BDCEBE19083CE2A1F959FD02F964C7AF4CFC29'",
            " WITH MAX_QUERIES_PER_HOUR 7 PASSWORD EXPIRE INTERVAL 30 DAY ACCOUNT LOCK",
        ] {
            for answer in of(more) {
                assert!(!names_socket_plugin(&answer), "{more}");
            }
        }
        for (user, quoted) in [
            ("via unix_socket", "`via unix_socket`"),
            ("unix_socket", "`unix_socket`"),
            ("` VIA unix_socket", "``` VIA unix_socket`"),
            ("via unix_socket", "\"via unix_socket\""),
            ("' or unix_socket", "`' or unix_socket`"),
            ("auth_socket", "'auth_socket'"),
        ] {
            for answer in answers(user, "%", format!("CREATE USER {quoted}@`%`").as_bytes()) {
                assert!(!names_socket_plugin(&answer) && !is_bound_to_host(&answer), "{quoted}");
            }
        }
    }

    #[test]
    fn the_host_is_read_as_it_was_meant() {
        for (statement, host) in [
            ("CREATE USER `a`@`%` IDENTIFIED BY PASSWORD 'x'", "%"),
            ("CREATE USER `a`@`localhost`", "localhost"),
            ("CREATE USER `a@b`@`10.%`", "10.%"),
            ("CREATE USER `ba``ck`@`lo``c`", "lo`c"),
            (
                "CREATE USER `q'u`@`192.168.0.0/255.255.0.0` IDENTIFIED VIA unix_socket",
                "192.168.0.0/255.255.0.0",
            ),
            ("CREATE USER ``@`2001:db8::%`", "2001:db8::%"),
            ("CREATE USER \"a\"@\"%.example\"", "%.example"),
            ("CREATE USER 'a'@'%' IDENTIFIED WITH 'mysql_native_password'", "%"),
            ("CREATE USER `a`@`%`", "%"),
            ("CREATE USER `x`@`%``@``%`", "%`@`%"),
        ] {
            for answer in answers("a", "%", statement.as_bytes()) {
                assert_eq!(host_of(&answer).as_deref(), Some(host.as_bytes()), "{statement}");
                assert_eq!(is_bound_to_host(&answer), host != "%", "{statement}");
            }
        }
    }

    #[test]
    fn a_long_statement_is_read_to_its_end() {
        let comment = "x".repeat(300);
        for answer in of(&format!(" IDENTIFIED VIA pam USING '{comment}' OR unix_socket")) {
            assert!(names_socket_plugin(&answer) && !is_bound_to_host(&answer));
        }
    }

    #[test]
    fn what_cannot_be_read_is_taken_for_the_worse() {
        let good = &of(" IDENTIFIED BY PASSWORD 'x'")[0];
        assert!(!names_socket_plugin(good) && !is_bound_to_host(good));
        let end = b"\x05\0\0\x05\xfe\0\0\x02\0".len();
        for length in 0..good.len() - end {
            let cut = &good[..length];
            assert!(names_socket_plugin(cut) && is_bound_to_host(cut), "{length} bytes of it");
        }
        let two_columns = [b"\x01\0\0\x01\x02", &good[5..]].concat();
        assert!(names_socket_plugin(&two_columns));
        for statement in [
            &b"CREATE USER `a@`%`"[..],
            b"CREATE ROLE `a`@`%`",
            b"CREATE USER a@`%`",
            b"\0C\0R\0E\0A\0T\0E\0 \0U\0S\0E\0R\0 \0`\0a\0`\0@\0`\0%\0`",
        ] {
            for answer in answers("a", "%", statement) {
                assert!(names_socket_plugin(&answer) && is_bound_to_host(&answer), "{statement:?}");
            }
        }
    }
}
