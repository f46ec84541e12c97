//! The rows of each table.

mod catalogue;
mod country;
mod people;
mod sales;

use super::date::Date;
use super::scale::Scale;
use super::schema::Table;
use crate::data::row::Row;
use evenkeel_core::random::{Random, Seed};

pub use catalogue::SUBJECTS;
pub use country::COUNTRIES;
pub use sales::{CARD_TYPES, LINES_MAX, SHIP_TYPES};

#[derive(Clone, Copy, Debug)]
pub struct Generator {
    scale: Scale,
    today: Date,
    seed: Seed,
}

impl Generator {
    /// The data set of this size, seed and date. `today` is the day on which the population is said to
    /// happen: customers and orders lie before it, credit cards expire after it.
    pub fn new(scale: Scale, seed: Seed, today: Date) -> Self {
        Self { scale, today, seed: seed.child("tpcw") }
    }

    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// Appends a row to `out`, fields between tabs, no line end: row `number` (from 1), or line `line` (from 1) of
    /// order `number`. Shopping carts have no rows and get nothing.
    pub fn write(&self, table: Table, number: u64, line: u64, out: &mut Vec<u8>) {
        let own = if line == 0 { number } else { number * (LINES_MAX + 1) + line };
        let mut random = self.random(table, own);
        let mut row = Row::new(out, &mut random);
        match table {
            Table::Address => self.address(number, &mut row),
            Table::Author => self.author(number, &mut row),
            Table::Country => country::country(number, &mut row),
            Table::Customer => self.customer(number, &mut row),
            Table::Item => self.item(number, &mut row),
            Table::Orders => self.order(number, &mut row),
            Table::CcXacts => self.cc_xact(number, &mut row),
            Table::OrderLine => self.order_line(number, line, &mut row),
            Table::ShoppingCart | Table::ShoppingCartLine => return,
        }
        row.end();
    }

    fn random(&self, table: Table, number: u64) -> Random {
        Random::new(self.seed.child(table.name()).numbered(number))
    }
}

/// A day of the years `first..=last`, uniform.
fn day_in(random: &mut Random, first: i32, last: i32) -> Date {
    let start = Date::new(first, 1, 1);
    start.plus(random.uniform(0, (Date::new(last, 12, 31).0 - start.0).unsigned_abs().into()))
}
