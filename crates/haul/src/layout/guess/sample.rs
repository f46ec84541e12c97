//! The beginning of a file, as records.

use super::cells::class;
use crate::blocks::Separator;
use std::collections::BTreeMap;

/// Records that are looked at, at most.
const RECORDS: usize = 20_000;
/// Records below which columns are no more than chance.
pub(super) const LEAST: usize = 10;
/// Bytes of a record at most.
const LONGEST: usize = 4096;

/// Records of one beginning.
pub struct Sample<'a> {
    /// Without their line ends.
    pub(super) records: Vec<&'a [u8]>,
    pub(super) separator: Separator,
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
    /// Fields that are parted already.
    #[error("its lines have delimiters: {fields} fields by `{delimiter}` in nearly all of them")]
    Delimited {
        /// The mark that parts the fields.
        delimiter: char,
        /// Fields of a line.
        fields: usize,
    },
    /// Neither lines nor a length that repeats.
    #[error("it has neither line ends nor a record length that repeats")]
    NoRecords,
    /// Lines of text.
    #[error("its lines have {0} different lengths, and no bytes tell which is which")]
    Lengths(usize),
    /// Nothing but blanks, or a record that is too large.
    #[error("no columns are to be seen")]
    NoColumns,
}

impl<'a> Sample<'a> {
    /// Parts a beginning into records; `is_whole` where the file ends with it.
    ///
    /// # Errors
    /// It is no file of records of fixed width.
    pub fn new(bytes: &'a [u8], is_whole: bool) -> Result<Self, NoLayout> {
        if bytes.is_empty() {
            return Err(NoLayout::Empty);
        }
        let odd =
            bytes.iter().filter(|byte| matches!(byte, 0..=8 | 0x0b | 0x0c | 0x0e..=0x1f | 0x7f)).count();
        // A few in a file of records are dirt, which conversion refuses.
        if odd * 100 > bytes.len() {
            return Err(NoLayout::Binary((odd * 1000).div_ceil(bytes.len())));
        }
        match bytes.contains(&b'\n') {
            true => Self::lines(bytes, is_whole),
            false => Self::of_length(bytes, is_whole),
        }
    }

    fn lines(bytes: &'a [u8], is_whole: bool) -> Result<Self, NoLayout> {
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
        if let Some((delimiter, fields)) = delimited(&records) {
            return Err(NoLayout::Delimited { delimiter: char::from(delimiter), fields });
        }
        Ok(Self { records, separator: Separator::Line })
    }

    /// Records without line ends: their length is that after which kinds of letters repeat.
    fn of_length(bytes: &'a [u8], is_whole: bool) -> Result<Self, NoLayout> {
        let most = LONGEST.min(bytes.len() / LEAST);
        let classes: Vec<u8> = bytes.iter().take(64 << 10).map(|byte| class(*byte)).collect();
        let alike = |length: usize| {
            let pairs = classes.iter().zip(classes.iter().skip(length));
            let (same, all) = pairs.fold((0, 0), |(same, all), (a, b)| (same + usize::from(a == b), all + 1));
            1000 * same / usize::max(all, 1)
        };
        let scores: Vec<(usize, usize)> = (4..=most).map(|length| (length, alike(length))).collect();
        let best = scores.iter().map(|(_, score)| *score).max().ok_or(NoLayout::Few(1))?;
        let mut sorted: Vec<usize> = scores.iter().map(|(_, score)| *score).collect();
        sorted.sort_unstable();
        let usual = sorted[sorted.len() / 2];
        // Twice the length repeats as well, and now and then better: the shortest one that is nearly as good stands.
        let is_good = |score: usize| (score - usual) * 4 >= (best - usual) * 3;
        let found = scores.iter().find(|(_, score)| *score >= usual && is_good(*score));
        let (length, _) = *found.filter(|_| best > 850 && best > usual + 50).ok_or(NoLayout::NoRecords)?;
        if is_whole && !bytes.len().is_multiple_of(length) {
            return Err(NoLayout::NoRecords);
        }
        let records = bytes.chunks_exact(length).take(RECORDS).collect();
        Ok(Self { records, separator: Separator::Length(length) })
    }

    /// The first records, to show them.
    pub fn first(&self, count: usize) -> &[&'a [u8]] {
        &self.records[..count.min(self.records.len())]
    }
}

/// How many records have which length.
pub(super) fn lengths(records: &[&[u8]]) -> BTreeMap<usize, usize> {
    let mut lengths = BTreeMap::new();
    records.iter().for_each(|record| *lengths.entry(record.len()).or_default() += 1);
    lengths
}

/// The mark that stands equally often in nearly all lines, and the fields that it makes. Lines of one length may be fields of fixed width
/// with a mark in some: these need more marks, and commas, which stand in amounts, more still. Marks that stand at the same columns in
/// all lines are between fields of fixed width.
fn delimited(records: &[&[u8]]) -> Option<(u8, usize)> {
    let is_even = lengths(records).values().max()? * 10 > records.len() * 9;
    let least = |mark: u8| match (is_even, mark) {
        (false, _) => 1,
        (true, b',') => 4,
        (true, _) => 2,
    };
    let most = |mark: u8| {
        let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
        for record in records {
            *counts.entry(memchr::memchr_iter(mark, record).count()).or_default() += 1;
        }
        counts.into_iter().max_by_key(|(_, lines)| *lines)
    };
    let is_padded = |mark: u8| {
        let at = |record| memchr::memchr_iter(mark, record);
        is_even && records.iter().all(|record| at(record).eq(at(records[0])))
    };
    b";,\t|".iter().find_map(|mark| {
        let (marks, lines) = most(*mark).filter(|_| !is_padded(*mark))?;
        (marks >= least(*mark) && lines * 20 >= records.len() * 19).then_some((*mark, marks + 1))
    })
}
