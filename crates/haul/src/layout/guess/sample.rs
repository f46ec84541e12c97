//! The beginning of a file, as records.

use crate::blocks::{self, Header, Separator};
use evenkeel_wire::record::Dialect;
use std::collections::{BTreeMap, BTreeSet};

/// Records that are looked at, at most.
const RECORDS: usize = 20_000;
/// Records below which columns are no more than chance.
pub(super) const LEAST: usize = 10;

/// Records of one beginning.
pub struct Sample<'a> {
    /// Without their line ends.
    pub(super) records: Vec<&'a [u8]>,
    /// Where the fields of nearly all have delimiters.
    pub dialect: Option<Dialect>,
}

/// Why there is no layout.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoLayout {
    /// There is no byte to guess from.
    #[error("it is empty")]
    Empty,
    /// Bytes that no text has.
    #[error("it is no text: {0} of 1,000 bytes are control characters")]
    Binary(usize),
    /// Not enough to compare.
    #[error("{0} records are too few to tell columns by; at least {LEAST} are needed")]
    Few(usize),
    #[error("it has no line ends: write its layout by hand, with separator = \"none\"")]
    NoLines,
    /// Lines of text.
    #[error(
        "its lines have {0} different lengths: write its layout by hand, with a [[record]] for each type"
    )]
    Lengths(usize),
    /// Nothing but blanks, or a record that is too large.
    #[error("no columns are to be seen")]
    NoColumns,
}

impl<'a> Sample<'a> {
    /// Parts a beginning into records; `is_whole` where the file ends with it.
    /// Errors: it is no file of records of fixed width.
    pub fn new(bytes: &'a [u8], is_whole: bool) -> Result<Self, NoLayout> {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        if bytes.is_empty() {
            return Err(NoLayout::Empty);
        }
        let odd =
            bytes.iter().filter(|byte| matches!(byte, 0..=8 | 0x0b | 0x0c | 0x0e..=0x1f | 0x7f)).count();
        // A few in a file of records are dirt, which conversion refuses.
        if odd * 100 > bytes.len() {
            return Err(NoLayout::Binary((odd * 1000).div_ceil(bytes.len())));
        }
        if !bytes.contains(&b'\n') {
            return Err(NoLayout::NoLines);
        }
        let mut records: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
        // What stands behind the last line end is half a record, or nothing.
        if !is_whole || records.last().is_some_and(|last| last.is_empty()) {
            records.pop();
        }
        records.truncate(RECORDS);
        records.iter_mut().for_each(|record| *record = record.strip_suffix(b"\r").unwrap_or(record));
        if records.len() < LEAST {
            return Err(NoLayout::Few(records.len()));
        }
        let dialect = delimited(&records);
        if let Some(dialect) = dialect {
            let separator = Separator::Delimited { dialect, header: Header::None };
            records = blocks::records(bytes, separator).map(|(_, record)| record).take(RECORDS).collect();
            // Half a record, or the rest of one that was cut.
            records.pop_if(|_| !is_whole);
        }
        Ok(Self { records, dialect })
    }

    /// Its records but for those of another length than nearly all have, which are dirt.
    pub(super) fn alike(&self) -> Result<Vec<&'a [u8]>, NoLayout> {
        let all = self.records.len();
        let lengths = || self.records.iter().map(|record| record.len());
        let (length, count) = most(lengths()).unwrap_or_default();
        match count {
            _ if length == 0 => Err(NoLayout::NoColumns),
            count if count * 10 < all * 9 => Err(NoLayout::Lengths(lengths().collect::<BTreeSet<_>>().len())),
            few if few < LEAST => Err(NoLayout::Few(few)),
            _ => Ok(self.records.iter().copied().filter(|record| record.len() == length).collect()),
        }
    }

    /// The first records, to show them.
    pub fn first(&self, count: usize) -> &[&'a [u8]] {
        &self.records[..count.min(self.records.len())]
    }
}

/// Which number there is most often, and how often.
pub(super) fn most(numbers: impl Iterator<Item = usize>) -> Option<(usize, usize)> {
    let mut counts = BTreeMap::new();
    numbers.for_each(|number| *counts.entry(number).or_default() += 1);
    counts.into_iter().max_by_key(|(_, count)| *count)
}

/// The mark that makes as many fields of nearly all lines. Lines of one length may be fields of fixed width with a mark in some: these need
/// more marks, and commas, which stand in amounts, more still. Marks that stand at the same columns in all lines are between fields of
/// fixed width.
fn delimited(records: &[&[u8]]) -> Option<Dialect> {
    let is_even = most(records.iter().map(|record| record.len()))?.1 * 10 > records.len() * 9;
    let least = |mark: u8| match (is_even, mark) {
        (false, _) => 2,
        (true, b',') => 5,
        (true, _) => 3,
    };
    let is_padded = |mark: u8| {
        let at = |record| memchr::memchr_iter(mark, record);
        is_even && records.iter().all(|record| at(record).eq(at(records[0])))
    };
    let fits = |dialect: &Dialect| {
        let (fields, lines) =
            most(records.iter().map(|record| dialect.cells(record).count())).unwrap_or_default();
        fields >= least(dialect.delimiter)
            && lines * 20 >= records.len() * 19
            && !is_padded(dialect.delimiter)
    };
    let dialects = b";,\t|".map(|delimiter| Dialect { delimiter, quote: Some(b'"'), escape: None });
    dialects.into_iter().find(fits)
}
