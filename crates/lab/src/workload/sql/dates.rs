//! Dates in statements, moved so that they mean the same relative to today.

use super::token::tokens;
use jiff::ToSpan;
use jiff::civil::Date;
use std::borrow::Cow;

/// `YYYY-MM-DD`.
const DATE_BYTES: usize = 10;

/// The statement with each text that begins with a date, alone or before a time, so many days later. One that is not UTF-8 stays.
pub fn shifted(sql: &[u8], days: i32) -> Cow<'_, [u8]> {
    let Some(text) = std::str::from_utf8(sql).ok().filter(|_| days != 0) else { return Cow::Borrowed(sql) };
    let mut moved = String::with_capacity(text.len());
    for (_, piece) in tokens(text) {
        match later(piece, days) {
            Some(date) => {
                moved.push_str(&piece[..1]);
                moved.push_str(&date);
                moved.push_str(&piece[1 + DATE_BYTES..]);
            }
            None => moved.push_str(piece),
        }
    }
    Cow::Owned(moved.into_bytes())
}

/// The date at the front of a text in quotes, so many days later.
fn later(piece: &str, days: i32) -> Option<String> {
    let text = piece.strip_prefix(['\'', '"'])?;
    let (date, rest) = text.split_at_checked(DATE_BYTES)?;
    let is_plain = date.bytes().enumerate().all(|(at, byte)| match at {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    });
    if !is_plain || !rest.starts_with(['\'', '"', ' ', 'T']) {
        return None;
    }
    let date: Date = date.parse().ok()?;
    Some(date.checked_add(days.days()).ok()?.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_move_and_nothing_else_does() {
        for (sql, expected) in [
            (
                "SELECT * FROM c WHERE d >= '2012-02-28 10:00:00'",
                "SELECT * FROM c WHERE d >= '2012-03-01 10:00:00'",
            ),
            (
                "SELECT DATE\"2011-12-31\", '2011-12-31T01:00'",
                "SELECT DATE\"2012-01-02\", '2012-01-02T01:00'",
            ),
            ("SELECT '2011-13-31', '2011-1-1', '2011-12-31x', 2011-12-31 -- '2011-12-31'", ""),
            ("SELECT 'it''s 2011-12-31', `2011-12-31`, '9999-12-31', '0000-00-00'", ""),
        ] {
            let expected = if expected.is_empty() { sql } else { expected };
            assert_eq!(String::from_utf8_lossy(&shifted(sql.as_bytes(), 2)), expected);
        }
        assert_eq!(shifted(b"SELECT '2011-12-31', '\xff'", 2), &b"SELECT '2011-12-31', '\xff'"[..]);
    }
}
