//! Orders, their lines and what customers have bought.

use super::{Generator, Row};
use crate::data::dvdstore::schema::Table;
use crate::data::tpcw::Date;
use evenkeel_core::random::Random;

pub const LINES_MAX: u64 = 9;
pub const QUANTITY_MAX: u64 = 3;
/// Dearest order before tax, in cents.
const NET_CENTS_MAX: u64 = 40_000;
const MONTHS: u64 = 12;

/// Sales tax of 8.25 % on so many cents, to the nearest cent.
pub fn tax_cents(net_cents: u64) -> u64 {
    (net_cents * 825 + 5_000) / 10_000
}

/// What an order shares with its lines; drawn first from the order's randomness.
struct OrderFacts {
    lines: u64,
    customer: u64,
    ordered: Date,
}

impl Generator {
    fn facts(&self, order: u64, random: &mut Random) -> OrderFacts {
        OrderFacts {
            lines: random.uniform(1, LINES_MAX),
            customer: random.uniform(1, self.size.customers()),
            ordered: day_of(self.today, (order - 1) * MONTHS / self.size.orders(), random),
        }
    }

    /// Lines of an order, 1 to [`LINES_MAX`].
    pub fn lines(&self, order: u64) -> u64 {
        self.random(Table::Orders, order).uniform(1, LINES_MAX)
    }

    /// Product and quantity of a line.
    fn line(&self, order: u64, line: u64) -> (u64, u64) {
        let mut random = self.random(Table::OrderLines, order * (LINES_MAX + 1) + line);
        (random.uniform(1, self.size.products()), random.uniform(1, QUANTITY_MAX))
    }

    pub(super) fn order(&self, order: u64, row: &mut Row<'_>) {
        let facts = self.facts(order, row.random);
        let net = row.random.uniform(1, NET_CENTS_MAX);
        let tax = tax_cents(net);
        row.whole(order).date(facts.ordered).whole(facts.customer).cents(net).cents(tax).cents(net + tax);
    }

    pub(super) fn order_line(&self, order: u64, line: u64, row: &mut Row<'_>) {
        let facts = self.facts(order, &mut self.random(Table::Orders, order));
        let (product, quantity) = self.line(order, line);
        row.whole(line).whole(order).whole(product).whole(quantity).date(facts.ordered);
    }

    pub(super) fn history(&self, order: u64, line: u64, row: &mut Row<'_>) {
        let facts = self.facts(order, &mut self.random(Table::Orders, order));
        row.whole(facts.customer).whole(order).whole(self.line(order, line).0);
    }

    /// Units of each product that the orders of the data set hold.
    pub(super) fn count_sales(&self) -> Vec<u32> {
        let mut sales = vec![0_u32; self.size.products() as usize];
        for order in 1..=self.size.orders() {
            let lines = self.facts(order, &mut self.random(Table::Orders, order)).lines;
            for line in 1..=lines {
                let (product, quantity) = self.line(order, line);
                sales[product as usize - 1] += quantity as u32;
            }
        }
        sales
    }
}

/// A day in the month `month` (from 0) of the twelve that end before that of `today`.
fn day_of(today: Date, month: u64, random: &mut Random) -> Date {
    let (year, this_month, _) = today.parts();
    let count = year * 12 + this_month as i32 - 1 - MONTHS as i32 + month as i32;
    let first = |count: i32| Date::new(count.div_euclid(12), count.rem_euclid(12) as u32 + 1, 1);
    let days = first(count + 1).0 - first(count).0;
    first(count).plus(random.uniform(0, days as u64 - 1))
}
