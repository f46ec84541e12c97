//! Rows of an answer that somebody asked to see.

use crate::bytes::Reader;
use crate::error::ProtocolError;
use std::fmt;

const TYPE_TINY: u8 = 0x01;
const TYPE_SHORT: u8 = 0x02;
const TYPE_LONG: u8 = 0x03;
const TYPE_FLOAT: u8 = 0x04;
const TYPE_DOUBLE: u8 = 0x05;
const TYPE_NULL: u8 = 0x06;
const TYPE_TIMESTAMP: u8 = 0x07;
const TYPE_LONGLONG: u8 = 0x08;
const TYPE_INT24: u8 = 0x09;
const TYPE_DATE: u8 = 0x0a;
const TYPE_TIME: u8 = 0x0b;
const TYPE_DATETIME: u8 = 0x0c;
const TYPE_YEAR: u8 = 0x0d;
const TYPE_OLD_DECIMAL: u8 = 0x00;
const TYPE_DECIMAL: u8 = 0xf6;

const FLAG_UNSIGNED: u16 = 0x20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    kind: u8,
    unsigned: bool,
    decimals: u8,
}

/// What text in a column may mean besides text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Decimal,
    /// A floating-point number of 32 bits.
    Single,
    /// A date or time.
    Moment,
    Other,
}

impl Column {
    pub fn shape(&self) -> Shape {
        match self.kind {
            TYPE_OLD_DECIMAL | TYPE_DECIMAL => Shape::Decimal,
            TYPE_FLOAT => Shape::Single,
            TYPE_DATE | TYPE_DATETIME | TYPE_TIMESTAMP | TYPE_TIME => Shape::Moment,
            _ => Shape::Other,
        }
    }

    pub fn parse(payload: &[u8]) -> Result<Self, ProtocolError> {
        let mut reader = Reader(payload);
        let mut parse = || {
            // Catalogue, schema, table and its own name, column and its own name.
            for _ in 0..6 {
                reader.string()?;
            }
            // Length of what follows, character set, column length.
            reader.number()?;
            reader.u16()?;
            reader.u32()?;
            let (kind, flags, decimals) = (reader.u8()?, reader.u16()?, reader.u8()?);
            Some(Self { kind, unsigned: flags & FLAG_UNSIGNED != 0, decimals })
        };
        parse().ok_or(ProtocolError::Malformed("column definition"))
    }
}

/// One value of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Field<'a> {
    Null,
    Int(i64),
    Unsigned(u64),
    Double(f64),
    /// Text, bytes, a decimal; a date or time in text.
    Text(&'a [u8]),
    /// A date or time in binary; displays as the server writes it in text.
    Moment(Moment),
}

/// A date, a date with time, or a span of time, as the binary protocol sends it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    kind: u8,
    /// Digits of the second's fraction.
    digits: u8,
    negative: bool,
    year: u16,
    month: u8,
    day: u8,
    hour: u32,
    minute: u8,
    second: u8,
    micros: u32,
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.kind != TYPE_TIME {
            write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)?;
        }
        match self.kind {
            TYPE_DATE => return Ok(()),
            TYPE_TIME if self.negative => f.write_str("-")?,
            TYPE_TIME => {}
            _ => f.write_str(" ")?,
        }
        write!(f, "{:02}:{:02}:{:02}", self.hour, self.minute, self.second)?;
        match self.digits {
            digits @ 1..=6 => {
                let fraction = self.micros / 10_u32.pow(6 - u32::from(digits));
                write!(f, ".{fraction:0width$}", width = usize::from(digits))
            }
            _ => Ok(()),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row<'a> {
    payload: &'a [u8],
    columns: &'a [Column],
    binary: bool,
}

impl<'a> Row<'a> {
    pub fn new(payload: &'a [u8], columns: &'a [Column], binary: bool) -> Self {
        Self { payload, columns, binary }
    }

