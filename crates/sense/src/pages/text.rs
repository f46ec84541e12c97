//! The picture of a file as text, for who keeps it beside other figures.

use super::kind::PageKind;
use super::layout::{PageCell, PageMap};

/// Steps in which the place of a leaf in the order of keys is told, from the first to the last.
const STEPS: u32 = 24;
/// Letters of indexes; beyond them they begin anew.
const LETTERS: usize = 26;

impl PageMap {
    /// Two letters for each page: the index in small letters and its place in the order of keys from `0` to `n`, or `?`; the index in large
    /// ones and `^` above the leaves; `~~` for a free page with rows, `__` for one never used and `..` for the server's own.
    pub fn text(&self) -> String {
        let letter = |index: usize| char::from(b'a' + (index % LETTERS) as u8);
        self.cells.iter().fold(String::with_capacity(2 * self.cells.len()), |mut text, cell| {
            match *cell {
                PageCell::Leaf { index, rank } => {
                    let step = rank.map(|rank| (rank.clamp(0.0, 1.0) * (STEPS - 1) as f32).round() as u32);
                    text.extend([
                        letter(index),
                        step.and_then(|step| char::from_digit(step, STEPS)).unwrap_or('?'),
                    ]);
                }
                PageCell::Branch(index) => text.extend([letter(index).to_ascii_uppercase(), '^']),
                PageCell::Freed => text.push_str("~~"),
                PageCell::Other(PageKind::Allocated) => text.push_str("__"),
                PageCell::Other(_) => text.push_str(".."),
            }
            text
        })
    }

    /// The picture that [`Self::text`] wrote, with one page of every `step`; `None` where it is none.
    pub fn from_text(step: u64, text: &str) -> Option<Self> {
        let (pairs, rest) = text.as_bytes().as_chunks::<2>();
        let cells: Option<Vec<PageCell>> = pairs.iter().map(cell).collect();
        (rest.is_empty() && step > 0).then_some(Self { step, cells: cells? })
    }
}

fn cell([kind, place]: &[u8; 2]) -> Option<PageCell> {
    let index = |first: u8| usize::from(kind - first);
    match (kind, place) {
        (b'a'..=b'z', b'?') => Some(PageCell::Leaf { index: index(b'a'), rank: None }),
        (b'a'..=b'z', place) => {
            let step = char::from(*place).to_digit(STEPS)?;
            Some(PageCell::Leaf { index: index(b'a'), rank: Some(step as f32 / (STEPS - 1) as f32) })
        }
        (b'A'..=b'Z', b'^') => Some(PageCell::Branch(index(b'A'))),
        (b'~', b'~') => Some(PageCell::Freed),
        (b'_', b'_') => Some(PageCell::Other(PageKind::Allocated)),
        (b'.', b'.') => Some(PageCell::Other(PageKind::Other)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_the_same_after_it_was_text() {
        let leaf = |index, rank| PageCell::Leaf { index, rank };
        let cells = vec![
            PageCell::Other(PageKind::Other),
            PageCell::Branch(1),
            leaf(0, Some(0.0)),
            leaf(2, Some(1.0)),
            leaf(25, None),
            PageCell::Freed,
            PageCell::Other(PageKind::Allocated),
        ];
        let map = PageMap { step: 3, cells };
        assert_eq!(map.text(), "..B^a0cnz?~~__");
        assert_eq!(PageMap::from_text(3, &map.text()), Some(map));
    }

    #[test]
    fn what_is_no_picture_is_refused() {
        for text in ["a", "a0b", "a-", "A0", "!!", "é"] {
            assert_eq!(PageMap::from_text(1, text), None, "{text}");
        }
        assert_eq!(PageMap::from_text(0, "a0"), None);
    }
}
