//! Rows of a page in the old form (ROW_FORMAT=REDUNDANT), in which the dictionary is kept.

use super::bytes::{u8_at, u16_at};

/// Where the row begins that is before all others, and that which is after all.
const FIRST: usize = 101;
const LAST: usize = 116;
/// Bytes before a row that say what it is like.
const HEAD: usize = 6;
const DELETED: u8 = 0x20;

/// The rows of a page in the order of their keys, each as its fields; a field that is NULL has no bytes. Deleted ones are left out.
pub(super) fn rows(page: &[u8]) -> impl Iterator<Item = Vec<&[u8]>> {
    let mut at = FIRST;
    // A damaged page may have a circle: it ends after as many rows as could be there.
    let places = (0..page.len() / HEAD).map_while(move |_| {
        at = usize::from(u16_at(page, at - 2));
        (at > LAST && at < page.len()).then_some(at)
    });
    places.filter(|at| u8_at(page, at - HEAD) & DELETED == 0).map(|at| fields(page, at))
}

fn fields(page: &[u8], at: usize) -> Vec<&[u8]> {
    let count = usize::from(u16_at(page, at - 4) >> 1 & 0x3FF);
    let is_short = u8_at(page, at - 3) & 1 == 1;
    let mut start = 0;
    let mut found = Vec::new();
    for field in 1..=count {
        let width = if is_short { 1 } else { 2 };
        let Some(place) = at.checked_sub(HEAD + width * field) else { break };
        let (end, is_null) = match is_short {
            true => (u8_at(page, place) & 0x7F, u8_at(page, place) & 0x80 != 0),
            false => (0, u16_at(page, place) & 0x8000 != 0),
        };
        let end = if is_short { usize::from(end) } else { usize::from(u16_at(page, place) & 0x3FFF) };
        let bytes = page.get(at + start..at + end).filter(|_| !is_null).unwrap_or_default();
        found.push(bytes);
        start = end;
    }
    found
}
