//! DVD Store 2: schema, value rules and rows.
//!
//! Written from the published rules, with values of our own where only their length counts (words of titles,
//! names of actors). Every row is drawn from a seed of its own (the seed of the data set, the table, the row's
//! number), so the same seed, size and date give the same rows on any number of threads and in any order.
//! Orders lie in the twelve months before the month of the date.

mod rows;
pub mod words;

use crate::data::schema::{Reference, tables};
pub use rows::{Generator, LINES_MAX, POPULAR_EVERY, QUANTITY_MAX, customer_fields, tax_cents, user_name};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// Name of the data set, of its database where nobody names one, and of the workload.
pub const NAME: &str = "dvdstore";

/// Password of every customer.
pub const PASSWORD: &str = "password";

/// Version of the value rules; a data set of another version has other rows for the same seed.
pub const GENERATOR_VERSION: u32 = 1;

/// Names of the categories; a category's number is its place, from 1.
#[rustfmt::skip]
pub const CATEGORIES: [&str; 16] = [
    "Action", "Animation", "Children", "Classics", "Comedy", "Documentary", "Drama", "Family", "Foreign",
    "Games", "Horror", "Music", "New", "Sci-Fi", "Sports", "Travel",
];

/// Size of a DVD Store by its nominal megabytes: 10 is small, 1,000 medium, 100,000 large.
///
/// Customers and orders grow with the size. Products grow with its square root, on which all three standard
/// sizes lie: ten times as many for a hundred times the customers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    megabytes: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SizeError {
    #[error("{0} MB is not between 1 and {max}", max = Size::MEGABYTES_MAX)]
    Megabytes(u32),
    #[error("{0:?} is not small, medium, large or a size such as 50MB or 2GB")]
    Text(String),
}

impl Size {
    /// The small size of the publication: 20,000 customers.
    pub const SMALL: Self = Self { megabytes: 10 };
    pub const MEDIUM: Self = Self { megabytes: 1_000 };
    pub const LARGE: Self = Self { megabytes: Self::MEGABYTES_MAX };
    /// That of large: lines of orders then number six hundred million.
    pub const MEGABYTES_MAX: u32 = 100_000;

    const NAMED: [(&str, Self); 3] =
        [("small", Self::SMALL), ("medium", Self::MEDIUM), ("large", Self::LARGE)];

    /// A size of so many nominal megabytes.
    /// Errors: none, or more than [`Size::MEGABYTES_MAX`].
    pub fn new(megabytes: u32) -> Result<Self, SizeError> {
        if !(1..=Self::MEGABYTES_MAX).contains(&megabytes) {
            return Err(SizeError::Megabytes(megabytes));
        }
        Ok(Self { megabytes })
    }

    /// Nominal size in megabytes, from 1 to [`Size::MEGABYTES_MAX`].
    pub fn megabytes(self) -> u32 {
        self.megabytes
    }

    pub fn customers(self) -> u64 {
        2_000 * u64::from(self.megabytes)
    }

    /// Rows of ORDERS: twelve months, in each one order for twenty customers.
    pub fn orders(self) -> u64 {
        self.customers() * 12 / 20
    }

    /// Rows of PRODUCTS and of INVENTORY, to the nearest hundred.
    pub fn products(self) -> u64 {
        let exact = 10_000.0 * (f64::from(self.megabytes) / 10.0).sqrt();
        (exact / 100.0).round() as u64 * 100
    }

    /// Rows of a table, for an estimate of the work; lines at their mean of five for each order.
    pub fn rows_expected(self, table: Table) -> u64 {
        match table {
            Table::Categories => CATEGORIES.len() as u64,
            Table::Customers => self.customers(),
            Table::Products | Table::Inventory => self.products(),
            Table::Orders => self.orders(),
            Table::OrderLines | Table::CustHist => 5 * self.orders(),
            Table::Reorder => 0,
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Self::NAMED.iter().find(|(_, size)| size == self) {
            Some((name, _)) => formatter.pad(name),
            None => formatter.pad(&format!("{}MB", self.megabytes)),
        }
    }
}

impl FromStr for Size {
    type Err = SizeError;

