//! The statements of TPC-W: names, one line of help each, tables.

use super::{reads, writes};
use crate::workload::Statement;

/// A statement, also the index of its row in [`rows`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sql {
    // Reads, in the order of `reads::ROWS`.
    CustomerName,
    Promotion,
    NewProducts,
    BestSellers,
    ProductDetail,
    SearchSubject,
    SearchTitle,
    SearchAuthor,
    CartLine,
    CartSize,
    RelatedItem,
    Cart,
    CustomerUname,
    Customer,
    Country,
    Address,
    CustomerDiscount,
    CustomerAddress,
    ItemStock,
    CustomerPassword,
    LatestOrder,
    OrderDisplay,
    OrderLines,
    CoOrdered,
    // Writes, in the order of `writes::ROWS`.
    CartInsert,
    CartFill,
    CartLineInsert,
    CartLineUpdate,
    CartLineDelete,
    CartTouch,
    Login,
    AddressInsert,
    CustomerInsert,
    OrderInsert,
    OrderLineInsert,
    ItemStockUpdate,
    CreditCardInsert,
    CartClear,
    ItemUpdate,
    ItemRelatedUpdate,
    // Transaction control, in the order of `writes::CONTROL`.
    Begin,
    Commit,
    // What no mix asks, in the order of `reads::ALONE` and `writes::ALONE`.
    CartCount,
    CustomerMax,
    AddressMax,
    OrderCount,
    Write,
}

/// What is known of a statement.
#[derive(Debug)]
pub struct Row {
    pub sql: Sql,
    pub name: &'static str,
    pub help: &'static str,
    pub text: &'static str,
    /// Whether an interaction needs the answer.
    pub captures: bool,
    pub tables: &'static [&'static str],
}

/// Every statement, at the index of its [`Sql`].
pub fn rows() -> impl Iterator<Item = &'static Row> {
    TABLES.iter().copied().flatten()
}

/// The statements of the mixes, at the index of their [`Sql`].
pub fn mix_rows() -> impl Iterator<Item = &'static Row> {
    rows().take(Sql::Commit as usize + 1)
}

static TABLES: [&[Row]; 5] = [&reads::ROWS, &writes::ROWS, &writes::CONTROL, &reads::ALONE, &writes::ALONE];

/// What is known of this statement.
pub fn row(sql: Sql) -> &'static Row {
    let mut index = sql as usize;
    for table in TABLES {
        match table.get(index) {
            Some(row) => return row,
            None => index -= table.len(),
        }
    }
    unreachable!("every statement has a row, as a test makes sure")
}

impl Row {
    /// The statement under its own name, its answer kept where an interaction needs it.
    pub fn statement(&self) -> Statement {
        Statement {
            name: self.name.to_owned(),
            sql: self.text.to_owned(),
            captures: self.captures,
            prepared: !self.is_control(),
            tables: self.tables.iter().map(|&table| table.to_owned()).collect(),
        }
    }

    /// Whether it is transaction control, which touches no table.
    pub fn is_control(&self) -> bool {
        matches!(self.sql, Sql::Begin | Sql::Commit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_stands_at_the_index_of_its_statement() {
        for (index, row) in rows().enumerate() {
            assert_eq!(row.sql as usize, index, "{}", row.name);
            assert_eq!(super::row(row.sql).name, row.name);
        }
        assert_eq!(rows().count(), Sql::Write as usize + 1);
    }

    #[test]
    fn names_are_unique_and_texts_have_no_stray_space() {
        let mut names: Vec<_> = rows().map(|row| row.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), rows().count());
        for row in rows() {
            assert!(!row.text.contains("  ") && row.text.trim() == row.text, "{}", row.text);
            assert!(row.is_control() != row.name.starts_with("tpcw."), "{}", row.name);
        }
    }
}
