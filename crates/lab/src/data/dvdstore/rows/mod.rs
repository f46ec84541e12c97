//! The rows of each table.

mod people;
mod sales;

use super::schema::Table;
use super::size::Size;
use super::words;
use crate::data::row::Row;
use crate::data::tpcw::Date;
use evenkeel_core::random::{Random, Seed};
use std::sync::{Arc, OnceLock};

pub use people::{PASSWORD, customer_fields, user_name};
pub use sales::{LINES_MAX, QUANTITY_MAX, tax_cents};

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
            Table::Customers => people::customer(self.size, number, &mut row),
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
