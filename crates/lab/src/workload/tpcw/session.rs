//! What a browser remembers from page to page, and the statements it still has to make.

use super::statements::Sql;
use crate::data::tpcw::Scale;
use evenkeel_core::distribution::NuRand;
use evenkeel_core::random::Random;
use evenkeel_site::server::{Control, TargetError};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What all clients of a workload share.
#[derive(Debug)]
pub struct Store {
    pub scale: Scale,
    pub ids: Ids,
    customers: NuRand,
}

impl Store {
    pub fn new(database: Database) -> Self {
        let Database { scale, taken } = database;
        Self { scale, ids: Ids::after(taken), customers: NuRand::customer(scale.customers()) }
    }

    /// A customer of the population, by the skewed choice of the specification.
    pub fn customer(&self, random: &mut Random) -> u64 {
        self.customers.draw(random)
    }

    /// An item, each as likely.
    pub fn item(&self, random: &mut Random) -> u64 {
        random.uniform(1, self.scale.items())
    }
}

/// A statement to make; `item` and `quantity` for those that are about a line of a cart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Act {
    pub sql: Sql,
    pub item: u64,
    pub quantity: u64,
}

impl From<Sql> for Act {
    fn from(sql: Sql) -> Self {
        Self { sql, item: 0, quantity: 0 }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    pub item: u64,
    pub quantity: u64,
    pub cost: f64,
}

#[derive(Debug)]
pub struct Session {
    pub store: Arc<Store>,
    /// Who it is, once known.
    pub customer: Option<u64>,
    pub cart: Option<u64>,
    /// Lines of the cart as last seen, by item.
    pub lines: Vec<Line>,
    pub page: Vec<u64>,
    pub item: u64,
    /// The order that is shown or made, and how many of its lines are made.
    pub order: u64,
    pub order_lines: u64,
    /// Of the customer, a fraction.
    pub discount: f64,
    pub bill_address: u64,
    pub ship_address: u64,
    /// Five items to be stored as related to `item`.
    pub related: [u64; 5],
    /// An address that the customer types in.
    pub address: Address,
    acts: VecDeque<Act>,
    /// The statement whose answer comes next.
    pub asked: Option<Act>,
}

#[derive(Debug, Default)]
pub struct Address {
    /// Both streets, city, state and zip code.
    pub parts: [Vec<u8>; 5],
    pub country: u64,
}

/// Share of sessions whose customer is known from the start.
const KNOWN_CUSTOMERS: f64 = 0.8;

impl Session {
    pub fn new(store: Arc<Store>) -> Self {
        Self {
            store,
            customer: None,
            cart: None,
            lines: Vec::new(),
            page: Vec::new(),
            item: 1,
            order: 1,
            order_lines: 0,
            discount: 0.0,
            bill_address: 1,
            ship_address: 1,
            related: [1; 5],
            address: Address { country: 1, ..Address::default() },
            acts: VecDeque::new(),
            asked: None,
        }
    }

    /// Becomes the session of somebody else, who has no cart yet and in four cases of five is known.
    pub fn renew(&mut self, random: &mut Random) {
        self.customer = random.chance(KNOWN_CUSTOMERS).then(|| self.store.customer(random));
        self.cart = None;
        self.lines.clear();
        self.page.clear();
        self.item = self.store.item(random);
        self.order_lines = 0;
        self.forget_acts();
    }

    /// The customer; one of the population is drawn where nobody is known yet.
    pub fn known_customer(&mut self, random: &mut Random) -> u64 {
        *self.customer.get_or_insert_with(|| self.store.customer(random))
    }

    /// Drops what an abandoned request has left.
    pub fn forget_acts(&mut self) {
        self.acts.clear();
        self.asked = None;
    }

    /// Makes these statements after all others.
    pub fn then(&mut self, acts: impl IntoIterator<Item = impl Into<Act>>) {
        self.acts.extend(acts.into_iter().map(Into::<Act>::into));
    }

    /// Makes this statement next, before all others.
    pub fn at_once(&mut self, act: impl Into<Act>) {
        self.acts.push_front(act.into());
    }

    pub fn next_act(&mut self) -> Option<Act> {
        self.asked = self.acts.pop_front();
        self.asked
    }

    pub fn totals(&self) -> Totals {
        let sum: f64 = self.lines.iter().map(|line| line.cost * line.quantity as f64).sum();
        let units: u64 = self.lines.iter().map(|line| line.quantity).sum();
        let sub_total = sum * (1.0 - self.discount);
        let tax = sub_total * TAX;
        Totals { sub_total, tax, total: sub_total + tax + SHIPPING + SHIPPING_UNIT * units as f64 }
    }
}

/// Sales tax, as a part of the price.
const TAX: f64 = 0.0825;
/// Shipping of an order, and more for each unit.
const SHIPPING: f64 = 3.0;
const SHIPPING_UNIT: f64 = 1.0;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Totals {
    pub sub_total: f64,
    pub tax: f64,
    pub total: f64,
}

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
    fn a_cart_costs_its_items_tax_and_shipping() {
        let mut session = Session::new(Arc::new(Store::new(Scale::new(1, 1_000).unwrap().into())));
        session.discount = 0.5;
        session.lines =
            vec![Line { item: 1, quantity: 2, cost: 10.0 }, Line { item: 2, quantity: 1, cost: 20.0 }];
        let totals = session.totals();
        assert!((totals.sub_total - 20.0).abs() < 1e-9 && (totals.tax - 1.65).abs() < 1e-9, "{totals:?}");
        assert!((totals.total - 27.65).abs() < 1e-9, "{totals:?}");
    }

    #[test]
    fn ids_begin_above_the_taken_ones() {
        let ids = Ids::after(TakenIds { order: 100, customer: 10, address: 20, cart: 0 });
        assert_eq!((ids.order.next(), ids.order.next(), ids.customer.next()), (101, 102, 11));
        assert_eq!((ids.address.next(), ids.cart.next(), ids.cart.last()), (21, 1, 1));
        let lines: Vec<_> = (0..4).map(|_| ids.next_line()).collect();
        assert_eq!(lines, [(101, 1), (101, 2), (101, 3), (102, 1)]);
    }
}
