//! What a customer remembers during an order, and the statements still to make.

use super::statements::Sql;
use crate::data::dvdstore::{LINES_MAX, POPULAR_EVERY, QUANTITY_MAX, Size, tax_cents};
use crate::workload::{Client, Parameters, Reply, StepEnd, Value};
use evenkeel_core::Nanos;
use evenkeel_core::random::Random;
use std::collections::VecDeque;

/// Share of orders by customers of the population.
const RETURNING: f64 = 0.8;
/// Most looks at products before a purchase: a mean of three.
const BROWSES_MAX: u64 = 5;
/// Longest wait before a purchase that was rolled back by the server is tried again.
const RETRY_WAIT_MAX: Nanos = Nanos::from_secs(1);
/// How many times as often a popular product is bought.
const POPULAR_WEIGHT: u64 = 10;
/// Error codes of a lock that was not granted, of a deadlock, and of a key that somebody else has.
const RETRIED: [u16; 3] = [1205, 1213, 1062];

/// Steps, as numbered in the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Login,
    NewCustomer,
    Browse,
    Purchase,
}

/// A line of the order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    pub product: u64,
    pub quantity: u64,
    pub price_cents: u64,
}

/// Something to do; the number is a product, or the place of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Act {
    Ask(Sql),
    /// Asks about a product.
    Look(Sql, u64),
    /// Asks about a line.
    OfLine(Sql, usize),
    /// Commits, or rolls back where the stock of a product is too small.
    End,
    /// The statements of a step are over.
    Done(StepEnd),
}

#[derive(Debug)]
pub struct Shopper {
    pub size: Size,
    /// Who it is, or wants to be known as: `user<n>` or `newuser<n>`.
    pub name: u64,
    pub customer: u64,
    pub order: u64,
    pub lines: Vec<Line>,
    /// The product asked about, or the place of the line.
    pub product: u64,
    pub line: usize,
    short: bool,
    acts: VecDeque<Act>,
    asked: Option<Sql>,
    ended: Option<StepEnd>,
    /// Wait before the next start of a transaction.
    wait: Nanos,
    pause: Nanos,
}

impl Shopper {
    pub fn new(size: Size) -> Self {
        Self {
            size,
            name: 1,
            customer: 1,
            order: 1,
            lines: Vec::new(),
            product: 1,
            line: 0,
            short: false,
            acts: VecDeque::new(),
            asked: None,
            ended: None,
            wait: Nanos::ZERO,
            pause: Nanos::ZERO,
        }
    }

    pub fn choose_lines(&mut self, random: &mut Random) {
        self.lines.clear();
        for _ in 0..random.uniform(1, LINES_MAX) {
            let product = product(self.size, random);
            self.lines.push(Line { product, quantity: random.uniform(1, QUANTITY_MAX), price_cents: 0 });
        }
    }

    /// What the order costs, in cents: before tax, tax, and both.
    pub fn totals(&self) -> [u64; 3] {
        let net = self.lines.iter().map(|line| line.price_cents * line.quantity).sum();
        [net, tax_cents(net), net + tax_cents(net)]
    }

    fn plan(&mut self, returning: bool, random: &mut Random) {
        let (sql, step) = match returning {
            true => (Sql::Login, Step::Login),
            false => (Sql::NameCount, Step::NewCustomer),
        };
        self.then([Act::Ask(sql), done(step)]);
        for _ in 0..random.uniform(1, BROWSES_MAX) {
            const WAYS: [Sql; 3] = [Sql::BrowseCategory, Sql::BrowseActor, Sql::BrowseTitle];
            let way = WAYS[random.uniform(0, 2) as usize];
            self.then([Act::Ask(way), done(Step::Browse)]);
        }
        self.choose_lines(random);
        self.then([Act::Ask(Sql::Prices), Act::Done(StepEnd::Untimed)]);
        self.plan_purchase();
    }

    fn plan_purchase(&mut self) {
        self.short = false;
        self.then([Act::Ask(Sql::Begin), Act::Ask(Sql::OrderInsert)]);
        for line in 0..self.lines.len() {
            self.then([Act::OfLine(Sql::Stock, line)]);
        }
        let lines = self.lines.len();
        self.then([Act::Ask(Sql::LinesInsert(lines)), Act::Ask(Sql::HistoryInsert(lines)), Act::End]);
    }

    fn then<const COUNT: usize>(&mut self, acts: [Act; COUNT]) {
        self.acts.extend(acts);
    }

    /// Takes in the answer to the statement asked last; it may call for further statements at once.
    fn learn(&mut self, reply: &Reply, random: &mut Random) {
        match self.asked {
            Some(Sql::Login) => {
                // Customers of the population are numbered as they are named.
                self.customer = reply.first_id(0).unwrap_or(self.name);
                self.acts.push_front(Act::Ask(Sql::History));
            }
            Some(Sql::History) => {
                for row in reply.rows.iter().rev() {
                    let product = row.first().and_then(Value::as_id).unwrap_or(1);
                    self.acts.push_front(Act::Look(Sql::Bought, product));
                }
            }
            Some(Sql::Bought) => {
                let other = reply.first_id(2).unwrap_or(1);
                self.acts.push_front(Act::Look(Sql::GoesWith, other));
            }
            Some(Sql::NameCount) if reply.first_id(0) == Some(0) => {
                self.acts.push_front(Act::Ask(Sql::CustomerInsert));
            }
            Some(Sql::NameCount) => self.try_another_name(random),
            Some(Sql::CustomerInsert) => self.customer = reply.last_insert_id,
            Some(Sql::Prices) => self.learn_prices(reply),
            Some(Sql::OrderInsert) => self.order = reply.last_insert_id,
            Some(Sql::Stock) => self.learn_stock(reply),
            // Somebody else took it since it was looked at.
            Some(Sql::StockUpdate) if reply.affected_rows == 0 => self.short = true,
            _ => {}
        }
    }

