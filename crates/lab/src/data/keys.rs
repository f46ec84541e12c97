//! The keys of a table's rows, in their order.

use super::set::{DataSet, Generator, Table};
use super::tpcw;

/// The key of a row: a number, or an order and a line; the line is zero where the key is one number.
pub(super) type Key = (u64, u64);

impl Generator {
    /// The keys of all rows in the order of the primary key. First lines of all TPC-W orders come before second ones; all lines of a
    /// DVD Store order come before those of the next.
    pub(super) fn keys(&self, table: Table) -> Box<dyn Iterator<Item = Key>> {
        let set: DataSet = match self {
            Self::Tpcw(rows) => rows.scale().into(),
            Self::DvdStore(rows) => rows.size().into(),
        };
        if !table.has_lines() {
            return Box::new((1..=set.rows_expected(table)).map(|number| (number, 0)));
        }
        let (orders, generator) = (1..=set.rows_expected(set.orders()), self.clone());
        match set {
            DataSet::Tpcw(_) => Box::new((1..=tpcw::LINES_MAX).flat_map(move |line| {
                let generator = generator.clone();
                let has_it = move |order: &u64| line == 1 || line <= generator.lines(*order);
                orders.clone().filter(has_it).map(move |order| (order, line))
            })),
            DataSet::DvdStore(_) => Box::new(
                orders.flat_map(move |order| (1..=generator.lines(order)).map(move |line| (order, line))),
            ),
        }
    }
}
