//! The rows of each table.

mod catalogue;
mod country;
mod people;
mod sales;

use super::date::Date;
use super::scale::Scale;
use super::table::Table;
use super::values;
use evenkeel_core::random::{Random, Seed};

pub use catalogue::SUBJECTS;
pub use country::COUNTRIES;
pub use sales::LINES_MAX;

/// Writes the rows of a data set.
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

    /// Its size.
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// Appends row `number` (from 1) of a table to `out`: fields between tabs, no line end. Order lines
    /// are written by [`Generator::write_line`]; shopping carts have no rows and write nothing.
    pub fn write(&self, table: Table, number: u64, out: &mut Vec<u8>) {
        let mut random = self.random(table, number);
        let mut row = Row { out, random: &mut random };
        match table {
            Table::Address => self.address(number, &mut row),
            Table::Author => self.author(number, &mut row),
            Table::Country => country::country(number, &mut row),
            Table::Customer => self.customer(number, &mut row),
            Table::Item => self.item(number, &mut row),
            Table::Orders => self.order(number, &mut row),
            Table::CcXacts => self.cc_xact(number, &mut row),
            Table::OrderLine | Table::ShoppingCart | Table::ShoppingCartLine => return,
        }
        row.out.pop();
    }

    /// Appends line `line` (from 1 to [`Generator::lines`]) of an order to `out`.
    pub fn write_line(&self, order: u64, line: u64, out: &mut Vec<u8>) {
        let mut random = self.random(Table::OrderLine, order * (LINES_MAX + 1) + line);
        let mut row = Row { out, random: &mut random };
        self.order_line(order, line, &mut row);
        row.out.pop();
    }

    /// The randomness of one row.
    fn random(&self, table: Table, number: u64) -> Random {
        Random::new(self.seed.child(table.name()).numbered(number))
    }
}

/// A row under construction; each call appends one field and a tab.
struct Row<'a> {
    out: &'a mut Vec<u8>,
    random: &'a mut Random,
}

impl Row<'_> {
    /// A field that the closure writes.
    fn field(&mut self, write: impl FnOnce(&mut Vec<u8>, &mut Random)) -> &mut Self {
        write(self.out, self.random);
        self.out.push(b'\t');
        self
    }

    fn text(&mut self, text: &str) -> &mut Self {
        self.field(|out, _| out.extend_from_slice(text.as_bytes()))
    }

    /// One of several texts, uniform.
    fn choice(&mut self, texts: &[&str]) -> &mut Self {
        let text = values::choice(self.random, texts);
        self.text(text)
    }

    fn whole(&mut self, number: u64) -> &mut Self {
        self.field(|out, _| values::whole(out, number))
    }

    /// A whole number, uniform in `low..=high`.
    fn uniform(&mut self, low: u64, high: u64) -> &mut Self {
        let number = self.random.uniform(low, high);
        self.whole(number)
    }

    fn decimal(&mut self, units: u64, places: u32) -> &mut Self {
        self.field(|out, _| values::decimal(out, units, places))
    }

    /// A number with two decimals, uniform in `low..=high` hundredths.
    fn uniform_cents(&mut self, low: u64, high: u64) -> &mut Self {
        let cents = self.random.uniform(low, high);
        self.decimal(cents, 2)
    }

    fn date(&mut self, date: Date) -> &mut Self {
        self.field(|out, _| values::date(out, date))
    }

    fn astring(&mut self, shortest: u64, longest: u64) -> &mut Self {
        self.field(|out, random| values::astring(out, random, shortest, longest))
    }

    /// For a CHAR column: the server drops spaces at the end, so they are not written.
    fn astring_fixed(&mut self, length: u64) -> &mut Self {
        self.field(|out, random| {
            let start = out.len();
            values::astring(out, random, length, length);
            while out.len() > start && out.ends_with(b" ") {
                out.pop();
            }
        })
    }

    fn nstring(&mut self, shortest: u64, longest: u64) -> &mut Self {
        self.field(|out, random| values::nstring(out, random, shortest, longest))
    }
}

/// A day of the years `first..=last`, uniform.
fn day_in(random: &mut Random, first: i32, last: i32) -> Date {
    let start = Date::new(first, 1, 1);
    start.plus(random.uniform(0, (Date::new(last, 12, 31).0 - start.0).unsigned_abs().into()))
}
