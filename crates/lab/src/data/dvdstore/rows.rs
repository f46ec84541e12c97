//! The rows of each table.

use super::words;
use super::{PASSWORD, Size, Table};
use crate::data::tpcw::Date;
use crate::data::tpcw::values::{Row, month, nstring, whole};
use evenkeel_core::random::{Random, Seed};
use std::sync::{Arc, OnceLock};

/// Dearest and cheapest product, in dollars less the 99 cents that all prices end in.
const PRICE_DOLLARS: (u64, u64) = (9, 29);
/// Most of a product in stock at the start; of every popular one ten times as much.
const STOCK_MAX: u64 = 500;
const POPULAR_FACTOR: u64 = 10;
/// Above so many products, fewer of them are special.
const MANY_PRODUCTS: u64 = 100_000;

/// Every so many products one is popular: there is ten times as much of it, and it is bought ten times as often.
pub const POPULAR_EVERY: u64 = 10_000;

#[derive(Clone, Debug)]
pub struct Generator {
    size: Size,
    today: Date,
    seed: Seed,
    /// Units sold of each product by the orders of the data set, counted when first asked for.
    sales: Arc<OnceLock<Vec<u32>>>,
}

impl Generator {
    /// The data set of this size, seed and date. Orders lie in the twelve months before the month of `today`.
    pub fn new(size: Size, seed: Seed, today: Date) -> Self {
        Self { size, today, seed: seed.child(super::NAME), sales: Arc::default() }
    }

    pub fn size(&self) -> Size {
        self.size
    }

    /// Appends a row to `out`, fields between tabs, no line end: row `number` (from 1), or line `line` (from 1) of
    /// order `number`. REORDER has no rows and gets nothing.
    pub fn write(&self, table: Table, number: u64, line: u64, out: &mut Vec<u8>) {
        let mut random = self.random(table, number);
        let mut row = Row::new(out, &mut random);
        match table {
            Table::Categories => {
                let name = (number as usize).checked_sub(1).and_then(|place| super::CATEGORIES.get(place));
                row.whole(number).text(name.copied().unwrap_or_default());
            }
            Table::Customers => customer(self.size, number, &mut row),
            Table::Products => self.product(number, &mut row),
            Table::Inventory => self.inventory(number, &mut row),
            Table::Orders => self.order(number, &mut row),
            Table::OrderLines => self.order_line(number, line, &mut row),
            Table::CustHist => self.history(number, line, &mut row),
            Table::Reorder => return,
        }
        row.end();
    }

    fn random(&self, table: Table, number: u64) -> Random {
        Random::new(self.seed.child(table.name()).numbered(number))
    }

    fn product(&self, product: u64, row: &mut Row<'_>) {
        let products = self.size.products();
        let specials = if products > MANY_PRODUCTS { 10_000 } else { 100 };
        row.whole(product).uniform(1, super::CATEGORIES.len() as u64);
        row.field(|out, _| words::title(out, product)).field(words::actor);
        let dollars = row.random.uniform(PRICE_DOLLARS.0, PRICE_DOLLARS.1);
        row.cents(dollars * 100 + 99);
        let special = row.random.uniform(1, specials) == 1;
        row.whole(special.into()).uniform(1, products);
    }

