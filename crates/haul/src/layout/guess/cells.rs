//! What stands at one place over all records.

/// Kinds of letters.
pub(super) const CLASSES: usize = 5;

/// Kind of a byte: blank, digit, letter, mark of a number, anything else.
pub(super) fn class(byte: u8) -> u8 {
    match byte {
        b' ' => 0,
        b'0'..=b'9' => 1,
        b'a'..=b'z' | b'A'..=b'Z' | 0x80.. => 2,
        b'.' | b'-' | b'+' => 3,
        _ => 4,
    }
}

pub(super) const BLANK: u8 = 0;
pub(super) const DIGIT: u8 = 1;
pub(super) const LETTER: u8 = 2;

/// Counts of one place, and of it with the place before it.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    pub classes: [usize; CLASSES],
    bytes: Vec<usize>,
    /// Records with a letter before this place and a blank at it.
    pub ends: usize,
    /// Records with a blank before this place and a letter at it.
    pub starts: usize,
}

impl Cell {
    fn new() -> Self {
        Self { classes: [0; CLASSES], bytes: vec![0; 256], ends: 0, starts: 0 }
    }

    pub fn all(&self) -> usize {
        self.classes.iter().sum()
    }

    pub fn blanks(&self) -> usize {
        self.classes[usize::from(BLANK)]
    }

    /// Whether nearly all of its letters are of this kind, and there are any.
    pub fn is_mostly(&self, class: u8) -> bool {
        let letters = self.all() - self.blanks();
        letters > 0 && self.classes[usize::from(class)] * 50 >= letters * 49
    }

    /// Bits that its digits tell: 0 where it is always the same one, 3.3 where all are as frequent.
    pub fn spread(&self) -> f64 {
        let digits = &self.bytes[usize::from(b'0')..=usize::from(b'9')];
        let all: usize = digits.iter().sum();
        let share = |count: &usize| *count as f64 / all.max(1) as f64;
        digits.iter().map(share).filter(|share| *share > 0.0).map(|share| -share * share.log2()).sum()
    }
}

/// Counts of all places of records that are equally long.
pub(super) fn cells(records: &[&[u8]]) -> Vec<Cell> {
    let length = records.first().map_or(0, |record| record.len());
    let mut cells = vec![Cell::new(); length];
    for record in records {
        let mut before = None;
        for (cell, byte) in cells.iter_mut().zip(*record) {
            cell.classes[usize::from(class(*byte))] += 1;
            cell.bytes[usize::from(*byte)] += 1;
            let is_blank = *byte == b' ';
            cell.ends += usize::from(before == Some(false) && is_blank);
            cell.starts += usize::from(before == Some(true) && !is_blank);
            before = Some(is_blank);
        }
    }
    cells
}
