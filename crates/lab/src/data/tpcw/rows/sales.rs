//! Orders, their lines and their credit card transactions.

use super::{COUNTRIES, Generator, Row};
use crate::data::tpcw::date::Date;
use crate::data::tpcw::schema::Table;
use evenkeel_core::random::Random;

pub const LINES_MAX: u64 = 5;

pub const SHIP_TYPES: [&str; 6] = ["AIR", "UPS", "FEDEX", "SHIP", "COURIER", "MAIL"];
const STATUSES: [&str; 4] = ["PROCESSING", "SHIPPED", "PENDING", "DENIED"];
pub const CARD_TYPES: [&str; 5] = ["VISA", "MASTERCARD", "DISCOVER", "AMEX", "DINERS"];

/// Sales tax, 8.25 %, in hundredths of a percent.
const TAX: u64 = 825;
/// Shipping: a base and the same again for each line, in cents.
const SHIPPING_BASE_CENTS: u64 = 300;
const SHIPPING_LINE_CENTS: u64 = 100;
/// Millionths of a dollar in a cent: tax on cents has six decimals.
const MICROS_PER_CENT: u64 = 10_000;

/// What an order shares with its lines and its payment; drawn first from the order's randomness.
struct OrderFacts {
    lines: u64,
    ordered: Date,
    shipped: Date,
    sub_total_cents: u64,
}

impl OrderFacts {
    fn draw(random: &mut Random, today: Date) -> Self {
        let lines = random.uniform(1, LINES_MAX);
        let ordered = today.minus(random.uniform(1, 60));
        let shipped = ordered.plus(random.uniform(0, 7));
        Self { lines, ordered, shipped, sub_total_cents: random.uniform(1_000, 999_999) }
    }

    /// 8.25 % of the sub-total, in millionths.
    fn tax_micros(&self) -> u64 {
        self.sub_total_cents * TAX
    }

    /// Sub-total, tax and shipping, in millionths.
    fn total_micros(&self) -> u64 {
        let shipping = SHIPPING_BASE_CENTS + SHIPPING_LINE_CENTS * self.lines;
        (self.sub_total_cents + shipping) * MICROS_PER_CENT + self.tax_micros()
    }
}

impl Generator {
    /// Lines of an order, 1 to [`LINES_MAX`].
    pub fn lines(&self, order: u64) -> u64 {
        self.random(Table::Orders, order).uniform(1, LINES_MAX)
    }

    pub(super) fn order(&self, number: u64, row: &mut Row<'_>) {
        let facts = OrderFacts::draw(row.random, self.today);
        row.whole(number)
            .uniform(1, self.scale.customers())
            .date(facts.ordered)
            .decimal(facts.sub_total_cents, 2)
            .decimal(facts.tax_micros(), 6)
            .decimal(facts.total_micros(), 6)
            .choice(&SHIP_TYPES)
            .date(facts.shipped)
            .uniform(1, self.scale.addresses())
            .uniform(1, self.scale.addresses())
            .choice(&STATUSES);
    }

    pub(super) fn order_line(&self, order: u64, line: u64, row: &mut Row<'_>) {
        row.whole(line)
            .whole(order)
            .uniform(1, self.scale.items())
            .uniform(1, 300)
            .uniform_cents(0, 30)
            .astring(20, 100);
    }

    pub(super) fn cc_xact(&self, order: u64, row: &mut Row<'_>) {
        let facts = OrderFacts::draw(&mut self.random(Table::Orders, order), self.today);
        let expires = self.today.plus(row.random.uniform(10, 730));
        row.whole(order)
            .choice(&CARD_TYPES)
            .nstring(16, 16)
            .astring(14, 30)
            .date(expires)
            .astring_fixed(15)
            .decimal(facts.total_micros(), 6)
            .date(facts.shipped)
            .uniform(1, COUNTRIES);
    }
}
