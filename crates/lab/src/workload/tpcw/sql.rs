//! A statement of TPC-W: its place among the others, and what is known of it.

use crate::workload::Statement;

/// A statement, also the index of its row in [`rows`](super::statements::rows).
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

impl Row {
    /// The statement under its own name, its answer kept where an interaction needs it.
    pub fn statement(&self) -> Statement {
        Statement {
            name: self.name.to_owned(),
            sql: self.text.to_owned(),
            captures: self.captures,
            prepared: !self.is_control(),
            tables: self.tables.iter().map(|&table| table.to_owned()).collect(),
            calls_stored: false,
        }
    }

    /// Whether it is transaction control, which touches no table.
    pub fn is_control(&self) -> bool {
        matches!(self.sql, Sql::Begin | Sql::Commit)
    }
}
