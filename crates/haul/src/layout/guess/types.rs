//! Types of records, told apart by bytes that go with their lengths.

use super::sample::{LEAST, NoLayout, Sample, lengths};
use std::collections::BTreeMap;
use std::ops::Range;

/// Types at most.
const TYPES: usize = 20;
/// Where the bytes that tell them may lie.
const WITHIN: usize = 32;

/// Records of one type.
pub(super) struct Group<'a> {
    pub name: String,
    /// What tells it; empty where it is the only one.
    pub is: Vec<Vec<u8>>,
    pub records: Vec<&'a [u8]>,
}

/// Records by their type, where a field says it.
pub(super) struct Groups<'a> {
    pub tell: Option<Range<usize>>,
    pub all: Vec<Group<'a>>,
}

/// Parts a sample; records of rare lengths are dirt.
pub(super) fn groups<'a>(sample: &Sample<'a>) -> Result<Groups<'a>, NoLayout> {
    let lengths = lengths(&sample.records);
    let all = sample.records.len();
    let common: Vec<usize> =
        lengths.iter().filter(|(_, count)| **count * 50 > all).map(|(length, _)| *length).collect();
    let of = |length: usize| sample.records.iter().copied().filter(move |record| record.len() == length);
    let covered: usize = common.iter().map(|length| lengths[length]).sum();
    match &common[..] {
        [0] => Err(NoLayout::NoColumns),
        [one] if covered * 10 >= all * 9 => match of(*one).count() {
            few if few < LEAST => Err(NoLayout::Few(few)),
            _ => {
                let group = Group { name: "records".to_owned(), is: Vec::new(), records: of(*one).collect() };
                Ok(Groups { tell: None, all: vec![group] })
            }
        },
        [] | [_] => Err(NoLayout::Lengths(lengths.len())),
        several if covered * 10 >= all * 9 && several.len() <= TYPES => {
            let records: Vec<&[u8]> =
                sample.records.iter().copied().filter(|record| several.contains(&record.len())).collect();
            told(&records, several).ok_or(NoLayout::Lengths(lengths.len()))
        }
        _ => Err(NoLayout::Lengths(lengths.len())),
    }
}

/// The first few bytes of which each value goes with one length.
fn told<'a>(records: &[&'a [u8]], lengths: &[usize]) -> Option<Groups<'a>> {
    let shortest = *lengths.first()?;
    let places = (0..shortest.min(WITHIN)).flat_map(|at| (1..=3).map(move |width| at..at + width));
    for tell in places.filter(|tell| tell.end <= shortest) {
        let mut values: BTreeMap<&[u8], BTreeMap<usize, usize>> = BTreeMap::new();
        for record in records {
            *values.entry(&record[tell.clone()]).or_default().entry(record.len()).or_default() += 1;
            if values.len() > TYPES {
                break;
            }
        }
        let is_told = values.values().all(|lengths| lengths.len() == 1);
        if values.len() > TYPES || values.len() < lengths.len() || !is_told {
            continue;
        }
        let group = |length: &usize| Group {
            name: format!("type_{length}"),
            is: values
                .iter()
                .filter(|(_, of)| of.contains_key(length))
                .map(|(value, _)| value.to_vec())
                .collect(),
            records: records.iter().copied().filter(|record| record.len() == *length).collect(),
        };
        return Some(Groups { tell: Some(tell), all: lengths.iter().map(group).collect() });
    }
    None
}