    fn inventory(&self, product: u64, row: &mut Row<'_>) {
        let factor = if product.is_multiple_of(POPULAR_EVERY) { POPULAR_FACTOR } else { 1 };
        let stock = row.random.uniform(0, STOCK_MAX) * factor;
        let sales = self.sales.get_or_init(|| self.count_sales());
        let sold = sales.get(product as usize - 1).copied().unwrap_or_default();
        row.whole(product).whole(stock).whole(sold.into());
    }
}

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

    fn order(&self, order: u64, row: &mut Row<'_>) {
        let facts = self.facts(order, row.random);
        let net = row.random.uniform(1, NET_CENTS_MAX);
        let tax = tax_cents(net);
        row.whole(order).date(facts.ordered).whole(facts.customer).cents(net).cents(tax).cents(net + tax);
    }

    fn order_line(&self, order: u64, line: u64, row: &mut Row<'_>) {
        let facts = self.facts(order, &mut self.random(Table::Orders, order));
        let (product, quantity) = self.line(order, line);
        row.whole(line).whole(order).whole(product).whole(quantity).date(facts.ordered);
    }

    fn history(&self, order: u64, line: u64, row: &mut Row<'_>) {
        let facts = self.facts(order, &mut self.random(Table::Orders, order));
        row.whole(facts.customer).whole(order).whole(self.line(order, line).0);
    }

    /// Units of each product that the orders of the data set hold.
    fn count_sales(&self) -> Vec<u32> {
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

// The rows of customers.

/// States and districts of the country of the first half of the customers.
const STATES: [&str; 51] = [
    "AK", "AL", "AR", "AZ", "CA", "CO", "CT", "DC", "DE", "FL", "GA", "HI", "IA", "ID", "IL", "IN", "KS",
    "KY", "LA", "MA", "MD", "ME", "MI", "MN", "MO", "MS", "MT", "NC", "ND", "NE", "NH", "NJ", "NM", "NV",
    "NY", "OH", "OK", "OR", "PA", "RI", "SC", "SD", "TN", "TX", "UT", "VA", "VT", "WA", "WI", "WV", "WY",
];
/// Countries of the second half.
const COUNTRIES: [&str; 10] =
    ["Australia", "Canada", "Chile", "China", "France", "Germany", "Japan", "Russia", "South Africa", "UK"];

/// Appends all fields of a customer but the id, tabs between: at home in the country with states, or abroad.
pub fn customer_fields(
    out: &mut Vec<u8>,
    random: &mut Random,
    at_home: bool,
    user_name: impl FnOnce(&mut Vec<u8>),
) {
    let mut row = Row::new(out, random);
    let (mut last_name, mut phone) = (Vec::new(), Vec::new());
    letters(&mut last_name, row.random, 10);
    nstring(&mut phone, row.random, 10, 10);
    row.field(|out, random| letters(out, random, 6))
        .field(|out, _| out.extend_from_slice(&last_name))
        .field(|out, _| out.extend([&phone[..], b" Disc Way"].concat()))
        .text("")
        .field(|out, random| letters(out, random, 7));
    if at_home {
        row.choice(&STATES).uniform(10_000, 99_999).text("US").whole(1);
    } else {
        row.text("").whole(0).choice(&COUNTRIES).whole(2);
    }
    row.field(|out, _| out.extend([&last_name[..], b"@mail.test"].concat()))
        .field(|out, _| out.extend_from_slice(&phone))
        .uniform(1, 5)
        .field(|out, random| nstring(out, random, 16, 16))
        .field(expiration)
        .field(|out, _| user_name(out))
        .text(PASSWORD)
        .uniform(18, 90)
        .field(|out, random| whole(out, 20_000 * random.uniform(1, 5)))
        .choice(&["M", "F"]);
    row.end();
}

fn customer(size: Size, number: u64, row: &mut Row<'_>) {
    row.whole(number);
    let at_home = number * 2 <= size.customers();
    row.field(|out, random| customer_fields(out, random, at_home, |out| user_name(out, number)));
}

/// Appends so many random capital letters.
fn letters(out: &mut Vec<u8>, random: &mut Random, count: usize) {
    out.extend((0..count).map(|_| b'A' + random.uniform(0, 25) as u8));
}

/// Appends the end of a credit card as `yyyy/mm`.
fn expiration(out: &mut Vec<u8>, random: &mut Random) {
    let year = random.uniform(2008, 2012);
    month(out, year, random.uniform(1, 12));
}

/// Appends the user name of a customer of the population.
pub fn user_name(out: &mut Vec<u8>, customer: u64) {
    out.extend_from_slice(b"user");
    whole(out, customer);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::DataSet;
    use crate::data::stream::RowStream;
    use std::io::Read;

    fn size() -> Size {
        Size::new(1).unwrap()
    }

    fn read(table: Table, seed: u64) -> Vec<Vec<String>> {
        let mut text = String::new();
        let generator = DataSet::from(size()).generator(Seed(seed), Date::new(2026, 1, 15));
        RowStream::new(generator, table.into()).read_to_string(&mut text).unwrap();
        text.lines().map(|row| row.split('\t').map(str::to_owned).collect()).collect()
    }

    fn number(field: &str) -> u64 {
        field.parse().unwrap()
    }

    #[test]
    fn every_row_has_a_field_for_each_column_and_every_table_its_rows() {
        let size = size();
        for table in Table::ALL {
            let rows = read(table, 1);
            let columns = table.definition().columns.len();
            assert!(rows.iter().all(|row| row.len() == columns), "{table:?}");
            if !matches!(table, Table::OrderLines | Table::CustHist) {
                assert_eq!(rows.len() as u64, size.rows_expected(table), "{table:?}");
            }
        }
        let lines = read(Table::OrderLines, 1).len() as f64 / size.orders() as f64;
        // Uniform from 1 to 9 over 1,200 orders: mean 5, standard error 0.075.
        assert!((lines - 5.0).abs() < 0.4, "{lines}");
    }

    #[test]
    fn lines_history_and_sales_tell_of_the_same_orders() {
        let (orders, lines) = (read(Table::Orders, 1), read(Table::OrderLines, 1));
        let history = read(Table::CustHist, 1);
        let mut sold = vec![0; size().products() as usize];
        for (line, entry) in lines.iter().zip(&history) {
            let order = &orders[number(&line[1]) as usize - 1];
            assert_eq!((&line[1], &line[2]), (&entry[1], &entry[2]));
            assert_eq!((&line[4], &entry[0]), (&order[1], &order[2]));
            sold[number(&line[2]) as usize - 1] += number(&line[3]);
        }
        assert_eq!(lines.len(), history.len());
        let sales: Vec<u64> = read(Table::Inventory, 1).iter().map(|row| number(&row[2])).collect();
        assert_eq!(sales, sold);
    }

    #[test]
    fn a_seed_decides_the_rows() {
        for table in [Table::Customers, Table::Products, Table::OrderLines] {
            assert_eq!(read(table, 1), read(table, 1));
            assert_ne!(read(table, 1), read(table, 2));
        }
    }

    #[test]
    fn orders_lie_in_the_twelve_months_before_and_cost_what_they_say() {
        let orders = read(Table::Orders, 1);
        assert!(orders[0][1].starts_with("2025-01-") && orders[orders.len() - 1][1].starts_with("2025-12-"));
        let months: Vec<&str> = orders.iter().map(|order| &order[1][..7]).collect();
        assert!(months.is_sorted());
        let cents = |field: &str| number(&field.replace('.', ""));
        for order in &orders {
            let (net, tax, total) = (cents(&order[3]), cents(&order[4]), cents(&order[5]));
            assert!((1..=40_000).contains(&net) && total == net + tax, "{order:?}");
            assert!((tax as f64 - net as f64 * 0.0825).abs() <= 0.5 + 1e-9, "{order:?}");
        }
    }
}
