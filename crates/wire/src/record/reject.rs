//! Why a record is not stored.

use super::{Layout, RecordType};

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
            Self::Nul => "a byte of zero".to_owned(),
            Self::Control(byte) => format!("control character 0x{byte:02x}"),
            Self::Charset => "bytes outside of the character set".to_owned(),
            Self::Integer => "not an integer".to_owned(),
            Self::Decimal => "not a decimal number".to_owned(),
            Self::Time => "not a time".to_owned(),
            Self::Bounds => "out of bounds".to_owned(),
            Self::NotListed => "not one of the values listed".to_owned(),
            Self::Blank => "blank, and a value is required".to_owned(),
            Self::Escape => "a backslash at the end".to_owned(),
        }
    }
}
