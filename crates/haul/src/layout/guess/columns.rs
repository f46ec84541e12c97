//! Fields of equally long records, by where blanks and kinds of letters change.

use super::sample::LEAST;
use evenkeel_wire::record::is_time;

/// A stretch of a record that is one field, as it seems.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Column {
    pub start: usize,
    pub width: usize,
    pub is_time: bool,
    /// Whether only the spread of its digits tells where it begins.
    pub by_spread: bool,
    /// Whether blanks before it may belong to the field before.
    pub by_blanks: bool,
}

/// Blanks behind a value that are too many to be padding, and so a field of their own.
const PADDING: usize = 12;
/// Years of instants, so that few other digits are taken for one.
const YEARS: std::ops::Range<u32> = 1970..2100;

/// All columns of records, which have no gaps.
pub(super) fn columns(records: &[&[u8]]) -> Vec<Column> {
    let cells = cells(records);
    let (mut found, mut at, mut from) = (Vec::new(), 0, 0);
    while at < cells.len() {
        match [14, 8].into_iter().find(|width| is_instant(records, &cells, at, *width)) {
            Some(width) => {
                stretch(&cells, from, at, &mut found);
                found.push(Column { is_time: true, ..Column::new(at, at + width) });
                at += width;
                from = at;
            }
            None => at += 1,
        }
    }
    stretch(&cells, from, cells.len(), &mut found);
    found.into_iter().flat_map(|column| without_filler(column, &cells)).collect()
}

/// Whether nearly all records have an instant here, or nothing at all.
fn is_instant(records: &[&[u8]], cells: &[Cell], at: usize, width: usize) -> bool {
    let Some(here) = cells.get(at..at + width) else { return false };
    if !here.iter().all(|cell| cell.is_mostly(DIGIT)) {
        return false;
    }
    let (mut instants, mut others) = (0, 0);
    for record in records {
        let value = &record[at..at + width];
        let year = value[..4].iter().fold(0, |year, digit| 10 * year + u32::from(digit.wrapping_sub(b'0')));
        if is_time(value) && YEARS.contains(&year) {
            instants += 1;
        } else if value.iter().any(|byte| *byte != b' ') {
            others += 1;
        }
    }
    instants >= LEAST && others * 200 <= instants
}

impl Column {
    fn new(start: usize, end: usize) -> Self {
        Self { start, width: end - start, is_time: false, by_spread: false, by_blanks: false }
    }

    pub fn end(&self) -> usize {
        self.start + self.width
    }
}

/// To which side the values of the field stand that is being looked at, as far as is known.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    Unknown,
    /// Letters gave way to blanks.
    Left,
    /// Blanks gave way to letters.
    Right,
}

/// Parts a stretch that holds no instant.
fn stretch(cells: &[Cell], from: usize, to: usize, found: &mut Vec<Column>) {
    let (mut column, mut side) = (Column::new(from, from), Side::Unknown);
    let mut last_end = from;
    for at in from + 1..to {
        let few = cells[at].all() / 200;
        let (ends, starts) = (cells[at].ends > few, cells[at].starts > few);
        let begins = match side {
            // A number has ended, and what follows begins with a blank.
            Side::Right if ends => Some(at),
            // Behind the padding something begins: a number whose own padding is part of it, or a text.
            Side::Left if starts && rises(cells, at) => {
                Some(if is_right(cells, at, to) { last_end } else { at })
            }
            // Digits give way to letters. The other way round it may be a code, as `C042`.
            _ if cells[at - 1].is_mostly(DIGIT) && cells[at].is_mostly(LETTER) => Some(at),
            _ if digits_calm(&cells[at - 1], &cells[at]) => Some(at),
            _ => None,
        };
        match begins {
            Some(begin) => {
                push(column, begin, found);
                column = Column {
                    by_spread: begin == at && digits_calm(&cells[at - 1], &cells[at]),
                    by_blanks: begin < at,
                    ..Column::new(begin, begin)
                };
                side = if begin < at { Side::Right } else { Side::Unknown };
                last_end = at;
            }
            None if ends => (side, last_end) = (Side::Left, at),
            None if starts && side == Side::Unknown => side = Side::Right,
            None => {}
        }
    }
    push(column, to, found);
}

fn push(column: Column, end: usize, found: &mut Vec<Column>) {
    if end > column.start {
        found.push(Column { width: end - column.start, ..column });
    }
}

/// Whether a field begins here and no word within a text: letters are far more frequent than one place before, or all was blank there.
fn rises(cells: &[Cell], at: usize) -> bool {
    let (before, here) = (&cells[at - 1], &cells[at]);
    let all = here.all();
    before.blanks() * 50 >= all * 49 || before.blanks() > here.blanks() + all / 4
}

/// Whether what begins here is a number that stands to the right: it begins at several places, and never ends before its field does.
fn is_right(cells: &[Cell], at: usize, to: usize) -> bool {
    let number = cells[at..to].iter().take_while(|cell| cell.blanks() > cell.all() / 200);
    let more = cells.get(at + 1).filter(|_| at + 1 < to);
    let is_number = |cell: &Cell| cell.is_mostly(DIGIT) || cell.classes[3] > 0;
    more.is_some_and(|cell| cell.starts > cell.all() / 200)
        && number.clone().skip(1).all(|cell| cell.ends <= cell.all() / 200)
        && number.clone().all(is_number)
}

/// Digits of which all are as frequent give way to nearly always the same one: the end of a number, and the beginning of the next.
fn digits_calm(before: &Cell, here: &Cell) -> bool {
    before.is_mostly(DIGIT) && here.is_mostly(DIGIT) && before.spread() > 2.0 && here.spread() < 0.8
}

/// A column, and the blanks behind its values as another one where they are too many to be padding.
fn without_filler(column: Column, cells: &[Cell]) -> Vec<Column> {
    let here = &cells[column.start..column.end()];
    let is_used = |cell: &Cell| cell.blanks() * 200 < cell.all() * 199;
    let used = here.iter().rposition(is_used).map_or(0, |last| last + 1);
    let blanks = column.width - used;
    if used == 0 || column.is_time || blanks <= PADDING.max(2 * used) {
        return vec![column];
    }
    let end = column.end();
    let split = column.start + used;
    vec![Column { width: used, ..column }, Column::new(split, end)]
}

/// Kinds of letters.
const CLASSES: usize = 5;

/// Kind of a byte: blank, digit, letter, mark of a number, anything else.
fn class(byte: u8) -> u8 {
    match byte {
        b' ' => 0,
        b'0'..=b'9' => 1,
        b'a'..=b'z' | b'A'..=b'Z' | 0x80.. => 2,
        b'.' | b'-' | b'+' => 3,
        _ => 4,
    }
}

const BLANK: u8 = 0;
const DIGIT: u8 = 1;
const LETTER: u8 = 2;

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
fn cells(records: &[&[u8]]) -> Vec<Cell> {
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