    pub fn columns(&self) -> &'a [Column] {
        self.columns
    }

    /// Its values in turn; the first error is the last item.
    pub fn fields(&self) -> Fields<'a> {
        // A binary row has a zero byte, then a bitmap of NULLs whose first two bits are not used.
        let bitmap = (self.columns.len() + 7 + 2) / 8;
        let (nulls, values) = match self.binary {
            true => self.payload.split_at_checked(1 + bitmap).unwrap_or((&[], &[])),
            false => (&[][..], self.payload),
        };
        Fields { values: Reader(values), nulls, columns: self.columns, next: 0, binary: self.binary }
    }

    pub fn size(&self) -> usize {
        self.payload.len()
    }

    pub fn width(&self) -> usize {
        self.columns.len()
    }

    /// The values of a row in text as the server wrote them, `None` for NULL; the first error is the last item. Of a row
    /// in binary there are none.
    pub fn texts(&self) -> Texts<'a> {
        Texts { values: Reader(self.payload), left: if self.binary { 0 } else { self.columns.len() } }
    }
}

#[derive(Debug)]
pub struct Texts<'a> {
    values: Reader<'a>,
    left: usize,
}

impl<'a> Iterator for Texts<'a> {
    type Item = Result<Option<&'a [u8]>, ProtocolError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let text = text(&mut self.values);
        if text.is_none() {
            self.left = 0;
        }
        Some(text.ok_or(ProtocolError::Malformed("row")))
    }
}

/// One value of a row in text: `None` where the row is too short, and `Some(None)` for NULL.
fn text<'a>(values: &mut Reader<'a>) -> Option<Option<&'a [u8]>> {
    match values.0 {
        [0xfb, rest @ ..] => {
            values.0 = rest;
            Some(None)
        }
        _ => values.string().map(Some),
    }
}

#[derive(Debug)]
pub struct Fields<'a> {
    values: Reader<'a>,
    nulls: &'a [u8],
    columns: &'a [Column],
    next: usize,
    binary: bool,
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Field<'a>, ProtocolError>;

    fn next(&mut self) -> Option<Self::Item> {
        let index = self.next;
        let column = *self.columns.get(index)?;
        self.next += 1;
        let field = if self.binary { self.binary_field(index, column) } else { self.text_field(column) };
        if field.is_none() {
            self.next = self.columns.len();
        }
        Some(field.ok_or(ProtocolError::Malformed("row")))
    }
}

impl<'a> Fields<'a> {
    fn binary_field(&mut self, index: usize, column: Column) -> Option<Field<'a>> {
        let bit = index + 2;
        if self.nulls.get(1 + bit / 8)? & (1 << (bit % 8)) != 0 {
            return Some(Field::Null);
        }
        let reader = &mut self.values;
        let signed = !column.unsigned;
        Some(match column.kind {
            TYPE_TINY => Field::Int(reader.u8().map(|n| if signed { n as i8 as i64 } else { n.into() })?),
            TYPE_SHORT | TYPE_YEAR => {
                Field::Int(reader.u16().map(|n| if signed { n as i16 as i64 } else { n.into() })?)
            }
            TYPE_LONG | TYPE_INT24 => {
                Field::Int(reader.u32().map(|n| if signed { n as i32 as i64 } else { n.into() })?)
            }
            TYPE_LONGLONG if signed => Field::Int(reader.u64()? as i64),
            TYPE_LONGLONG => unsigned(reader.u64()?),
            TYPE_FLOAT => Field::Double(f32::from_bits(reader.u32()?).into()),
            TYPE_DOUBLE => Field::Double(f64::from_bits(reader.u64()?)),
            TYPE_NULL => Field::Null,
            TYPE_DATE | TYPE_DATETIME | TYPE_TIMESTAMP | TYPE_TIME => {
                Field::Moment(moment(reader.string()?, column)?)
            }
            _ => Field::Text(reader.string()?),
        })
    }

    fn text_field(&mut self, column: Column) -> Option<Field<'a>> {
        let Some(text) = text(&mut self.values)? else { return Some(Field::Null) };
        match column.kind {
            TYPE_TINY | TYPE_SHORT | TYPE_YEAR | TYPE_LONG | TYPE_INT24 | TYPE_LONGLONG => {
                let text = std::str::from_utf8(text).ok()?;
                text.parse().map(Field::Int).or_else(|_| text.parse().map(unsigned)).ok()
            }
            TYPE_FLOAT => {
                std::str::from_utf8(text).ok()?.parse::<f32>().map(|n| Field::Double(n.into())).ok()
            }
            TYPE_DOUBLE => std::str::from_utf8(text).ok()?.parse().map(Field::Double).ok(),
            _ => Some(Field::Text(text)),
        }
    }
}

