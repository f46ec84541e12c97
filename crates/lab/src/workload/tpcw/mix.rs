//! The three mixes, walked by browsers or drawn by arrivals, and single statements.

use super::matrix::{Interaction, Mix};
use super::session::{Act, Line, Session, Store};
use super::statements::{Sql, mix_rows, row};
use crate::data::tpcw::COUNTRIES;
use crate::workload::{Client, Parameters, Reply, Statement, Workload};
use evenkeel_core::Nanos;
use evenkeel_core::arrivals::{TPCW_SESSION_LENGTH, TPCW_THINK_TIME};
use evenkeel_core::distribution::WeightedChoice;
use evenkeel_core::random::Random;
use std::sync::Arc;

/// A kind of request is an interaction of the mix, or the one statement.
pub struct Tpcw {
    name: &'static str,
    asked: Asked,
    statements: Vec<Statement>,
    kinds: Vec<String>,
    store: Arc<Store>,
}

enum Asked {
    /// With what draws an interaction by its share in an endless walk.
    Mix(Mix, Arc<WeightedChoice>),
    /// One statement by itself, each time with parameters of its own.
    One(Sql),
}

impl Tpcw {
    pub fn mix(name: &'static str, mix: Mix, store: Arc<Store>) -> Self {
        let shares =
            WeightedChoice::new(&mix.stationary()).expect("shares are not negative and add up to one");
        let kinds = Interaction::ALL.map(|interaction| interaction.to_string()).to_vec();
        let statements = mix_rows().map(|row| row.statement()).collect();
        Self { name, asked: Asked::Mix(mix, Arc::new(shares)), statements, kinds, store }
    }

    /// `name` may be another than the statement's own.
    pub fn one(name: &'static str, sql: Sql, store: Arc<Store>) -> Self {
        // Nobody looks at the answer of a lone statement.
        let statement = Statement { name: name.to_owned(), captures: false, ..row(sql).statement() };
        Self {
            name,
            asked: Asked::One(sql),
            statements: vec![statement],
            kinds: vec![name.to_owned()],
            store,
        }
    }

    fn one_client(&self, walks: bool) -> Box<dyn Client> {
        let session = Session::new(Arc::clone(&self.store));
        match &self.asked {
            Asked::One(sql) => Box::new(SingleClient { sql: *sql, asked: true, session }),
            Asked::Mix(mix, shares) => {
                let (walk, shares) = (walks.then_some(*mix), Arc::clone(shares));
                Box::new(Browser { session, shares, walk, at: None, left: Nanos::ZERO })
            }
        }
    }
}

impl Workload for Tpcw {
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
        self.one_client(false)
    }

    fn closed_client(&self, _number: u64) -> Box<dyn Client> {
        self.one_client(true)
    }

    fn sample(&self, statement: usize, random: &mut Random, parameters: &mut Parameters) -> bool {
        let sql = match &self.asked {
            Asked::One(sql) => (statement == 0).then_some(*sql),
            Asked::Mix(..) => mix_rows().nth(statement).map(|row| row.sql),
        };
        sql.is_some_and(|sql| sample(&self.store, sql, random, parameters))
    }

    fn weights(&self) -> Option<Vec<f64>> {
        matches!(self.asked, Asked::One(_)).then(|| vec![1.0])
    }
}

/// A client. Of an open load each arrival is somebody else who makes one interaction, drawn by its share in an
/// endless walk. Of a closed load it walks from page to page, thinks in between, and from time to time leaves and
/// comes back as somebody else; it begins in the middle, as after a long time: at an interaction drawn by its share,
/// with what is left of a think time and of a session. Began all at Home, the first minutes would have another mix
/// than the rest.
struct Browser {
    session: Session,
    shares: Arc<WeightedChoice>,
    /// Where it walks on from, of a closed load.
    walk: Option<Mix>,
    at: Option<Interaction>,
    /// What is left of the session. Only think time counts, so that the walk of a seed does not depend on
    /// how fast the server is.
    left: Nanos,
}

impl Browser {
    /// Begins an interaction, drawn by its share, as somebody who was not there before.
    fn begin_anywhere(&mut self, random: &mut Random) -> Interaction {
        let interaction = Interaction::ALL[self.shares.draw(random)];
        self.session.renew(random);
        // Whoever comes to a cart out of nowhere adds the item that was looked at.
        self.session.plan(interaction, Some(Interaction::ProductDetail), random);
        self.session.prepare(interaction);
        interaction
    }
}

impl Client for Browser {
    fn begin(&mut self, random: &mut Random) -> usize {
        let Some(mix) = self.walk else { return self.begin_anywhere(random) as usize };
        let next = match self.at {
            None => {
                self.left = TPCW_SESSION_LENGTH.residual(random);
                self.begin_anywhere(random)
            }
            Some(before) => {
                let next = mix.after(before, random);
                if next == Interaction::Home && self.left == Nanos::ZERO {
                    self.session.renew(random);
                    self.left = TPCW_SESSION_LENGTH.draw(random);
                }
                self.session.plan(next, Some(before), random);
                next
            }
        };
        self.at = Some(next);
        next as usize
    }

    fn step(
        &mut self,
        reply: Option<&Reply>,
        random: &mut Random,
        parameters: &mut Parameters,
    ) -> Option<usize> {
        if let Some(reply) = reply {
            self.session.learn(reply);
        }
        let act = self.session.next_act()?;
        self.session.write(act, random, parameters);
        Some(act.sql as usize)
    }

    fn think(&mut self, random: &mut Random) -> Option<Nanos> {
        let think = TPCW_THINK_TIME.draw(random);
        self.left = self.left - think;
        Some(think)
    }

    fn first_think(&mut self, random: &mut Random) -> Option<Nanos> {
        Some(TPCW_THINK_TIME.residual(random))
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
