//! Every row of a table by a place from zero on, so that rows can be written in any order.

use super::set::{DataSet, Generator, Table};
use super::tpcw;
use super::writer::Key;

/// Places of a table's rows. A table of lines has places that no row has, because orders differ in how many lines they have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places {
    orders: u64,
    /// Most lines of an order; `None` where the key is one number.
    lines: Option<u64>,
}

impl Generator {
    /// The places of a table's rows.
    pub(super) fn places(&self, table: Table) -> Places {
        let (set, most): (DataSet, _) = match self {
            Self::Tpcw(rows) => (rows.scale().into(), tpcw::LINES_MAX),
            Self::DvdStore(rows) => (rows.size().into(), super::dvdstore::LINES_MAX),
        };
        let (head, has_lines) = match table {
            Table::Tpcw(own) => (tpcw::Table::Orders.into(), own == tpcw::Table::OrderLine),
            Table::DvdStore(own) => (super::dvdstore::Table::Orders.into(), own.has_lines()),
        };
        let counted = if has_lines { head } else { table };
        Places { orders: set.rows_expected(counted), lines: has_lines.then_some(most) }
    }
}

impl Places {
    /// How many places there are.
    pub(super) fn len(&self) -> u64 {
        self.orders * self.lines.unwrap_or(1)
    }

    /// The key of the row at a place; `None` where there is none.
    pub(super) fn key(&self, place: u64, generator: &Generator) -> Option<Key> {
        let Some(most) = self.lines else { return Some((place + 1, 0)) };
        let (order, line) = (place / most + 1, place % most + 1);
        (line <= generator.lines(order)).then_some((order, line))
    }
}

#[cfg(test)]
mod tests {
    use super::super::dvdstore;
    use super::super::tpcw::{Date, Scale};
    use super::*;
    use evenkeel_core::random::Seed;
    use std::collections::BTreeSet;

    #[test]
    fn the_places_of_a_table_have_each_of_its_rows_once() {
        let today = Date::new(2026, 1, 15);
        let sets: [DataSet; 2] =
            [Scale::new(1, 1_000).unwrap().into(), dvdstore::Size::new(1).unwrap().into()];
        for set in sets {
            let generator = set.generator(Seed(1), today);
            for table in set.tables() {
                let places = generator.places(table);
                let found: Vec<Key> =
                    (0..places.len()).filter_map(|place| places.key(place, &generator)).collect();
                let keys: BTreeSet<Key> = found.iter().copied().collect();
                let mut wanted = BTreeSet::new();
                let mut all = generator.keys(table);
                while let Some(key) = all.next(&generator) {
                    wanted.insert(key);
                }
                assert_eq!((found.len(), &keys), (wanted.len(), &wanted), "{table}");
            }
        }
    }
}
