//! The values of a column in one form, from wherever they come.

use crate::table::FoundColumn;

/// What a column stores, as far as values that are the same can be written in several ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// An exact number, or one of double precision, which the server writes with all its digits.
    Number,
    /// A number of single precision, which the server hands out as one of double precision.
    Single,
    Instant,
    Clock,
    /// Text that has lost its blanks at the end.
    Char,
    /// Text, compared byte by byte.
    Text,
    /// Bytes that have zeroes at their end.
    Padded,
    /// Bytes in no character set.
    Bytes,
}

/// Who says a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Says {
    /// A file whose text is UTF-8 or ASCII.
    File,
    /// A file whose text is what the servers call latin1.
    Latin1File,
    Server,
}

/// Before a value in its form, before one that is left as it is, and in place of NULL.
const MARKS: (u8, u8, u8) = (1, 2, 0);

impl Form {
    pub fn of(column: &FoundColumn) -> Self {
        match (column.data_type.as_str(), column.charset.is_some()) {
            (
                "tinyint" | "smallint" | "mediumint" | "int" | "bigint" | "decimal" | "double" | "year"
                | "bit",
                _,
            ) => Self::Number,
            ("float", _) => Self::Single,
            ("date" | "datetime" | "timestamp", _) => Self::Instant,
            ("time", _) => Self::Clock,
            ("char", true) => Self::Char,
            ("binary", _) => Self::Padded,
            (_, true) => Self::Text,
            (_, false) => Self::Bytes,
        }
    }

    /// Appends a value, marked so that nothing else begins as it does, with its length.
    pub fn put(self, value: Option<&[u8]>, says: Says, out: &mut Vec<u8>) {
        let (mark, as_is, null) = MARKS;
        let Some(value) = value else { return out.push(null) };
        let begin = out.len();
        out.extend_from_slice(&[mark, 0, 0, 0, 0]);
        if !self.put_bare(value, says, out) {
            out.truncate(begin + 5);
            out[begin] = as_is;
            out.extend_from_slice(value);
        }
        let length = (out.len() - begin - 5) as u32;
        out[begin + 1..begin + 5].copy_from_slice(&length.to_le_bytes());
    }

    /// Appends its form; `false` where it is nothing that such a column stores.
    fn put_bare(self, value: &[u8], says: Says, out: &mut Vec<u8>) -> bool {
        match self {
            Self::Number => put_number(value, out),
            Self::Single if says == Says::Server => put_single(value, out),
            Self::Single => put_number(value, out),
            Self::Instant => put_instant(value, out),
            Self::Clock => put_clock(value, out),
            Self::Char => put_text(without_last(value, b' '), says, out),
            Self::Text => put_text(value, says, out),
            Self::Padded => put_bytes(without_last(value, 0), out),
            Self::Bytes => put_bytes(value, out),
        }
    }
}

fn put_bytes(value: &[u8], out: &mut Vec<u8>) -> bool {
    out.extend_from_slice(value);
    true
}

fn without_last(value: &[u8], padding: u8) -> &[u8] {
    let end = value.iter().rposition(|byte| *byte != padding).map_or(0, |last| last + 1);
    &value[..end]
}

fn put_text(value: &[u8], says: Says, out: &mut Vec<u8>) -> bool {
    if says != Says::Latin1File || value.is_ascii() {
        return put_bytes(value, out);
    }
    let mut letter = [0; 4];
    for byte in value {
        let found = match byte {
            0x80..=0x9f => WINDOWS[usize::from(byte - 0x80)],
            byte => char::from(*byte),
        };
        out.extend_from_slice(found.encode_utf8(&mut letter).as_bytes());
    }
    true
}

/// What the servers' latin1 has from 0x80 on: Windows' code page 1252, with its five holes as control characters.
const WINDOWS: [char; 32] = [
    '\u{20ac}', '\u{81}', '\u{201a}', '\u{192}', '\u{201e}', '\u{2026}', '\u{2020}', '\u{2021}', '\u{2c6}',
    '\u{2030}', '\u{160}', '\u{2039}', '\u{152}', '\u{8d}', '\u{17d}', '\u{8f}', '\u{90}', '\u{2018}',
    '\u{2019}', '\u{201c}', '\u{201d}', '\u{2022}', '\u{2013}', '\u{2014}', '\u{2dc}', '\u{2122}', '\u{161}',
    '\u{203a}', '\u{153}', '\u{9d}', '\u{17e}', '\u{178}',
];

