//! Where the fields of a record lie.

use super::dialect::Dialect;
use super::field::{Field, trimmed};
use super::pattern::Pattern;
use super::plan::{Plan, RecordType};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    types: Vec<RecordType>,
    /// Of each type.
    pub(super) plans: Vec<Plan>,
    tell: Option<Range<usize>>,
    /// Parts the fields of a delimited line.
    pub(super) delimiter: u8,
    pub(super) charset: Charset,
    /// Whether a record may end within its last field.
    pub(super) ragged: bool,
    /// How the fields of a record are parted; `None` where they have fixed widths.
    pub(super) dialect: Option<Dialect>,
}

/// Bytes that text may have; control characters are in none, but for a tabulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charset {
    Ascii,
    /// All from 0x20 on but 0x7f; one byte is one letter.
    Latin1,
    /// Well-formed UTF-8. Widths count bytes.
    Utf8,
}

/// A layout that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    #[error("no field")]
    Empty,
    #[error("two fields are called {0}")]
    Twice(String),
    #[error("field {0} has no width, or begins before the one before it ends")]
    Place(String),
    #[error(
        "delimiter 0x{0:02x} could stand in a value: take a punctuation mark or a tabulator, and no backslash"
    )]
    Delimiter(u8),
    #[error("record type {0} needs bytes that tell it, {1} of them")]
    Tell(String, usize),
    #[error("record types {0} and {1} are told by the same bytes")]
    Alike(String, String),
    #[error("the key of {0} names a field that it has not")]
    Key(String),
    #[error("a record of {0} bytes; at most {MOST} are read")]
    Large(usize),
}

/// Bytes of the longest record.
const MOST: usize = 64 << 10;

impl Layout {
    /// Types told apart by the bytes `tell`, or one type and `None`.
    pub fn new(
        types: Vec<RecordType>,
        tell: Option<Range<usize>>,
        delimiter: u8,
        charset: Charset,
    ) -> Result<Self, LayoutError> {
        if types.is_empty() || types.iter().any(|each| each.fields.iter().all(|field| !field.kept)) {
            return Err(LayoutError::Empty);
        }
        if !(delimiter == b'\t' || delimiter.is_ascii_punctuation()) || b"\\\"'-+.".contains(&delimiter) {
            return Err(LayoutError::Delimiter(delimiter));
        }
        types.iter().try_for_each(check_type)?;
        check_tell(&types, tell.as_ref())?;
        let plans = types.iter().map(Plan::new).collect();
        Ok(Self { types, plans, tell, delimiter, charset, ragged: false, dialect: None })
    }

    /// The same, where a record may end within its last field.
    pub fn ragged(self, ragged: bool) -> Self {
        Self { ragged, ..self }
    }

    /// The same of records whose fields are parted by a delimiter: a field begins at the column of its `start`, and has a width of one.
    pub fn delimited(self, dialect: Option<Dialect>) -> Self {
        Self { dialect, ..self }
    }

    /// The same with a field as an instant in UTC, up to one, as a TIMESTAMP holds it.
    pub fn in_utc(mut self, index: usize, name: &str, zone: &Arc<[(i64, i64)]>, until: [u8; 14]) -> Self {
        for field in self.types[index].fields.iter_mut().filter(|field| field.name == name) {
            let digits = || Pattern::parse("yyyymmddhhmmss", Arc::clone(zone));
            field.pattern = field.pattern.take().or_else(digits).map(|pattern| pattern.in_utc(until));
        }
        self.plans = self.types.iter().map(Plan::new).collect();
        self
    }

    pub fn dialect(&self) -> Option<Dialect> {
        self.dialect
    }

    /// What a record has in a field, without its padding, an instant as it is stored; of a record that ends before or within it, what
    /// there is.
    pub fn value<'a>(&self, field: &Field, record: &'a [u8]) -> Cow<'a, [u8]> {
        let value = match self.dialect {
            None => Cow::Borrowed(field.value(record)),
            Some(dialect) => match dialect.cells(record).nth(field.start) {
                Some(Ok(Cow::Borrowed(value))) => Cow::Borrowed(trimmed(value, field.trim)),
                Some(Ok(Cow::Owned(value))) => Cow::Owned(trimmed(&value, field.trim).to_vec()),
                _ => Cow::Borrowed(&b""[..]),
            },
        };
        let instant = field.pattern.as_ref().and_then(|pattern| pattern.instant(&value));
        instant.map_or(value, Cow::Owned)
    }

    /// Appends the key of a record of the type with this index: each value without its padding, and its length, so that no two keys run
    /// into one. Of a field within which the record ends, what there is.
    pub fn key_of(&self, index: usize, record: &[u8], out: &mut Vec<u8>) {
        let of = &self.types[index];
        for field in of.key.iter().filter_map(|index| of.fields.get(*index)) {
            let value = self.value(field, record);
            out.extend_from_slice(&(value.len() as u32).to_be_bytes());
            out.extend_from_slice(&value);
        }
    }

    pub fn types(&self) -> &[RecordType] {
        &self.types
    }

    /// What parts the fields of a delimited line.
    pub fn delimiter(&self) -> u8 {
        self.delimiter
    }

    pub fn charset(&self) -> Charset {
        self.charset
    }

    /// Whether a record may end within its last field.
    pub fn is_ragged(&self) -> bool {
        self.ragged
    }

    /// Bytes of the longest record.
    pub fn longest(&self) -> usize {
        self.types.iter().map(RecordType::length).max().unwrap_or(0)
    }

    pub fn tell(&self) -> Option<Range<usize>> {
        self.tell.clone()
    }

    /// Index of the type that a record is of.
    pub fn type_of(&self, record: &[u8]) -> Option<usize> {
        let Some(tell) = self.tell.clone() else { return Some(0) };
        let told = match self.dialect {
            None => Cow::Borrowed(record.get(tell)?),
            Some(dialect) => dialect.cells(record).nth(tell.start)?.ok()?,
        };
        self.types.iter().position(|each| each.is.iter().any(|is| **is == *told))
    }
}

