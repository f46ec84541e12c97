//! How big a TPC-W data set is.

use super::schema::Table;
use thiserror::Error;

/// Size of a TPC-W data set: emulated browsers set the customers, items the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    ebs: u32,
    items: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ScaleError {
    #[error("NUM_EBS {0} is not between 1 and {max}", max = Scale::EBS_MAX)]
    Ebs(u32),
    #[error("NUM_ITEMS {0} is not between {min} and {max}", min = Scale::ITEMS_MIN, max = Scale::ITEMS_MAX)]
    Items(u32),
}

impl Scale {
    /// Keeps every key within a signed 32-bit column: 576 million addresses.
    pub const EBS_MAX: u32 = 100_000;
    /// An item has five related items, all different, and every fourth item an author.
    pub const ITEMS_MIN: u32 = 5;
    pub const ITEMS_MAX: u32 = 10_000_000;

    /// Checks both numbers. Standard values of `items` are 1,000, 10,000 up to 10 million.
    pub fn new(ebs: u32, items: u32) -> Result<Self, ScaleError> {
        if !(1..=Self::EBS_MAX).contains(&ebs) {
            return Err(ScaleError::Ebs(ebs));
        }
        if !(Self::ITEMS_MIN..=Self::ITEMS_MAX).contains(&items) {
            return Err(ScaleError::Items(items));
        }
        Ok(Self { ebs, items })
    }

    /// Emulated browsers (NUM_EBS), by which customers and orders are counted.
    pub fn ebs(self) -> u32 {
        self.ebs
    }

    pub fn items(self) -> u64 {
        self.items.into()
    }

    /// Rows of customer: 2,880 for each browser.
    pub fn customers(self) -> u64 {
        2_880 * u64::from(self.ebs)
    }

    /// Rows of address: two for each customer.
    pub fn addresses(self) -> u64 {
        2 * self.customers()
    }

    /// Rows of author: one for every four items.
    pub fn authors(self) -> u64 {
        self.items() / 4
    }

    /// Rows of orders, and of cc_xacts: nine for every ten customers.
    pub fn orders(self) -> u64 {
        self.customers() * 9 / 10
    }

    /// Rows of a table, for an estimate of the work; order_line at its mean of three for each order.
    pub fn rows_expected(self, table: Table) -> u64 {
        match table {
            Table::Address => self.addresses(),
            Table::Author => self.authors(),
            Table::Country => super::COUNTRIES,
            Table::Customer => self.customers(),
            Table::Item => self.items(),
            Table::Orders | Table::CcXacts => self.orders(),
            Table::OrderLine => 3 * self.orders(),
            Table::ShoppingCart | Table::ShoppingCartLine => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hundred_browsers_and_ten_thousand_items_make_about_two_million_rows() {
        let scale = Scale::new(100, 10_000).unwrap();
        assert_eq!(scale.customers(), 288_000);
        assert_eq!(scale.addresses(), 576_000);
        assert_eq!(scale.authors(), 2_500);
        assert_eq!(scale.orders(), 259_200);
        let rows: u64 = Table::ALL.iter().map(|&table| scale.rows_expected(table)).sum();
        assert!((2_100_000..2_300_000).contains(&rows), "{rows}");
    }
}
