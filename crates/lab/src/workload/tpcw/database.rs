//! The database that is asked, and which ids are free in it.

use crate::data::tpcw::Scale;
use evenkeel_site::server::{Control, TargetError};
use std::sync::atomic::{AtomicU64, Ordering};

/// A TPC-W database: how large it was populated, and which ids are taken since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Database {
    pub scale: Scale,
    pub taken: TakenIds,
}

impl From<Scale> for Database {
    /// As populated, nothing added since.
    fn from(scale: Scale) -> Self {
        let (order, customer, address) = (scale.orders(), scale.customers(), scale.addresses());
        Self { scale, taken: TakenIds { order, customer, address, cart: 0 } }
    }
}

impl Database {
    /// As it is now: what other runs have added is looked for, so that new rows take ids above theirs.
    ///
    /// # Errors
    /// Whatever stops the query, a missing table for one.
    pub fn read(scale: Scale, control: &mut Control) -> Result<Self, TargetError> {
        let rows = control.query(TakenIds::QUERY)?;
        let id = |place: usize| rows.rows.first()?.get(place)?.as_deref()?.parse().ok();
        let id = |place| id(place).unwrap_or(0);
        Ok(Self { scale, taken: TakenIds { order: id(0), customer: id(1), address: id(2), cart: id(3) } })
    }
}

/// The highest ids in use, zero for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TakenIds {
    /// Of `orders` and of the orders in `order_line` and `cc_xacts`.
    pub order: u64,
    pub customer: u64,
    pub address: u64,
    pub cart: u64,
}

impl TakenIds {
    /// One row with the four ids, in the order of the fields; each is the end of an index.
    const QUERY: &str = "SELECT GREATEST(\
         (SELECT COALESCE(MAX(o_id), 0) FROM orders), \
         (SELECT COALESCE(MAX(ol_o_id), 0) FROM order_line), \
         (SELECT COALESCE(MAX(cx_o_id), 0) FROM cc_xacts)), \
         (SELECT COALESCE(MAX(c_id), 0) FROM customer), \
         (SELECT COALESCE(MAX(addr_id), 0) FROM address), \
         (SELECT COALESCE(MAX(sc_id), 0) FROM shopping_cart)";
}

/// Free ids, handed out in turn to all clients of a workload.
///
/// The published clients took `COUNT(*)` or `MAX()` of a table under a lock, which costs more the larger the
/// table grows and lets one client in at a time. A counter that all clients share never hands out an id
/// twice, and it fills the indexes at their right edge as AUTO_INCREMENT would, which a range for each client
/// would not.
#[derive(Debug)]
pub(super) struct Ids {
    pub order: Counter,
    pub customer: Counter,
    pub address: Counter,
    pub cart: Counter,
    line: Counter,
}

/// The highest number handed out so far.
#[derive(Debug)]
pub(super) struct Counter(AtomicU64);

impl Counter {
    pub fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// At least 1.
    pub fn last(&self) -> u64 {
        self.0.load(Ordering::Relaxed).max(1)
    }
}

/// Lines of an order that `next_line` fills before it goes on to the next: the mean of the population.
const LINES_MEAN: u64 = 3;

impl Ids {
    pub fn after(taken: TakenIds) -> Self {
        let counter = |number| Counter(AtomicU64::new(number));
        Self {
            order: counter(taken.order),
            customer: counter(taken.customer),
            address: counter(taken.address),
            cart: counter(taken.cart),
            line: counter((taken.order + 1) * LINES_MEAN),
        }
    }

    /// Order and line of a free order line, for inserts of lines alone; its orders count on from the highest
    /// taken, so a workload uses either this or `order` with lines of its own.
    pub fn next_line(&self) -> (u64, u64) {
        let number = self.line.next() - 1;
        (number / LINES_MEAN, number % LINES_MEAN + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_begin_above_the_taken_ones() {
        let ids = Ids::after(TakenIds { order: 100, customer: 10, address: 20, cart: 0 });
        assert_eq!((ids.order.next(), ids.order.next(), ids.customer.next()), (101, 102, 11));
        assert_eq!((ids.address.next(), ids.cart.next(), ids.cart.last()), (21, 1, 1));
        let lines: Vec<_> = (0..4).map(|_| ids.next_line()).collect();
        assert_eq!(lines, [(101, 1), (101, 2), (101, 3), (102, 1)]);
    }
}
