//! Passwords in statements, and on request all values, before they are written.

/// Whoever says one of these may say a password.
const SECRET: [&[u8]; 2] = [b"IDENTIFIED", b"PASSWORD"];

/// Replaces the characters of strings by `x` where the statement may have a password; with `all` in any statement, and digits of
/// numbers by `1`. What is left is as long, and a statement still.
pub fn mask(sql: &mut [u8], all: bool) {
    if !all && !SECRET.iter().any(|word| contains(sql, word)) {
        return;
    }
    let mut at = 0;
    while let Some(&byte) = sql.get(at) {
        let is_number =
            byte.is_ascii_digit() && !at.checked_sub(1).is_some_and(|before| is_word(sql[before]));
        at = match byte {
            b'\'' | b'"' => quoted(sql, at, byte, true),
            b'`' => quoted(sql, at, byte, false),
            _ if is_number && all => {
                let end = sql[at..]
                    .iter()
                    .position(|byte| !byte.is_ascii_digit() && *byte != b'.')
                    .map_or(sql.len(), |length| at + length);
                sql[at..end].iter_mut().filter(|byte| byte.is_ascii_digit()).for_each(|byte| *byte = b'1');
                end
            }
            _ => at + 1,
        };
    }
}

/// Past the text in quotes that begins here. A backslash or a doubled quote does not end it.
fn quoted(sql: &mut [u8], start: usize, quote: u8, masks: bool) -> usize {
    let mut at = start + 1;
    while let Some(&byte) = sql.get(at) {
        let is_pair = byte == b'\\' && masks || byte == quote && sql.get(at + 1) == Some(&quote);
        if byte == quote && !is_pair {
            return at + 1;
        }
        let length = if is_pair { 2 } else { 1 };
        if masks {
            sql.iter_mut().skip(at).take(length).for_each(|byte| *byte = b'x');
        }
        at += length;
    }
    sql.len()
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

    #[test]
    fn passwords_are_masked_and_on_request_all_values() {
        for (sql, all, expected) in [
            (
                "CREATE USER 'a'@'%' identified by 'it''s \\' me'",
                false,
                "CREATE USER 'x'@'x' identified by 'xxxxxxxxxxxx'",
            ),
            ("SET PASSWORD = PASSWORD('abc", false, "SET PASSWORD = PASSWORD('xxx"),
            ("SELECT 'abc', 12", false, "SELECT 'abc', 12"),
            (
                "SELECT t1.`a'b`, \"q\", -12.5e3 FROM t1 LIMIT 20",
                true,
                "SELECT t1.`a'b`, \"x\", -11.1e3 FROM t1 LIMIT 11",
            ),
        ] {
            let mut bytes = sql.as_bytes().to_vec();
            mask(&mut bytes, all);
            assert_eq!(String::from_utf8_lossy(&bytes), expected);
        }
    }
}