/// The shortest number that is stored as this one: `0.1` where the server says 0.10000000149011612.
fn put_single(value: &[u8], out: &mut Vec<u8>) -> bool {
    let number = std::str::from_utf8(value).ok().and_then(|text| text.parse::<f64>().ok());
    number.is_some_and(|number| put_number(format!("{:e}", number as f32).as_bytes(), out))
}

/// Fourteen digits, and those of a fraction that are not zero.
fn put_instant(value: &[u8], out: &mut Vec<u8>) -> bool {
    let Some((digits, fraction)) = instant(value) else { return false };
    out.extend_from_slice(&digits);
    out.extend_from_slice(without_last(fraction, b'0'));
    true
}

fn instant(value: &[u8]) -> Option<([u8; 14], &[u8])> {
    // As the converter and the server write nearly all.
    if let Ok(digits) = <[u8; 14]>::try_from(value)
        && value.iter().all(u8::is_ascii_digit)
    {
        return Some((digits, &[]));
    }
    let (whole, fraction) = split_fraction(value)?;
    let (mut digits, mut count) = ([b'0'; 14], 0);
    for byte in whole.iter().filter(|byte| !b"-/: T".contains(byte)) {
        *digits.get_mut(count)? = Some(*byte).filter(u8::is_ascii_digit)?;
        count += 1;
    }
    matches!(count, 8 | 14).then_some((digits, fraction))
}

/// Six digits of `hh:mm:ss`, `h:mm:ss` or `hhmmss`, and those of a fraction that are not zero.
fn put_clock(value: &[u8], out: &mut Vec<u8>) -> bool {
    let Some((whole, fraction)) = split_fraction(value) else { return false };
    let digits: Vec<u8> = whole.iter().copied().filter(|byte| *byte != b':').collect();
    out.extend_from_slice(&b"0"[..usize::from(digits.len() == 5)]);
    out.extend_from_slice(&digits);
    out.extend_from_slice(without_last(fraction, b'0'));
    matches!(digits.len(), 5 | 6) && digits.iter().all(u8::is_ascii_digit)
}

/// What stands before a point, and the digits behind it.
fn split_fraction(value: &[u8]) -> Option<(&[u8], &[u8])> {
    let Some(at) = memchr::memchr(b'.', value) else { return Some((value, &[])) };
    let fraction = &value[at + 1..];
    fraction.iter().all(u8::is_ascii_digit).then_some((&value[..at], fraction))
}

/// Appends a number as sign, digits without zeroes at either end, and a power of ten: `-1.50` is `-15e-1`. What is no number
/// appends nothing and is `false`.
pub(super) fn put_number(text: &[u8], out: &mut Vec<u8>) -> bool {
    let (negative, text) = match text.trim_ascii() {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        text => (false, text),
    };
    let plain = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    let (whole, rest) = text.split_at(plain);
    let (behind, power) = match rest {
        [] => (&[][..], 0),
        rest => match split_behind(rest) {
            Some(found) => found,
            None => return false,
        },
    };
    if whole.is_empty() && behind.is_empty() {
        return false;
    }
    let before = out.len();
    if negative {
        out.push(b'-');
    }
    let digits = out.len();
    let whole = without_first(whole);
    out.extend_from_slice(whole);
    out.extend_from_slice(if whole.is_empty() { without_first(behind) } else { behind });
    let with_zeroes = out.len();
    out.truncate(digits + without_last(&out[digits..], b'0').len());
    if out.len() == digits {
        // Zero has no sign.
        out.truncate(before);
        out.push(b'0');
        return true;
    }
    match power - behind.len() as i64 + (with_zeroes - out.len()) as i64 {
        power @ 0..=9 => out.extend_from_slice(&[b'e', b'0' + power as u8]),
        power => out.extend_from_slice(format!("e{power}").as_bytes()),
    }
    true
}

/// Without zeroes at its beginning.
fn without_first(digits: &[u8]) -> &[u8] {
    &digits[digits.iter().position(|digit| *digit != b'0').unwrap_or(digits.len())..]
}

/// The digits of a fraction and a power of ten, of what stands behind the digits before the point.
fn split_behind(rest: &[u8]) -> Option<(&[u8], i64)> {
    let (fraction, power) = split_power(rest)?;
    let behind = if fraction.is_empty() { fraction } else { fraction.strip_prefix(b".")? };
    behind.iter().all(u8::is_ascii_digit).then_some((behind, power))
}