    fn try_another_name(&mut self, random: &mut Random) {
        self.name = new_name(random);
        self.acts.push_front(Act::Ask(Sql::NameCount));
    }

    fn learn_prices(&mut self, reply: &Reply) {
        for row in &reply.rows {
            let [product, price, ..] = &row[..] else { continue };
            let (product, price) = (product.as_id(), price.as_double().unwrap_or(0.0));
            for line in self.lines.iter_mut().filter(|line| Some(line.product) == product) {
                line.price_cents = (price * 100.0).round() as u64;
            }
        }
    }

    fn learn_stock(&mut self, reply: &Reply) {
        let stock = reply.first_id(0).unwrap_or(0);
        if stock < self.lines[self.line].quantity {
            self.short = true;
        } else {
            self.acts.push_front(Act::OfLine(Sql::StockUpdate, self.line));
        }
    }

    /// The next statement, past the ends of steps.
    fn next_sql(&mut self) -> Option<Sql> {
        loop {
            match self.acts.pop_front()? {
                Act::Ask(sql) => return Some(sql),
                Act::Look(sql, product) => {
                    self.product = product;
                    return Some(sql);
                }
                Act::OfLine(sql, line) => {
                    self.line = line;
                    self.product = self.lines[line].product;
                    return Some(sql);
                }
                Act::End => {
                    let step = Step::Purchase as usize;
                    let (sql, end) = match self.short {
                        true => (Sql::Rollback, StepEnd::RolledBack(step)),
                        false => (Sql::Commit, StepEnd::Done(step)),
                    };
                    self.acts.push_front(Act::Done(end));
                    return Some(sql);
                }
                Act::Done(end) => self.ended = Some(end),
            }
        }
    }

    /// Draws what an order would know before this statement.
    pub fn imagine(&mut self, sql: Sql, random: &mut Random) {
        self.customer = random.uniform(1, self.size.customers());
        self.name = if sql == Sql::Login { self.customer } else { new_name(random) };
        self.order = random.uniform(1, self.size.orders());
        self.choose_lines(random);
        if let Sql::LinesInsert(lines) | Sql::HistoryInsert(lines) = sql {
            self.lines.resize(lines, Line { product: 1, quantity: 1, price_cents: 0 });
        }
        (self.line, self.product) = (0, self.lines[0].product);
    }
}

impl Client for Shopper {
    fn begin(&mut self, random: &mut Random) -> usize {
        self.acts.clear();
        (self.asked, self.ended, self.wait) = (None, None, Nanos::ZERO);
        let returning = random.chance(RETURNING);
        self.name = if returning { random.uniform(1, self.size.customers()) } else { new_name(random) };
        self.plan(returning, random);
        0
    }

    fn step(
        &mut self,
        reply: Option<&Reply>,
        random: &mut Random,
        parameters: &mut Parameters,
    ) -> Option<usize> {
        if let Some(reply) = reply {
            self.learn(reply, random);
        }
        self.asked = self.next_sql();
        let sql = self.asked?;
        self.pause = if sql == Sql::Begin { std::mem::take(&mut self.wait) } else { Nanos::ZERO };
        self.write(sql, random, parameters);
        Some(sql.index())
    }

    fn step_ended(&mut self) -> Option<StepEnd> {
        self.ended.take()
    }

    fn pause(&self) -> Nanos {
        self.pause
    }

    fn tries_again(&mut self, code: u16, random: &mut Random) -> bool {
        if !RETRIED.contains(&code) {
            return false;
        }
        match self.asked.take() {
            Some(Sql::CustomerInsert) => self.try_another_name(random),
            Some(
                Sql::Begin
                | Sql::OrderInsert
                | Sql::Stock
                | Sql::StockUpdate
                | Sql::LinesInsert(_)
                | Sql::HistoryInsert(_)
                | Sql::Commit,
            ) => {
                self.acts.clear();
                // What a lock that was not granted leaves is still there.
                self.then([Act::Ask(Sql::Rollback)]);
                self.plan_purchase();
                self.wait = Nanos(random.uniform(0, RETRY_WAIT_MAX.0));
            }
            _ => return false,
        }
        true
    }
}

/// A product to buy: every ten thousandth is ten times as likely as the others.
pub fn product(size: Size, random: &mut Random) -> u64 {
    let products = size.products();
    let popular = products / POPULAR_EVERY;
    let drawn = random.uniform(1, products + popular * (POPULAR_WEIGHT - 1));
    match drawn.checked_sub(products + 1) {
        None => drawn,
        Some(more) => (more / (POPULAR_WEIGHT - 1) + 1) * POPULAR_EVERY,
    }
}

fn done(step: Step) -> Act {
    Act::Done(StepEnd::Done(step as usize))
}

/// A number for a new customer's name. Two at a time seldom draw the same one, and then one of them draws again.
fn new_name(random: &mut Random) -> u64 {
    random.uniform(1, u32::MAX.into())
}
