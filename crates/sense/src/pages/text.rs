//! The picture of a file as text, for who keeps it beside other figures.

use super::kind::PageKind;
use super::layout::{PageCell, PageMap};

const DIGITS: u32 = 36;
/// Steps in which the place of a leaf in the order of keys is told, from the first to the last.
const STEPS: u32 = 24;

impl PageMap {
    /// Three letters for each page. In an index its place among those of the file, by two digits of base 36 (from 1,296 on they begin anew), and the
    /// leaf's in the order of keys from `0` to `n`, or `?`; `^` above the leaves. `~~~` is a free page with rows, `___` one never used, and
    /// `...` one of the server's own.
    pub fn text(&self) -> String {
        let digit = |number: usize| char::from_digit(number as u32 % DIGITS, DIGITS).unwrap_or('0');
        let of = |index: usize, last: char| [digit(index / DIGITS as usize), digit(index), last];
        let cell = |cell: &PageCell| match *cell {
            PageCell::Leaf { index, rank } => {
                let step = rank.map(|rank| (rank.clamp(0.0, 1.0) * (STEPS - 1) as f32).round() as u32);
                of(index, step.and_then(|step| char::from_digit(step, STEPS)).unwrap_or('?'))
            }
            PageCell::Branch(index) => of(index, '^'),
            PageCell::Freed => ['~'; 3],
            PageCell::Other(PageKind::Allocated) => ['_'; 3],
            PageCell::Other(_) => ['.'; 3],
        };
        self.cells.iter().flat_map(cell).collect()
    }

    /// The picture that [`Self::text`] wrote, with one page of every `step`; `None` where it is none.
    pub fn from_text(step: u64, text: &str) -> Option<Self> {
        let (pages, rest) = text.as_bytes().as_chunks::<3>();
        let cells: Option<Vec<PageCell>> = pages.iter().map(cell).collect();
        (rest.is_empty() && step > 0).then_some(Self { step, cells: cells? })
    }
}

fn cell(letters: &[u8; 3]) -> Option<PageCell> {
    let [high, low, last] = letters.map(char::from);
    match letters {
        b"~~~" => return Some(PageCell::Freed),
        b"___" => return Some(PageCell::Other(PageKind::Allocated)),
        b"..." => return Some(PageCell::Other(PageKind::Other)),
        _ => {}
    }
    let index = (high.to_digit(DIGITS)? * DIGITS + low.to_digit(DIGITS)?) as usize;
    match last {
        '^' => Some(PageCell::Branch(index)),
        '?' => Some(PageCell::Leaf { index, rank: None }),
        step => {
            let rank = step.to_digit(STEPS)? as f32 / (STEPS - 1) as f32;
            Some(PageCell::Leaf { index, rank: Some(rank) })
        }
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
            leaf(37, None),
            PageCell::Freed,
            PageCell::Other(PageKind::Allocated),
        ];
        let map = PageMap { step: 3, cells };
        assert_eq!(map.text(), "...01^00002n11?~~~___");
        assert_eq!(PageMap::from_text(3, &map.text()), Some(map));
    }

    #[test]
    fn what_is_no_picture_is_refused() {
        for text in ["0", "0000", "00-", "!!!", "00z", "é0"] {
            assert_eq!(PageMap::from_text(1, text), None, "{text}");
        }
        assert_eq!(PageMap::from_text(0, "000"), None);
    }
}
