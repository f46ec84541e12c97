//! One number for the rows of a result: equal where two servers answered the same, in whatever order and protocol.

use evenkeel_core::random::Seed;
use evenkeel_wire::{Field, ProtocolError, Row, Shape};
use std::fmt::Write as _;

/// Digits of a FLOAT and a DOUBLE that two builds of a server agree on.
const SINGLE_DIGITS: usize = 6;
const DOUBLE_DIGITS: usize = 14;

/// The sum of a hash of each row, so that their order does not count and a row that comes twice counts twice.
///
/// A number is the same as an integer, decimal or float and with any zeros behind it; a date or time is the same in text and
/// binary; NULL is no empty text; text counts byte for byte.
#[derive(Clone, Debug, Default)]
pub struct RowHash {
    sum: u64,
    state: u64,
    /// A value in text, while it is read.
    text: String,
}

impl RowHash {
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a row; one that cannot be read is left out.
    pub fn row(&mut self, row: &Row<'_>) -> Result<(), ProtocolError> {
        self.state = 0xcbf2_9ce4_8422_2325;
        for (field, column) in row.fields().zip(row.columns()) {
            self.field(&field?, column.shape());
        }
        // Sums of FNV-1a alone would be equal too often: its last bytes move few bits.
        self.sum = self.sum.wrapping_add(Seed(self.state).numbered(0).0);
        Ok(())
    }

    /// Of all rows so far; 0 without any.
    pub fn finish(&self) -> u64 {
        self.sum
    }

    fn field(&mut self, field: &Field<'_>, shape: Shape) {
        match *field {
            Field::Null => self.add(&[0]),
            Field::Int(value) => self.number_of(format_args!("{value}")),
            Field::Unsigned(value) => self.number_of(format_args!("{value}")),
            Field::Double(value) => {
                let digits = if shape == Shape::Single { SINGLE_DIGITS } else { DOUBLE_DIGITS };
                self.number_of(format_args!("{value:.*e}", digits - 1));
            }
            Field::Text(text) if shape == Shape::Decimal => self.number(text),
            Field::Text(text) if shape == Shape::Moment => self.text(without_zeros(text)),
            Field::Text(text) => self.text(text),
            Field::Moment(moment) => {
                self.with_text(format_args!("{moment}"), |own, text| own.text(without_zeros(text)));
            }
        }
    }

    fn number_of(&mut self, value: std::fmt::Arguments<'_>) {
        self.with_text(value, Self::number);
    }

    fn with_text(&mut self, value: std::fmt::Arguments<'_>, then: impl FnOnce(&mut Self, &[u8])) {
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        // Writing into a String does not fail.
        let _ = text.write_fmt(value);
        then(self, text.as_bytes());
        self.text = text;
    }

    /// Sign, digits without zeros at their ends, and where the point is before them.
    fn number(&mut self, text: &[u8]) {
        let Some((digits, exponent)) = parts(text) else { return self.text(text) };
        let is_digit = |byte: &&u8| byte.is_ascii_digit();
        let mut point = digits.iter().take_while(|byte| **byte != b'.').filter(is_digit).count() as i64;
        let leading = digits.iter().filter(is_digit).take_while(|byte| **byte == b'0').count();
        let trailing = digits.iter().rev().filter(is_digit).take_while(|byte| **byte == b'0').count();
        let count = digits.iter().filter(is_digit).count();
        self.add(b"n");
        if leading == count {
            return self.add(b"0");
        }
        point += exponent - leading as i64;
        self.add(if text.first() == Some(&b'-') { b"-" } else { b"+" });
        let significant = digits.iter().filter(is_digit).skip(leading).take(count - leading - trailing);
        significant.for_each(|digit| self.add(&[*digit]));
        self.add(b"e");
        self.add(&point.to_le_bytes());
    }

    fn text(&mut self, text: &[u8]) {
        self.add(b"t");
        self.add(&(text.len() as u64).to_le_bytes());
        self.add(text);
    }

    /// FNV-1a.
    fn add(&mut self, bytes: &[u8]) {
        self.state = bytes
            .iter()
            .fold(self.state, |state, byte| (state ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3));
    }
}

/// Digits with their point, and the exponent behind them; `None` of what is no number.
fn parts(text: &[u8]) -> Option<(&[u8], i64)> {
    let unsigned = text.strip_prefix(b"-").unwrap_or(text);
    let at = unsigned.iter().position(|byte| matches!(byte, b'e' | b'E')).unwrap_or(unsigned.len());
    let (digits, exponent) = unsigned.split_at(at);
    let exponent = match exponent.get(1..) {
        Some(exponent) => std::str::from_utf8(exponent).ok()?.parse::<i32>().ok()?,
        None => 0,
    };
    let points = digits.iter().filter(|byte| **byte == b'.').count();
    let is_number = points <= 1 && digits.len() > points;
    let is_plain = digits.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
    (is_number && is_plain).then_some((digits, exponent.into()))
}

