//! Passwords in statements, and on request all values, before they are written.

/// Whoever says one of these may say a password.
const SECRET: [&[u8]; 2] = [b"IDENTIFIED", b"PASSWORD"];

/// Replaces strings by `x` and hexadecimal numbers by `1` where the statement may have a password; with `all` in any statement, also
/// other numbers, and comments. What is left is as long, and a statement still.
pub fn mask(sql: &mut [u8], all: bool) {
    if !all && !SECRET.iter().any(|word| contains(sql, word)) {
        return;
    }
    // What each byte becomes; 0 leaves it.
    let mut masked = vec![0; sql.len()];
    // Whether a backslash escapes is the session's matter: what is a string by either rule is one.
    for escapes in [true, false] {
        mark(sql, (all, escapes), &mut masked);
    }
    for (byte, masked) in sql.iter_mut().zip(masked) {
        if masked > 0 {
            *byte = masked;
        }
    }
}

/// Marks the bytes inside strings, digits of numbers, and comments.
fn mark(sql: &[u8], (all, escapes): (bool, bool), masked: &mut [u8]) {
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
            b'#' => comment(rest, b"\n", all),
            b'-' if rest.starts_with(b"-- ") => comment(rest, b"\n", all),
            b'/' if rest.starts_with(b"/*") && !rest.starts_with(b"/*!") => comment(rest, b"*/", all),
            _ if is_hex => {
                let length = 2 + rest[2..].iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
                (length, Some(2..length))
            }
            _ if begins_word && byte.is_ascii_digit() => {
                let length = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
                (length, all.then_some(0..length))
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
fn comment(rest: &[u8], end: &[u8], all: bool) -> (usize, Option<std::ops::Range<usize>>) {
    let found = rest.windows(end.len()).skip(1).position(|part| part == end);
    let length = found.map_or(rest.len(), |found| found + 1 + end.len());
    (length, (all && length > 5).then_some(3..length - end.len()))
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

fn contains(sql: &[u8], word: &[u8]) -> bool {
    sql.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn masked(sql: &str, all: bool) -> String {
        let mut bytes = sql.as_bytes().to_vec();
        mask(&mut bytes, all);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    #[test]
    fn passwords_are_masked_in_whatever_stands_around_them() {
        for sql in [
            "CREATE USER 'a'@'%' identified by 's3cret'",
            "/* don't log */ CREATE USER a IDENTIFIED BY 's3cret'",
            "-- it's new\nSET PASSWORD FOR a = PASSWORD('s3cret')",
            "# it's new\nSET PASSWORD = 's3cret",
            "SELECT 'C:\\', 1; CREATE USER a IDENTIFIED BY 's3cret'",
            "SELECT 'it\\'s', 1; CREATE USER a IDENTIFIED BY \"it''s s3cret\"",
        ] {
            let said = masked(sql, false);
            assert!(!said.contains("s3cret") && said.len() == sql.len(), "{said}");
        }
        assert!(!masked("ALTER USER a IDENTIFIED WITH x AS 0x7333637265", false).contains("7333637265"));
        assert_eq!(masked("SELECT 'abc', 12", false), "SELECT 'abc', 12");
    }

    #[test]
    fn on_request_no_value_is_left() {
        let said = masked("SELECT t1.`a'b`, \"q\", -12.5e3, 0xAB /* who */ FROM t1 LIMIT 20", true);
        assert_eq!(said, "SELECT t1.`a'b`, \"x\", -11.1e3, 0x11 /* xxxx*/ FROM t1 LIMIT 11");
    }

    proptest! {
        #[test]
        fn any_bytes_stay_as_long(mut bytes in proptest::collection::vec(any::<u8>(), 0..80), all in any::<bool>()) {
            bytes.extend_from_slice(b" password '");
            let length = bytes.len();
            mask(&mut bytes, all);
            prop_assert_eq!(bytes.len(), length);
        }
    }
}
