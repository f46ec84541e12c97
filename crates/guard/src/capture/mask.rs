//! Statements that hold the password of an account, and values that are masked on request.

use memchr::memchr2_iter;

/// Whether it may hold the password of an account, as CREATE USER, SET PASSWORD and CHANGE MASTER do. What an application stores as a
/// password is data.
pub fn has_password(sql: &[u8]) -> bool {
    // By a rare letter of each word: every statement of the load is looked through.
    let identified = around(sql, b"IDENTIFIED", 6, |_, after| {
        [&b"BY"[..], b"WITH", b"VIA", b"AS"].iter().any(|word| begins(after, word))
    });
    identified
        || around(sql, b"PASSWORD", 4, |before, after| {
            [&b"("[..], b"'", b"\""].iter().any(|sign| begins(after, sign))
                || ends(before, b"MASTER_")
                || ends(before, b"SOURCE_")
                || ends(before, b"SET") && is_start(&before[..before.len() - 3])
        })
}

/// Whether the word stands somewhere between texts that are `right`, without the blanks around it; `letter` is the place of a letter in it.
fn around(sql: &[u8], word: &[u8], letter: usize, right: impl Fn(&[u8], &[u8]) -> bool) -> bool {
    let places = memchr2_iter(word[letter], word[letter].to_ascii_lowercase(), sql);
    places.filter_map(|at| at.checked_sub(letter)).any(|at| {
        begins(&sql[at..], word)
            && right(sql[..at].trim_ascii_end(), sql[at + word.len()..].trim_ascii_start())
    })
}

fn begins(text: &[u8], word: &[u8]) -> bool {
    text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
}

fn ends(text: &[u8], word: &[u8]) -> bool {
    text.len().checked_sub(word.len()).is_some_and(|at| text[at..].eq_ignore_ascii_case(word))
}

/// Whether a statement begins behind this text: UPDATE t SET password is none of an account.
fn is_start(before: &[u8]) -> bool {
    let before = before.trim_ascii_end();
    let line = before.rsplit(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii_start();
    before.is_empty()
        || [&b";"[..], b"*/"].iter().any(|end| before.ends_with(end))
        || [&b"--"[..], b"#"].iter().any(|start| line.starts_with(start))
}

/// Replaces values by `x` and `1`, in comments too. What is left is as long, and a statement still.
pub fn mask(sql: &mut [u8]) {
    // What each byte becomes; 0 leaves it.
    let mut masked = vec![0; sql.len()];
    // Whether a backslash escapes is the session's matter: what is a string by either rule is one.
    for escapes in [true, false] {
        mark(sql, escapes, &mut masked);
    }
    for (byte, masked) in sql.iter_mut().zip(masked) {
        if masked > 0 {
            *byte = masked;
        }
    }
}

/// Marks the bytes inside strings, digits of numbers, and comments.
fn mark(sql: &[u8], escapes: bool, masked: &mut [u8]) {
    let mut at = 0;
    while let Some(&byte) = sql.get(at) {
        let rest = &sql[at..];
        let begins_word = !at.checked_sub(1).is_some_and(|before| is_word(sql[before]));
        let is_hex = begins_word && (rest.starts_with(b"0x") || rest.starts_with(b"0X"));
        let (length, inner) = match byte {
            b'\'' | b'"' => {
                let length = quoted(rest, byte, escapes);
                (length, Some(1..length - usize::from(length > 1 && rest[length - 1] == byte)))
            }
            b'`' => (quoted(rest, byte, false), None),
            b'#' => comment(rest, b"\n"),
            b'-' if rest.starts_with(b"-- ") => comment(rest, b"\n"),
            b'/' if rest.starts_with(b"/*") && !rest.starts_with(b"/*!") => comment(rest, b"*/"),
            _ if is_hex => {
                let length = 2 + rest[2..].iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
                (length, Some(2..length))
            }
            _ if begins_word && byte.is_ascii_digit() => {
                let length = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
                (length, Some(0..length))
            }
            _ => (1, None),
        };
        let is_number = byte.is_ascii_digit();
        for inside in inner.into_iter().flatten() {
            let of = &mut masked[at + inside];
            *of = (*of).max(if is_number { b'1' } else { b'x' });
        }
        at += length;
    }
}

/// Length of a comment; what of it is masked.
fn comment(rest: &[u8], end: &[u8]) -> (usize, Option<std::ops::Range<usize>>) {
    let found = rest.windows(end.len()).skip(1).position(|part| part == end);
    let length = found.map_or(rest.len(), |found| found + 1 + end.len());
    (length, (length > 5).then_some(3..length - end.len()))
}

/// Length of the text in quotes that begins here. A backslash or a doubled quote does not end it.
fn quoted(rest: &[u8], quote: u8, escapes: bool) -> usize {
    let mut at = 1;
    while let Some(&byte) = rest.get(at) {
        let is_pair = byte == b'\\' && escapes || byte == quote && rest.get(at + 1) == Some(&quote);
        if byte == quote && !is_pair {
            return at + 1;
        }
        at += if is_pair { 2 } else { 1 };
    }
    rest.len()
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn statements_with_the_password_of_an_account_are_known_and_others_are_not() {
        for sql in [
            "CREATE USER 'a'@'%' identified by 's3cret'",
            "/* don't log */ ALTER USER a IDENTIFIED  WITH x AS 0x7333637265",
            "-- it's new\nSET PASSWORD FOR a = PASSWORD('s3cret')",
            "set password = 's3cret'",
            "SELECT 1; set\tpassword for a = 's3cret'",
            "SELECT 1; GRANT ALL ON *.* TO a IDENTIFIED BY 's3cret'",
            "CHANGE MASTER TO MASTER_PASSWORD='s3cret'",
            "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (PASSWORD 's3cret')",
            "UPDATE mysql.user SET authentication_string = PASSWORD ('s3cret')",
        ] {
            assert!(has_password(sql.as_bytes()), "{sql}");
        }
        for sql in [
            "SELECT id, password FROM users WHERE email = 'a'",
            "SELECT id FROM users WHERE email = 'a' AND password='b'",
            "INSERT INTO users (name, password) VALUES ('a', 'b')",
            "SELECT 'identified'",
            "UPDATE users SET password = 'a' WHERE id = 1",
            "INSERT INTO users SET password='a'",
            "INSERT INTO mail VALUES ('Reset your password for the shop')",
        ] {
            assert!(!has_password(sql.as_bytes()), "{sql}");
        }
    }

    #[test]
    fn on_request_no_value_is_left() {
        let mut sql = b"SELECT t1.`a'b`, \"q\", -12.5e3, 0xAB /* who */ FROM t1 LIMIT 20".to_vec();
        mask(&mut sql);
        let said = String::from_utf8_lossy(&sql);
        assert_eq!(said, "SELECT t1.`a'b`, \"x\", -11.1e3, 0x11 /* xxxx*/ FROM t1 LIMIT 11");
    }

    proptest! {
        #[test]
        fn any_bytes_stay_as_long(mut bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let length = bytes.len();
            let _ = has_password(&bytes);
            mask(&mut bytes);
            prop_assert_eq!(bytes.len(), length);
        }
    }
}