/// A time without the zeros of its fraction.
fn without_zeros(text: &[u8]) -> &[u8] {
    if !text.contains(&b'.') {
        return text;
    }
    let zeros = text.iter().rev().take_while(|byte| **byte == b'0').count();
    let text = &text[..text.len() - zeros];
    text.strip_suffix(b".").unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_core::random::Random;
    use evenkeel_wire::Column;

    const LONGLONG: u8 = 8;
    const FLOAT: u8 = 4;
    const DOUBLE: u8 = 5;
    const DATETIME: u8 = 12;
    const TIME: u8 = 11;
    const VARCHAR: u8 = 0xfd;
    const DECIMAL: u8 = 0xf6;

    fn column(kind: u8, decimals: u8) -> Column {
        let names = [0; 6];
        Column::parse(&[&names[..], &[12, 33, 0, 0, 0, 0, 0, kind, 0, 0, decimals, 0, 0]].concat()).unwrap()
    }

    fn text(values: &[Option<&str>]) -> Vec<u8> {
        let value = |value: &Option<&str>| match value {
            Some(text) => [&[text.len() as u8], text.as_bytes()].concat(),
            None => vec![0xfb],
        };
        values.iter().flat_map(value).collect()
    }

    fn hash(rows: &[Vec<u8>], columns: &[Column], binary: bool) -> u64 {
        let mut hash = RowHash::new();
        rows.iter().for_each(|row| hash.row(&Row::new(row, columns, binary)).unwrap());
        hash.finish()
    }

    fn of(kind: u8, value: &str) -> u64 {
        hash(&[text(&[Some(value)])], &[column(kind, 0)], false)
    }

    /// A row in text and the same in binary.
    fn both(random: &mut Random) -> (Vec<u8>, Vec<u8>) {
        let int = random.bits() as i64 >> random.uniform(0, 63);
        let double = f64::from_bits(random.bits());
        let double = if double.is_finite() { double } else { -0.0 };
        let single = random.normal() as f32 * 1e5;
        let [hour, minute, second] = [23, 59, 59].map(|most| random.uniform(0, most) as u8);
        let milli = random.uniform(0, 3) as u32 * 250;
        let (decimal, days) = (random.normal() * 100.0, random.uniform(0, 30) as u8);
        let decimal = format!("{decimal:.3}");
        let moment = format!("2026-02-03 {hour:02}:{minute:02}:{second:02}.{milli:03}");
        let span = format!("-{:02}:{minute:02}:{second:02}", u32::from(days) * 24 + u32::from(hour));
        let texts = [int.to_string(), double.to_string(), format!("{single:.5e}"), decimal.clone()];
        let mut row: Vec<u8> = texts
            .iter()
            .flat_map(|text| [&[0xfc, text.len() as u8, (text.len() >> 8) as u8], text.as_bytes()].concat())
            .collect();
        row.extend(text(&[Some(&moment), Some(&span), Some(""), None]));
        let single: f32 = format!("{single:.5e}").parse().unwrap();
        let mut binary =
            [&[0, 0, 0b10][..], &int.to_le_bytes(), &double.to_le_bytes(), &single.to_le_bytes()].concat();
        binary.extend([&[decimal.len() as u8], decimal.as_bytes()].concat());
        binary.extend([11, 0xea, 7, 2, 3, hour, minute, second]);
        binary.extend((milli * 1_000).to_le_bytes());
        binary.extend([8, 1, days, 0, 0, 0, hour, minute, second, 0]);
        (row, binary)
    }

    #[test]
    fn rows_are_the_same_in_text_and_binary_and_in_any_order_and_a_changed_one_is_not() {
        let kinds = [
            (LONGLONG, 0),
            (DOUBLE, 0),
            (FLOAT, 0),
            (DECIMAL, 3),
            (DATETIME, 3),
            (TIME, 0),
            (VARCHAR, 0),
            (VARCHAR, 0),
        ];
        let columns = kinds.map(|(kind, decimals)| column(kind, decimals));
        let mut random = Random::new(Seed(3));
        for _ in 0..500 {
            let (mut texts, binaries): (Vec<_>, Vec<_>) = (0..3).map(|_| both(&mut random)).unzip();
            let whole = hash(&binaries, &columns, true);
            texts.rotate_left(1);
            assert_eq!(hash(&texts, &columns, false), whole, "{texts:?}");
            let (changed, _) = both(&mut random);
            assert_ne!(hash(&[&texts[..2], &[changed]].concat(), &columns, false), whole);
            assert_ne!(hash(&texts[..2], &columns, false), whole);
            assert_ne!(hash(&[&texts[..], &texts[..1]].concat(), &columns, false), whole);
        }
    }

    #[test]
    fn a_number_has_one_form_and_other_numbers_have_others() {
        for (kind, value) in [
            (LONGLONG, "1200"),
            (DECIMAL, "1200.000"),
            (DECIMAL, "001200"),
            (DOUBLE, "1.2e3"),
            (FLOAT, "1200.0001"),
        ] {
            assert_eq!(of(kind, value), of(LONGLONG, "1200"), "{value}");
        }
        assert_eq!(of(DOUBLE, "-0"), of(DECIMAL, "0.00"));
        assert_eq!(of(DECIMAL, "0.012"), of(DOUBLE, "1.2e-2"));
        assert_eq!(of(DOUBLE, "0.30000000000000004"), of(DOUBLE, "0.3"));
        for other in ["12", "12000", "-1200", "1200.001", "0"] {
            assert_ne!(of(DECIMAL, other), of(LONGLONG, "1200"), "{other}");
        }
        assert_ne!(of(VARCHAR, "1.0"), of(VARCHAR, "1"));
    }

    #[test]
    fn null_is_no_empty_text_and_the_border_of_two_values_counts() {
        let columns = [column(VARCHAR, 0), column(VARCHAR, 0)];
        let of = |values| hash(&[text(values)], &columns, false);
        assert_ne!(of(&[None, Some("a")]), of(&[Some(""), Some("a")]));
        assert_ne!(of(&[Some("a"), Some("")]), of(&[Some(""), Some("a")]));
    }

    #[test]
    fn a_row_that_is_cut_short_is_refused_and_left_out() {
        let columns = [column(LONGLONG, 0), column(DECIMAL, 0)];
        let mut hash = RowHash::new();
        assert!(hash.row(&Row::new(b"\x011", &columns, false)).is_err());
        assert_eq!(hash.finish(), 0);
        assert!(hash.row(&Row::new(b"\x011\x05nan.e", &columns, false)).is_ok());
    }
}
