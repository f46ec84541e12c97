//! The eight tables of DVD Store.

/// A table; parents stand before what refers to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Table {
    Categories,
    /// Customers, with their addresses and cards.
    Customers,
    Products,
    /// Stock and sales of each product.
    Inventory,
    Orders,
    /// Lines of orders, one to nine each.
    OrderLines,
    /// What each customer has bought: one row for each line.
    CustHist,
    /// Products to order again, empty at the start.
    Reorder,
}

impl Table {
    pub const ALL: [Self; 8] = [
        Self::Categories,
        Self::Customers,
        Self::Products,
        Self::Inventory,
        Self::Orders,
        Self::OrderLines,
        Self::CustHist,
        Self::Reorder,
    ];

    pub fn name(self) -> &'static str {
        self.definition().name
    }
}
