//! The ten tables of TPC-W.

/// A table, in the order in which the published population fills them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Table {
    Address,
    Author,
    Country,
    Customer,
    Item,
    Orders,
    /// Lines of orders, one to five each.
    OrderLine,
    /// Credit card transactions, one for each order.
    CcXacts,
    /// Shopping carts, empty at the start.
    ShoppingCart,
    /// Lines of shopping carts, empty at the start.
    ShoppingCartLine,
}

impl Table {
    pub const ALL: [Self; 10] = [
        Self::Address,
        Self::Author,
        Self::Country,
        Self::Customer,
        Self::Item,
        Self::Orders,
        Self::OrderLine,
        Self::CcXacts,
        Self::ShoppingCart,
        Self::ShoppingCartLine,
    ];

    pub fn name(self) -> &'static str {
        self.definition().name
    }
}
