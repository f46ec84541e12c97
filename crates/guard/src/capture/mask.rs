//! Statements that hold the password of an account, and values that are masked on request.

/// Words behind which a server's statements have the password of an account, and what follows them: another word, or a sign.
const SECRETS: [(&[u8], &[&[u8]]); 5] = [
    (b"IDENTIFIED", &[b"BY", b"WITH", b"VIA", b"AS"]),
    (b"PASSWORD", &[b"(", b"'", b"\"", b"FOR"]),
    (b"SET PASSWORD", &[b""]),
    (b"MASTER_PASSWORD", &[b""]),
    (b"SOURCE_PASSWORD", &[b""]),
];

/// Whether it may hold the password of an account, as CREATE USER, SET PASSWORD and CHANGE MASTER do.
pub fn has_password(sql: &[u8]) -> bool {
    SECRETS.iter().any(|(word, next)| {
        let places = sql.windows(word.len()).enumerate().filter(|(_, part)| part.eq_ignore_ascii_case(word));
        places.into_iter().any(|(at, _)| {
            let rest = sql[at + word.len()..].trim_ascii_start();
            next.iter()
                .any(|next| rest.get(..next.len()).is_some_and(|start| start.eq_ignore_ascii_case(next)))
        })
    })
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
