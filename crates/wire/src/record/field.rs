//! One field of a record.

use super::trim::{Trim, trimmed};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    pub name: String,
    pub start: usize,
    pub width: usize,
    pub kind: Kind,
    /// Which blanks around its value are padding.
    pub trim: Trim,
    /// What a field of blanks alone means.
    pub blank: Blank,
    pub check: Check,
    /// Whether it becomes a column; a filler does not.
    pub kept: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Text,
    /// Digits, with a sign or without.
    Integer,
    /// Digits with at most one point among them, with a sign or without.
    Decimal,
    /// Digits without a point, of which so many stand behind it.
    Scaled(u32),
    /// `yyyymmddhhmmss`, or `yyyymmdd` for a day; an instant that the calendar has.
    Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blank {
    Null,
    Empty,
    /// Nothing that may be: the record is refused.
    Refuse,
}

/// What a value has to keep to beside its kind; a blank field is judged by [`Blank`] alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Check {
    /// Nothing beside its kind.
    None,
    /// A number from the first to the second, both included; the part behind the point is not looked at.
    Within(i64, i64),
    /// One of these, byte by byte.
    OneOf(Vec<Vec<u8>>),
}

impl Field {
    /// A text of this width that becomes a column, without a check.
    pub fn text(name: &str, start: usize, width: usize) -> Self {
        Self {
            name: name.to_owned(),
            start,
            width,
            kind: Kind::Text,
            trim: Trim::Both,
            blank: Blank::Empty,
            check: Check::None,
            kept: true,
        }
    }

    /// What a record has in it, without its padding; of a record that ends within it, what there is.
    pub fn value<'a>(&self, record: &'a [u8]) -> &'a [u8] {
        let end = self.end().min(record.len());
        trimmed(record.get(self.start..end).unwrap_or_default(), self.trim)
    }

    /// Bytes of the record up to its end.
    pub fn end(&self) -> usize {
        self.start + self.width
    }
}
