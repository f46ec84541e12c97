//! The values of a delimited line.

use super::{Layout, RecordType, What};

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

impl Reject {
    /// A sentence without the record's own bytes: `answer: 20261332 is no time` would put customers' data into logs, so it is
    /// `answer: not a time`.
    pub fn explain(&self, layout: &Layout) -> String {
        let record_type = self.record_type.and_then(|index| layout.types().get(index));
        let field = |found: &RecordType| Some(found.fields.get(self.field?)?.name.clone());
        let is_length = matches!(self.what, What::Short { .. } | What::Long { .. });
        let unit = if is_length && layout.dialect().is_some() { " fields" } else { "" };
        let what = self.what.explain() + unit;
        match record_type.and_then(field) {
            Some(name) => format!("{name}: {what}"),
            None => what,
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
