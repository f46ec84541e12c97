//! Every row of a table by a place from zero on, in the order of keys, so that rows can be written in any order.

use super::set::{DataSet, Generator, Table};
use super::writer::Key;
use super::{dvdstore, tpcw};

/// Places of a table's rows. A table of lines has places that no row has, because orders differ in how many lines they have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places {
    /// Rows, or orders of a table of lines.
    rows: u64,
    lines: Lines,
    /// The order that was asked about last, and how many lines it has.
    known: (u64, u64),
}

#[derive(Clone, Copy, Debug)]
enum Lines {
    None,
    /// First lines of all orders come first, then second ones; with so many lines at most.
    First(u64),
    /// All lines of an order come before those of the next.
    Last(u64),
}

impl Generator {
    pub(super) fn places(&self, table: Table) -> Places {
        let (set, most): (DataSet, _) = match self {
            Self::Tpcw(rows) => (rows.scale().into(), Lines::First(tpcw::LINES_MAX)),
            Self::DvdStore(rows) => (rows.size().into(), Lines::Last(dvdstore::LINES_MAX)),
        };
        let (counted, lines) = if table.has_lines() { (set.orders(), most) } else { (table, Lines::None) };
        Places { rows: set.rows_expected(counted), lines, known: (0, 0) }
    }
}

impl Places {
    pub(super) fn len(&self) -> u64 {
        match self.lines {
            Lines::None => self.rows,
            Lines::First(most) | Lines::Last(most) => self.rows * most,
        }
    }

    /// The key of the row at a place; `None` where there is none.
    pub(super) fn key(&mut self, place: u64, generator: &Generator) -> Option<Key> {
        let (order, line) = match self.lines {
            Lines::None => return Some((place + 1, 0)),
            Lines::First(_) => (place % self.rows + 1, place / self.rows + 1),
            Lines::Last(most) => (place / most + 1, place % most + 1),
        };
        if line > 1 && self.known.0 != order {
            self.known = (order, generator.lines(order));
        }
        (line == 1 || line <= self.known.1).then_some((order, line))
    }
}
