//! One statement of TPC-W by itself, each time with parameters of its own.

use super::session::{Act, Line, Session, Store};
use super::statements::{Sql, row};
use crate::data::tpcw::COUNTRIES;
use crate::workload::{Client, Parameters, Reply, Statement, Workload};
use evenkeel_core::random::Random;
use std::sync::Arc;

pub struct Single {
    name: &'static str,
    sql: Sql,
    statements: [Statement; 1],
    kinds: [String; 1],
    store: Arc<Store>,
}

impl Single {
    /// `name` may be another than the statement's own.
    pub fn new(name: &'static str, sql: Sql, store: Arc<Store>) -> Self {
        // Nobody looks at the answer of a lone statement.
        let statement = Statement { name: name.to_owned(), captures: false, ..row(sql).statement() };
        Self { name, sql, statements: [statement], kinds: [name.to_owned()], store }
    }
}

impl Workload for Single {
    fn name(&self) -> &str {
        self.name
    }

    fn statements(&self) -> &[Statement] {
        &self.statements
    }

    fn kinds(&self) -> &[String] {
        &self.kinds
    }

    fn client(&self, _number: u64) -> Box<dyn Client> {
        Box::new(SingleClient { sql: self.sql, asked: true, session: Session::new(Arc::clone(&self.store)) })
    }

    fn sample(&self, statement: usize, random: &mut Random, parameters: &mut Parameters) -> bool {
        statement == 0 && sample(&self.store, self.sql, random, parameters)
    }

    fn weights(&self) -> Option<Vec<f64>> {
        Some(vec![1.0])
    }
}

struct SingleClient {
    sql: Sql,
    asked: bool,
    session: Session,
}

impl Client for SingleClient {
    fn begin(&mut self, _random: &mut Random) -> usize {
        self.asked = false;
        0
    }

    fn step(&mut self, _: Option<&Reply>, random: &mut Random, parameters: &mut Parameters) -> Option<usize> {
        if self.asked {
            return None;
        }
        self.asked = true;
        let act = self.session.imagine(self.sql, random);
        self.session.write(act, random, parameters);
        Some(0)
    }
}

/// Parameters of a statement outside of any interaction; false for transaction control.
pub fn sample(store: &Arc<Store>, sql: Sql, random: &mut Random, parameters: &mut Parameters) -> bool {
    if row(sql).is_control() {
        return false;
    }
    let mut session = Session::new(Arc::clone(store));
    let act = session.imagine(sql, random);
    session.write(act, random, parameters);
    true
}

impl Session {
    /// Draws what an interaction would know before this statement: somebody and something of the population;
    /// a free id for what is inserted.
    fn imagine(&mut self, sql: Sql, random: &mut Random) -> Act {
        let Store { scale, ids, .. } = &*self.store;
        let item = self.store.item(random);
        let quantity = random.uniform(1, 10);
        self.item = item;
        self.customer = None;
        self.order_lines = 0;
        match sql {
            Sql::CartInsert | Sql::CartFill | Sql::CartLineInsert => self.cart = Some(ids.cart.next()),
            Sql::OrderInsert | Sql::OrderLineInsert | Sql::CreditCardInsert => {
                self.order = ids.order.next();
                self.ship_address = random.uniform(1, scale.addresses());
                self.bill_address = self.ship_address;
                self.lines.clear();
                self.lines.push(Line { item, quantity, cost: random.uniform(100, 99_999) as f64 / 100.0 });
            }
            Sql::OrderDisplay | Sql::OrderLines => self.order = random.uniform(1, scale.orders()),
            Sql::CustomerInsert => {
                self.customer = Some(ids.customer.next());
                self.ship_address = random.uniform(1, scale.addresses());
            }
            Sql::AddressInsert | Sql::Address => {
                if sql == Sql::AddressInsert {
                    self.ship_address = ids.address.next();
                }
                self.address.country = random.uniform(1, COUNTRIES);
                self.type_address(random);
            }
            Sql::ItemRelatedUpdate => {
                let items = scale.items();
                self.related = std::array::from_fn(|offset| (item + offset as u64) % items + 1);
            }
            _ => self.cart = Some(random.uniform(1, ids.cart.last())),
        }
        Act { sql, item, quantity }
    }
}