    fn from_str(text: &str) -> Result<Self, SizeError> {
        if let Some((_, size)) = Self::NAMED.iter().find(|(name, _)| *name == text) {
            return Ok(*size);
        }
        let wrong = || SizeError::Text(text.to_owned());
        let unit = text.len().saturating_sub(2);
        let (number, unit) = text.split_at_checked(unit).ok_or_else(wrong)?;
        let each: u32 = match unit.to_ascii_uppercase().as_str() {
            "MB" => 1,
            "GB" => 1_000,
            _ => return Err(wrong()),
        };
        let number: u32 = number.parse().map_err(|_| wrong())?;
        Self::new(number.saturating_mul(each))
    }
}

tables! {
    /// A table; parents stand before what refers to them.
    Table
    Categories = "CATEGORIES", primary_key: ["CATEGORY"]; {
        CATEGORY "tinyint NOT NULL", CATEGORYNAME "varchar(50) NOT NULL"
    }
    /// Customers, with their addresses and cards.
    Customers = "CUSTOMERS", primary_key: ["CUSTOMERID"], unique: ["USERNAME"]; {
        CUSTOMERID "int NOT NULL AUTO_INCREMENT", FIRSTNAME "varchar(50) NOT NULL",
        LASTNAME "varchar(50) NOT NULL", ADDRESS1 "varchar(50) NOT NULL", ADDRESS2 "varchar(50)",
        CITY "varchar(50) NOT NULL", STATE "varchar(50)", ZIP "int", COUNTRY "varchar(50) NOT NULL",
        REGION "tinyint NOT NULL", EMAIL "varchar(50)", PHONE "varchar(50)",
        CREDITCARDTYPE "int NOT NULL", CREDITCARD "varchar(50) NOT NULL",
        CREDITCARDEXPIRATION "varchar(50) NOT NULL", USERNAME "varchar(50) NOT NULL",
        PASSWORD "varchar(50) NOT NULL", AGE "tinyint", INCOME "int", GENDER "varchar(1)"
    }
    Products = "PRODUCTS", primary_key: ["PROD_ID"], indexed: ["CATEGORY", "SPECIAL"],
        fulltext: ["ACTOR", "TITLE"]; {
        PROD_ID "int NOT NULL AUTO_INCREMENT", CATEGORY "tinyint NOT NULL",
        TITLE "varchar(50) NOT NULL", ACTOR "varchar(50) NOT NULL", PRICE "decimal(12,2) NOT NULL",
        SPECIAL "tinyint", COMMON_PROD_ID "int NOT NULL"
    }
    /// Stock and sales of each product.
    Inventory = "INVENTORY", primary_key: ["PROD_ID"]; {
        PROD_ID "int NOT NULL", QUAN_IN_STOCK "int NOT NULL", SALES "int NOT NULL"
    }
    Orders = "ORDERS", primary_key: ["ORDERID"], indexed: ["CUSTOMERID"],
        references: [Reference { column: "CUSTOMERID", table: "CUSTOMERS", on_delete: "SET NULL" }]; {
        ORDERID "int NOT NULL AUTO_INCREMENT", ORDERDATE "date NOT NULL", CUSTOMERID "int",
        NETAMOUNT "decimal(12,2) NOT NULL", TAX "decimal(12,2) NOT NULL",
        TOTALAMOUNT "decimal(12,2) NOT NULL"
    }
    /// Lines of orders, one to nine each.
    OrderLines = "ORDERLINES", unique: ["ORDERID", "ORDERLINEID"],
        references: [Reference { column: "ORDERID", table: "ORDERS", on_delete: "CASCADE" }]; {
        ORDERLINEID "smallint NOT NULL", ORDERID "int NOT NULL", PROD_ID "int NOT NULL",
        QUANTITY "smallint NOT NULL", ORDERDATE "date NOT NULL"
    }
    /// What each customer has bought: one row for each line.
    CustHist = "CUST_HIST", indexed: ["CUSTOMERID"],
        references: [Reference { column: "CUSTOMERID", table: "CUSTOMERS", on_delete: "CASCADE" }]; {
        CUSTOMERID "int NOT NULL", ORDERID "int NOT NULL", PROD_ID "int NOT NULL"
    }
    /// Products to order again, empty at the start.
    Reorder = "REORDER"; {
        PROD_ID "int NOT NULL", DATE_LOW "date NOT NULL", QUAN_LOW "int NOT NULL",
        DATE_REORDERED "date", QUAN_REORDERED "int", DATE_EXPECTED "date"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::schema::{Definition, Indexes};

    #[test]
    fn the_standard_sizes_have_their_published_rows() {
        for (size, customers, orders, products) in [
            (Size::SMALL, 20_000, 12_000, 10_000),
            (Size::MEDIUM, 2_000_000, 1_200_000, 100_000),
            (Size::LARGE, 200_000_000, 120_000_000, 1_000_000),
        ] {
            assert_eq!((size.customers(), size.orders(), size.products()), (customers, orders, products));
        }
    }

    #[test]
    fn a_size_is_read_back_from_its_name() {
        for (text, name) in
            [("small", "small"), ("10MB", "small"), ("1GB", "medium"), ("50mb", "50MB"), ("2GB", "2000MB")]
        {
            let size: Size = text.parse().unwrap();
            assert_eq!(size.to_string(), name);
            assert_eq!(name.parse(), Ok(size));
        }
        for text in ["", "B", "tiny", "MB", "-1MB", "1.5GB", "äB"] {
            assert_eq!(text.parse::<Size>(), Err(SizeError::Text(text.to_owned())));
        }
        assert_eq!("0MB".parse::<Size>(), Err(SizeError::Megabytes(0)));
        assert_eq!("101GB".parse::<Size>(), Err(SizeError::Megabytes(101_000)));
    }

    #[test]
    fn keys_indexes_and_references_name_columns_of_their_tables() {
        for table in Table::ALL {
            let Definition { columns, primary_key, indexed, unique, fulltext, references, .. } =
                table.definition();
            let referring = references.iter().map(|reference| reference.column);
            let named = [primary_key, indexed, unique, fulltext];
            for name in named.into_iter().flat_map(|list| list.iter().copied()).chain(referring) {
                assert!(columns.iter().any(|column| column.name == name), "{table:?} {name}");
            }
            for reference in *references {
                let parent = Table::ALL.into_iter().find(|table| table.name() == reference.table).unwrap();
                assert_eq!(parent.definition().primary_key, [reference.column], "{table:?}");
                assert!(parent < table, "{parent:?} is filled before {table:?}");
            }
        }
    }

    #[test]
    fn a_table_without_a_primary_key_is_made_with_its_unique_index() {
        let definition = Table::OrderLines.definition();
        let text = definition.create_table(Indexes::Later);
        assert!(!text.contains("KEY") && text.ends_with("`ORDERDATE` date NOT NULL\n)"), "{text}");
        assert_eq!(
            definition.create_indexes().as_deref(),
            Some("ALTER TABLE `ORDERLINES` ADD UNIQUE KEY `ORDERID` (`ORDERID`,`ORDERLINEID`)")
        );
    }
}
