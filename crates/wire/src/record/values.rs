//! The values of a delimited line.

use super::{Layout, RecordType};

/// The values of a delimited line, `None` for NULL, as `LOAD DATA` reads them.
pub struct Values<'a> {
    /// What is left of the line; `None` behind the last field.
    rest: Option<&'a [u8]>,
    delimiter: u8,
}

impl<'a> Values<'a> {
    /// Of a line that comes without its line end.
    pub fn new(line: &'a [u8], delimiter: u8) -> Self {
        Self { rest: Some(line), delimiter }
    }
}

impl Iterator for Values<'_> {
    type Item = Result<Option<Vec<u8>>, What>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.rest.take()?;
        let mut value = Vec::new();
        let mut bytes = rest.iter().enumerate();
        let mut null = false;
        while let Some((at, byte)) = bytes.next() {
            match *byte {
                delimiter if delimiter == self.delimiter => {
                    self.rest = Some(&rest[at + 1..]);
                    break;
                }
                b'\\' => match bytes.next() {
                    None => return Some(Err(What::Escape)),
                    Some((1, b'N')) if rest.get(2).is_none_or(|next| *next == self.delimiter) => null = true,
                    Some((_, escaped)) => value.push(unescaped(*escaped)),
                },
                byte => value.push(byte),
            }
        }
        Some(Ok((!null).then_some(value)))
    }
}

/// What a letter behind a backslash stands for, as the servers read it.
fn unescaped(letter: u8) -> u8 {
    match letter {
        b'0' => 0,
        b'b' => 8,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'Z' => 0x1a,
        letter => letter,
    }
}

/// Why a record is refused, and for which of its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reject {
    /// Index of the record's type in the layout; `None` where no type is known yet.
    pub record_type: Option<usize>,
    /// Index of the field in that type; `None` where it is the record as a whole.
    pub field: Option<usize>,
    pub what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The bytes that tell the type are not those of any.
    UnknownType,
    /// Fewer bytes than the layout has.
    Short {
        found: usize,
        expected: usize,
    },
    /// More of them.
    Long {
        found: usize,
        expected: usize,
    },
    Nul,
    /// Another control character.
    Control(u8),
    Charset,
    Integer,
    Decimal,
    /// No instant, or none that the calendar has.
    Time,
    /// A number outside of the bounds.
    Bounds,
    NotListed,
    /// Nothing but blanks where there must be a value.
    Blank,
    /// A backslash with nothing behind it.
    Escape,
    /// More bytes than a value of this field may have.
    Wide(usize),
    /// A quote that does not end, or has something but a delimiter behind it.
    Quote,
}

impl Reject {
    /// A sentence without the record's own bytes: `answer: 20261332 is no time` would put customers' data into logs, so it is
    /// `answer: not a time`.
    pub fn explain(&self, layout: &Layout) -> String {
        let record_type = self.record_type.and_then(|index| layout.types().get(index));
        let field = |found: &RecordType| Some(found.fields.get(self.field?)?.name.clone());
        let what = self.what.explain();
        match record_type.and_then(field) {
            Some(name) => format!("{name}: {what}"),
            None => what,
        }
    }
}

impl What {
    fn explain(self) -> String {
        match self {
            Self::UnknownType => "no record type has these letters".to_owned(),
            Self::Short { found, expected } => format!("too short: {found} of {expected}"),
            Self::Long { found, expected } => format!("too long: {found} of {expected}"),
            Self::Nul => "a NUL byte".to_owned(),
            Self::Control(byte) => format!("control character 0x{byte:02x}"),
            Self::Charset => "bytes outside the character set".to_owned(),
            Self::Integer => "not an integer".to_owned(),
            Self::Decimal => "not a decimal number".to_owned(),
            Self::Time => "not a time".to_owned(),
            Self::Bounds => "out of bounds".to_owned(),
            Self::NotListed => "not one of the values listed".to_owned(),
            Self::Blank => "blank, and a value is required".to_owned(),
            Self::Escape => "a backslash at the end".to_owned(),
            Self::Wide(most) => format!("more than {most} bytes"),
            Self::Quote => "a quote that does not end, or ends before the value does".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_load_data_reads_them() {
        let values = |line: &[u8]| Values::new(line, b';').collect::<Result<Vec<_>, _>>();
        let text = |text: &str| Some(text.as_bytes().to_vec());
        let found = values(b"17;a\\;\\\\b;\\N;\\n;;\\NA");
        assert_eq!(found, Ok(vec![text("17"), text("a;\\b"), None, text("\n"), text(""), text("NA")]));
        assert_eq!(values(b"1;a\\"), Err(What::Escape));
    }
}