/// What stands before an `e`, and the power of ten behind it.
fn split_power(text: &[u8]) -> Option<(&[u8], i64)> {
    let Some(at) = text.iter().position(|byte| matches!(byte, b'e' | b'E')) else { return Some((text, 0)) };
    let power = std::str::from_utf8(&text[at + 1..]).ok()?.parse::<i32>().ok()?;
    Some((&text[..at], power.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(form: Form, says: Says, value: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        form.put(Some(value), says, &mut out);
        out
    }

    fn same(form: Form, file: &[u8], server: &[u8]) -> bool {
        of(form, Says::File, file) == of(form, Says::Server, server)
    }

    #[test]
    fn what_the_server_returns_of_a_value_is_that_value() {
        for (form, file, server) in [
            (Form::Number, &b"+007"[..], &b"7"[..]),
            (Form::Number, b"7", b"0007"),
            (Form::Number, b"-0", b"0"),
            (Form::Number, b"1.5", b"1.50"),
            (Form::Number, b".5", b"0.500"),
            (Form::Single, b"0.1", b"0.10000000149011612"),
            (Form::Single, b"1234567", b"1234567"),
            (Form::Instant, b"20260801000005", b"2026-08-01 00:00:05"),
            (Form::Instant, b"20260801000005", b"2026-08-01 00:00:05.000000"),
            (Form::Instant, b"20260801", b"2026-08-01"),
            (Form::Instant, b"20260801", b"2026-08-01 00:00:00"),
            (Form::Clock, b"9:05:00", b"09:05:00"),
            (Form::Char, b"ada  ", b"ada"),
            (Form::Padded, b"ada", b"ada\0\0"),
            (Form::Text, b"a;\\b", b"a;\\b"),
        ] {
            assert!(same(form, file, server), "{form:?} {file:?} {server:?}");
        }
        assert_eq!(
            of(Form::Text, Says::Latin1File, b"caf\xe9 \x80"),
            of(Form::Text, Says::Server, "caf\u{e9} \u{20ac}".as_bytes())
        );
    }

    #[test]
    fn what_the_server_has_changed_is_another_value() {
        for (form, file, server) in [
            (Form::Number, &b"1.55"[..], &b"1.6"[..]),
            (Form::Number, b"300", b"127"),
            (Form::Number, b"", b"0"),
            (Form::Number, b"x", b"0"),
            (Form::Single, b"16777217", b"16777216"),
            (Form::Single, b"1.23456789", b"1.2345678806304932"),
            (Form::Instant, b"20260801120000", b"2026-08-01"),
            (Form::Instant, b"20260801", b"0000-00-00"),
            (Form::Instant, b"", b"0000-00-00 00:00:00"),
            (Form::Text, b"ada ", b"ada"),
            (Form::Text, b"Ada", b"ada"),
            (Form::Text, b"a\0", b"a"),
            (Form::Text, "\u{e9}".as_bytes(), b"e"),
            (Form::Bytes, b"a", b"a\0"),
        ] {
            assert!(!same(form, file, server), "{form:?} {file:?} {server:?}");
        }
        let mut null = Vec::new();
        Form::Text.put(None, Says::Server, &mut null);
        assert_ne!(null, of(Form::Text, Says::File, b""));
    }

    #[test]
    fn values_of_two_columns_do_not_run_into_each_other() {
        let two = |first: &[u8], second: &[u8]| {
            let mut out = Vec::new();
            Form::Text.put(Some(first), Says::File, &mut out);
            Form::Text.put(Some(second), Says::File, &mut out);
            out
        };
        assert_ne!(two(b"ab", b"c"), two(b"a", b"bc"));
    }

    fn number(text: &str) -> Option<String> {
        let mut out = Vec::new();
        put_number(text.as_bytes(), &mut out).then(|| String::from_utf8(out).unwrap())
    }

    #[test]
    fn all_ways_to_write_a_number_have_one_form() {
        for alike in [
            &["1.5", "+1.50", "01.5", "15e-1", ".15E1", " 1.5 "][..],
            &["0", "-0", "-0.00", "000", ".0", "0e7"],
            &["1200", "1.2e3", "+0001200.000"],
            &["-7", "-07.0"],
        ] {
            let forms: std::collections::BTreeSet<_> =
                alike.iter().map(|text| number(text).unwrap()).collect();
            assert_eq!(forms.len(), 1, "{alike:?}: {forms:?}");
        }
        assert_ne!(number("1.5"), number("1.49"));
        assert_ne!(number("15"), number("150"));
        for none in ["", "-", ".", "1.2.3", "a", "1e", "0x10", "--1"] {
            assert_eq!(number(none), None, "{none}");
        }
    }
}
