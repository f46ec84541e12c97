//! Hashes of a row and of its key, from the values of both sides.

use super::form::{Form, Says};
use evenkeel_wire::record::{Layout, RecordType, Trim, Values};
use xxhash_rust::xxh3::xxh3_128;

pub(super) struct Canon {
    /// Of the fields that are kept, in their order.
    pub forms: Vec<Form>,
    /// Places of the key among them; empty where a row is known by all of its values.
    pub key: Vec<usize>,
    pub says: Says,
    pub delimiter: u8,
}

/// What is kept from row to row.
#[derive(Default)]
pub(super) struct Scratch {
    values: Vec<u8>,
    ends: Vec<usize>,
    key: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hashes {
    pub group: u128,
    pub row: u128,
}

impl Canon {
    /// Of a delimited line as it would be loaded.
    pub fn line(&self, line: &[u8], scratch: &mut Scratch) -> Hashes {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        scratch.clear();
        if self.is_plain(line) {
            for (form, value) in self.forms.iter().zip(line.split(|byte| *byte == self.delimiter)) {
                scratch.put(*form, Some(value).filter(|value| *value != b"\\N"), self.says);
            }
        } else {
            for (form, value) in self.forms.iter().zip(Values::new(line, self.delimiter)) {
                // A line of the converter's never ends within an escape.
                scratch.put(*form, value.unwrap_or_default().as_deref(), self.says);
            }
        }
        self.hashes(scratch)
    }

    /// Whether no backslash of a line stands for anything but NULL.
    fn is_plain(&self, line: &[u8]) -> bool {
        let parts = |byte: Option<&u8>| byte.is_none_or(|byte| *byte == self.delimiter);
        memchr::memchr_iter(b'\\', line).all(|at| {
            let before = at.checked_sub(1).and_then(|at| line.get(at));
            line.get(at + 1) == Some(&b'N') && parts(before) && parts(line.get(at + 2))
        })
    }

    /// Of a row of the server.
    pub fn row<'v, E>(
        &self,
        values: impl Iterator<Item = Result<Option<&'v [u8]>, E>>,
        scratch: &mut Scratch,
    ) -> Result<Hashes, E> {
        scratch.clear();
        for (form, value) in self.forms.iter().zip(values) {
            scratch.put(*form, value?, Says::Server);
        }
        Ok(self.hashes(scratch))
    }

    /// The group of a record that does not fit: that of its key where it has one, so that it is found beside a row that was stored
    /// of it; else one of its own.
    pub fn unfit(&self, of: Option<&RecordType>, record: &[u8], place: u64, scratch: &mut Scratch) -> u128 {
        match of.is_some_and(|of| self.put_key(of, record, scratch)) {
            true => scratch.group(),
            false => xxh3_128(&[&b"unfit"[..], &place.to_be_bytes(), record].concat()),
        }
    }

    fn put_key(&self, of: &RecordType, record: &[u8], scratch: &mut Scratch) -> bool {
        scratch.key.clear();
        let key: Vec<_> = of.key.iter().filter_map(|index| of.fields.get(*index)).collect();
        for (field, place) in key.iter().zip(&self.key) {
            let value = field.value(record);
            if value.is_empty() || (field.trim == Trim::None && value.trim_ascii().is_empty()) {
                return false;
            }
            self.forms[*place].put(Some(value), self.says, &mut scratch.key);
        }
        !self.key.is_empty()
    }

    fn hashes(&self, scratch: &mut Scratch) -> Hashes {
        let row = xxh3_128(&scratch.values);
        if self.key.is_empty() {
            return Hashes { group: row, row };
        }
        scratch.key.clear();
        for place in &self.key {
            let begin = if *place == 0 { 0 } else { scratch.ends[*place - 1] };
            scratch.key.extend_from_slice(&scratch.values[begin..scratch.ends[*place]]);
        }
        Hashes { group: scratch.group(), row }
    }

    /// Whether two values of the column with this index are the same.
    pub fn same(&self, index: usize, file: Option<&[u8]>, server: Option<&[u8]>) -> bool {
        let (mut one, mut other) = (Vec::new(), Vec::new());
        self.forms[index].put(file, self.says, &mut one);
        self.forms[index].put(server, Says::Server, &mut other);
        one == other
    }
}

/// The values of a record as they would be stored; `None` where it does not fit.
pub(super) fn values_of(layout: &Layout, record: &[u8]) -> Option<Vec<Option<Vec<u8>>>> {
    let mut line = Vec::new();
    layout.delimit(record, &mut line).ok()?;
    line.pop();
    Values::new(&line, layout.delimiter()).collect::<Result<_, _>>().ok()
}

impl Scratch {
    fn clear(&mut self) {
        self.values.clear();
        self.ends.clear();
    }

    fn put(&mut self, form: Form, value: Option<&[u8]>, says: Says) {
        form.put(value, says, &mut self.values);
        self.ends.push(self.values.len());
    }

    fn group(&self) -> u128 {
        xxh3_128(&self.key)
    }
}
