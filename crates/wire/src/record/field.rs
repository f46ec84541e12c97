//! One field of a record.

use super::Pattern;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    pub name: String,
    pub start: usize,
    pub width: usize,
    /// Bytes of its longest value: its width, where it has a fixed one.
    pub most: usize,
    pub kind: Kind,
    /// Which blanks around its value are padding.
    pub trim: Trim,
    /// What a field of blanks alone means.
    pub blank: Blank,
    pub check: Check,
    /// How an instant is written; `None` as [`Kind::Time`] is.
    pub pattern: Option<Pattern>,
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
            most: width,
            kind: Kind::Text,
            trim: Trim::Both,
            blank: Blank::Empty,
            check: Check::None,
            pattern: None,
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trim {
    Both,
    /// Before the value: it is aligned to the right.
    Left,
    /// Behind the value: it is aligned to the left.
    Right,
    None,
}

const BLANKS: [u8; 8] = [b' '; 8];

pub(super) fn trimmed(value: &[u8], trim: Trim) -> &[u8] {
    let value = match trim {
        Trim::Left | Trim::Both => without_first(value),
        Trim::Right | Trim::None => value,
    };
    match trim {
        Trim::Right | Trim::Both => without_last(value),
        Trim::Left | Trim::None => value,
    }
}

fn without_first(mut value: &[u8]) -> &[u8] {
    while let Some((BLANKS, rest)) = value.split_first_chunk::<8>().map(|(head, rest)| (*head, rest)) {
        value = rest;
    }
    let blanks = value.iter().take_while(|byte| **byte == b' ').count();
    &value[blanks..]
}

fn without_last(mut value: &[u8]) -> &[u8] {
    while let Some((rest, BLANKS)) = value.split_last_chunk::<8>().map(|(rest, tail)| (rest, *tail)) {
        value = rest;
    }
    let blanks = value.iter().rev().take_while(|byte| **byte == b' ').count();
    &value[..value.len() - blanks]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn trimming_by_words_is_trimming_by_bytes(value in "[ x]{0,40}") {
            let bytes = value.as_bytes();
            prop_assert_eq!(trimmed(bytes, Trim::Both), value.trim_matches(' ').as_bytes());
            prop_assert_eq!(trimmed(bytes, Trim::Left), value.trim_start_matches(' ').as_bytes());
            prop_assert_eq!(trimmed(bytes, Trim::Right), value.trim_end_matches(' ').as_bytes());
            prop_assert_eq!(trimmed(bytes, Trim::None), bytes);
        }
    }
}
