//! TPC-W: schema, value rules and rows.
//!
//! Every row is drawn from a seed of its own (the seed of the data set, the table, the row's number), so
//! the same seed, scale and date give the same rows on any number of threads and in any order.

mod rows;
pub mod values;

use crate::data::schema::tables;
pub use rows::{CARD_TYPES, Generator, LINES_MAX, SHIP_TYPES, SUBJECTS};
use thiserror::Error;
pub use values::{Date, DateError};

/// Countries that there are.
pub const COUNTRIES: u64 = 92;

/// Version of the value rules; a data set of another version has other rows for the same seed.
pub const GENERATOR_VERSION: u32 = 1;

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
            Table::Country => COUNTRIES,
            Table::Customer => self.customers(),
            Table::Item => self.items(),
            Table::Orders | Table::CcXacts => self.orders(),
            Table::OrderLine => 3 * self.orders(),
            Table::ShoppingCart | Table::ShoppingCartLine => 0,
        }
    }
}

tables! {
    /// A table, in the order in which the published population fills them.
    Table
    Address = "address", primary_key: ["addr_id"], indexed: ["addr_co_id", "addr_zip"]; {
        addr_id "int", addr_street1 "varchar(40)", addr_street2 "varchar(40)", addr_city "varchar(30)",
        addr_state "varchar(20)", addr_zip "varchar(10)", addr_co_id "int"
    }
    Author = "author", primary_key: ["a_id"], indexed: ["a_lname"]; {
        a_id "int", a_fname "varchar(20)", a_lname "varchar(20)", a_mname "varchar(20)", a_dob "date",
        a_bio "varchar(500)"
    }
    Country = "country", primary_key: ["co_id"], indexed: ["co_name"]; {
        co_id "int", co_name "varchar(50)", co_exchange "double", co_currency "varchar(18)"
    }
    Customer = "customer", primary_key: ["c_id"], indexed: ["c_addr_id", "c_uname"]; {
        c_id "int", c_uname "varchar(20)", c_passwd "varchar(20)", c_fname "varchar(17)",
        c_lname "varchar(17)", c_addr_id "int", c_phone "varchar(18)", c_email "varchar(50)",
        c_since "date", c_last_login "date", c_login "timestamp", c_expiration "timestamp",
        c_discount "double", c_balance "double", c_ytd_pmt "double", c_birthdate "date",
        c_data "varchar(500)"
    }
    Item = "item", primary_key: ["i_id"], indexed: ["i_title", "i_subject", "i_a_id"]; {
        i_id "int", i_title "varchar(60)", i_a_id "int", i_pub_date "date", i_publisher "varchar(60)",
        i_subject "varchar(60)", i_desc "varchar(500)", i_related1 "int", i_related2 "int",
        i_related3 "int", i_related4 "int", i_related5 "int", i_thumbnail "varchar(40)",
        i_image "varchar(40)", i_srp "double", i_cost "double", i_avail "date", i_stock "int",
        i_isbn "char(13)", i_page "int", i_backing "varchar(15)", i_dimensions "varchar(25)"
    }
    Orders = "orders", primary_key: ["o_id"], indexed: ["o_c_id"]; {
        o_id "int", o_c_id "int", o_date "date", o_sub_total "double", o_tax "double", o_total "double",
        o_ship_type "varchar(10)", o_ship_date "date", o_bill_addr_id "int", o_ship_addr_id "int",
        o_status "varchar(15)"
    }
    /// Lines of orders, one to five each.
    // The line comes first in the key, so that the first lines of all orders lie together.
    OrderLine = "order_line", primary_key: ["ol_id", "ol_o_id"], indexed: ["ol_i_id", "ol_o_id"]; {
        ol_id "int", ol_o_id "int", ol_i_id "int", ol_qty "int", ol_discount "double",
        ol_comments "varchar(110)"
    }
    /// Credit card transactions, one for each order.
    CcXacts = "cc_xacts", primary_key: ["cx_o_id"]; {
        cx_o_id "int", cx_type "varchar(10)", cx_num "varchar(20)", cx_name "varchar(30)",
        cx_expire "date", cx_auth_id "char(15)", cx_xact_amt "double", cx_xact_date "date",
        cx_co_id "int"
    }
    /// Shopping carts, empty at the start.
    ShoppingCart = "shopping_cart", primary_key: ["sc_id"]; {
        sc_id "int", sc_time "timestamp"
    }
    /// Lines of shopping carts, empty at the start.
    ShoppingCartLine = "shopping_cart_line", primary_key: ["scl_sc_id", "scl_i_id"], indexed: ["scl_i_id"]; {
        scl_sc_id "int", scl_qty "int", scl_i_id "int"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::schema::Indexes;

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

    #[test]
    fn a_table_is_created_with_its_indexes_or_without() {
        let definition = Table::ShoppingCartLine.definition();
        let columns = "  `scl_sc_id` int NOT NULL,\n  `scl_qty` int,\n  `scl_i_id` int NOT NULL,\n";
        let key = "  PRIMARY KEY (`scl_sc_id`,`scl_i_id`)";
        assert_eq!(
            definition.create_table(Indexes::Later),
            format!("CREATE TABLE `shopping_cart_line` (\n{columns}{key}\n)")
        );
        assert_eq!(
            definition.create_table(Indexes::Inline),
            format!("CREATE TABLE `shopping_cart_line` (\n{columns}{key},\n  KEY `scl_i_id` (`scl_i_id`)\n)")
        );
        assert_eq!(Table::CcXacts.definition().create_indexes(), None);
    }
}