fn check_type(found: &RecordType) -> Result<(), LayoutError> {
    let (mut names, mut end) = (BTreeSet::new(), 0);
    for field in &found.fields {
        if field.kept && !names.insert(&field.name) {
            return Err(LayoutError::Twice(field.name.clone()));
        }
        let ends = field.start.checked_add(field.width).ok_or(LayoutError::Large(usize::MAX))?;
        if field.width == 0 || field.start < end {
            return Err(LayoutError::Place(field.name.clone()));
        }
        end = ends;
    }
    if end > MOST {
        return Err(LayoutError::Large(end));
    }
    match found.key.iter().all(|index| *index < found.fields.len()) {
        true => Ok(()),
        false => Err(LayoutError::Key(found.name.clone())),
    }
}

fn check_tell(types: &[RecordType], tell: Option<&Range<usize>>) -> Result<(), LayoutError> {
    let Some(tell) = tell else {
        return match types {
            [_] => Ok(()),
            _ => Err(LayoutError::Tell(types[0].name.clone(), 1)),
        };
    };
    let mut seen: Vec<(&[u8], &str)> = Vec::new();
    for each in types {
        let fits = |is: &Vec<u8>| !is.is_empty() && is.len() == tell.len();
        if each.is.is_empty() || !each.is.iter().all(fits) {
            return Err(LayoutError::Tell(each.name.clone(), tell.len()));
        }
        for is in &each.is {
            if let Some((_, other)) = seen.iter().find(|(bytes, _)| bytes == is) {
                return Err(LayoutError::Alike((*other).to_owned(), each.name.clone()));
            }
            seen.push((is, &each.name));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::Field;
    use super::*;

    fn of(fields: Vec<Field>) -> RecordType {
        RecordType { name: "calls".to_owned(), is: Vec::new(), fields, key: Vec::new() }
    }

    fn layout(types: Vec<RecordType>, tell: Option<Range<usize>>) -> Result<Layout, LayoutError> {
        Layout::new(types, tell, b';', Charset::Ascii)
    }

    #[test]
    fn fields_that_overlap_share_a_name_or_have_no_width_are_refused() {
        let two = |a, b| layout(vec![of(vec![a, b])], None);
        let text = Field::text;
        assert!(two(text("a", 0, 2), text("b", 2, 3)).is_ok());
        assert_eq!(two(text("a", 0, 2), text("b", 1, 3)), Err(LayoutError::Place("b".to_owned())));
        assert_eq!(two(text("a", 0, 2), text("a", 2, 3)), Err(LayoutError::Twice("a".to_owned())));
        assert_eq!(two(text("a", 0, 0), text("b", 2, 3)), Err(LayoutError::Place("a".to_owned())));
        assert_eq!(two(text("a", 0, 1), text("b", usize::MAX, 3)), Err(LayoutError::Large(usize::MAX)));
        assert!(matches!(two(text("a", 0, 1), text("b", 1, 1 << 20)), Err(LayoutError::Large(_))));
        assert_eq!(layout(vec![of(Vec::new())], None), Err(LayoutError::Empty));
    }

    #[test]
    fn no_delimiter_can_be_part_of_a_number_or_an_escape() {
        for delimiter in [b'\\', b'n', b'0', b' ', b'\n', b'-', b'.', 0x80] {
            let of = vec![of(vec![Field::text("a", 0, 1)])];
            assert_eq!(
                Layout::new(of, None, delimiter, Charset::Ascii),
                Err(LayoutError::Delimiter(delimiter))
            );
        }
    }

    #[test]
    fn types_are_told_apart_by_bytes_that_no_two_share() {
        let typed = |name: &str, is: &[&str]| RecordType {
            name: name.to_owned(),
            is: is.iter().map(|is| is.as_bytes().to_vec()).collect(),
            ..of(vec![Field::text("type", 0, 2)])
        };
        let two = |a, b| layout(vec![a, b], Some(0..2));
        let found = two(typed("calls", &["01", "02"]), typed("texts", &["03"])).unwrap();
        assert_eq!(
            (found.type_of(b"02"), found.type_of(b"03"), found.type_of(b"0")),
            (Some(0), Some(1), None)
        );
        assert_eq!(found.type_of(b"04"), None);
        let alike = two(typed("calls", &["01"]), typed("texts", &["01"]));
        assert_eq!(alike, Err(LayoutError::Alike("calls".to_owned(), "texts".to_owned())));
        assert_eq!(two(typed("a", &["01"]), typed("b", &[])), Err(LayoutError::Tell("b".to_owned(), 2)));
        assert_eq!(two(typed("a", &["01"]), typed("b", &["1"])), Err(LayoutError::Tell("b".to_owned(), 2)));
    }
}