fn unsigned(number: u64) -> Field<'static> {
    i64::try_from(number).map_or(Field::Unsigned(number), Field::Int)
}

/// Trailing parts that are zero are left out by the server.
fn moment(bytes: &[u8], column: Column) -> Option<Moment> {
    let mut reader = Reader(bytes);
    let mut moment = Moment { kind: column.kind, digits: column.decimals, ..Moment::default() };
    if bytes.is_empty() {
        return Some(moment);
    }
    let mut days = 0;
    if column.kind == TYPE_TIME {
        moment.negative = reader.u8()? != 0;
        days = reader.u32()?;
    } else {
        (moment.year, moment.month, moment.day) = (reader.u16()?, reader.u8()?, reader.u8()?);
    }
    if !reader.0.is_empty() {
        let (hour, minute, second) = (reader.u8()?, reader.u8()?, reader.u8()?);
        moment.hour = days.checked_mul(24)?.checked_add(hour.into())?;
        (moment.minute, moment.second) = (minute, second);
    }
    if !reader.0.is_empty() {
        moment.micros = reader.u32().filter(|&micros| micros < 1_000_000)?;
    }
    Some(moment)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(kind: u8, decimals: u8) -> Column {
        Column { kind, unsigned: false, decimals }
    }

    fn fields(payload: &[u8], columns: &[Column], binary: bool) -> Vec<String> {
        let show = |field: Result<Field<'_>, ProtocolError>| match field {
            Ok(Field::Moment(moment)) => moment.to_string(),
            Ok(Field::Text(text)) => String::from_utf8_lossy(text).into_owned(),
            Ok(field) => format!("{field:?}"),
            Err(error) => error.to_string(),
        };
        Row::new(payload, columns, binary).fields().map(show).collect()
    }

    #[test]
    fn binary_times_display_as_the_server_writes_them() {
        let columns = [column(TYPE_DATETIME, 0), column(TYPE_TIME, 3), column(TYPE_DATE, 0)];
        let row = [
            &[0, 0, 7, 0xea, 0x07, 2, 3, 4, 5, 6][..],
            &[12, 1, 1, 0, 0, 0, 2, 3, 4, 0x40, 0xe2, 1, 0][..],
            &[4, 0xea, 0x07, 12, 31],
        ]
        .concat();
        assert_eq!(fields(&row, &columns, true), ["2026-02-03 04:05:06", "-26:03:04.123", "2026-12-31"]);
    }

    #[test]
    fn a_null_has_a_bit_in_binary_and_a_byte_in_text() {
        let columns = [column(TYPE_TINY, 0), column(TYPE_LONG, 0), column(0xfd, 0)];
        assert_eq!(fields(&[0, 0b1000, 0xff, 1, b'x'], &columns, true), ["Int(-1)", "Null", "x"]);
        assert_eq!(fields(b"\x02-1\xfb\x01x", &columns, false), ["Int(-1)", "Null", "x"]);
    }

    #[test]
    fn a_number_in_text_can_be_had_as_it_was_written() {
        let columns = [column(TYPE_LONG, 0), column(TYPE_LONG, 0), column(0xfd, 0)];
        let texts = |payload| Row::new(payload, &columns, false).texts().collect::<Vec<_>>();
        assert_eq!(texts(b"\x03007\xfb\0"), [Ok(Some(&b"007"[..])), Ok(None), Ok(Some(&[]))]);
        assert_eq!(texts(b"\x03007\x09"), [Ok(Some(&b"007"[..])), Err(ProtocolError::Malformed("row"))]);
        assert_eq!(Row::new(b"\x03007", &columns, true).texts().count(), 0);
    }

    #[test]
    fn a_row_that_is_too_short_ends_in_one_error() {
        let columns = [column(TYPE_LONG, 0), column(TYPE_LONG, 0)];
        assert_eq!(fields(&[0, 0, 1], &columns, true), ["malformed row"]);
        assert_eq!(fields(&[], &columns, true), ["malformed row"]);
        assert_eq!(fields(&[1, b'x', 0], &columns, false), ["malformed row"]);
    }
}
