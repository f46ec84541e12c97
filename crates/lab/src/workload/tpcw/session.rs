//! What a browser remembers from page to page, and the statements it still has to make.

use super::database::{Database, Ids};
use super::statements::Sql;
use crate::data::tpcw::Scale;
use evenkeel_core::distribution::NuRand;
use evenkeel_core::random::Random;
use std::collections::VecDeque;
use std::sync::Arc;

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
}
