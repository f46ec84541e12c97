//! DVD Store 2: its emulated order, in plain statements and transactions.
//!
//! A request is one order of one customer, in steps with values passed between them:
//!
//! - `login` of a customer of the population (four of five): by name and password, then the last ten products
//!   bought, each with what goes with it; or `newcustomer`: a name that nobody has, and a row;
//! - `browse`, 1 to 5 times: specials of a category, or products by actor or by title, 1 to 9 of them;
//! - `purchase` of 1 to 9 lines in one transaction: the order, for each line a look at the stock and its change, the
//!   lines, the customer's history. Where the stock of a product is too small, the work is done and rolled back:
//!   the order is complete, and counted as rolled back.
//!
//! Where the published program has a trap, this is what is done instead:
//!
//! - The stock is changed by as much as is ordered, and only where there is as much. The program writes the number
//!   that it read without a lock, so that two orders at a time lose units.
//! - The number of an order is taken from the answer to its insert, not asked for by one more statement.
//! - New customers are made by the statements of its stored procedure, sent one by one.
//! - Of a closed client the wait for its turn is the think time alone; it begins as after a long time.
//!
//! As in the program: a deadlock or a lock that is not granted rolls the purchase back, and after up to a second it is
//! tried again, within the time of the step. Prices are looked up before the step begins; they count in the response
//! time of the order here. Think times are uniform from nothing to twice their mean.

mod order;
mod parameters;
mod statements;

#[cfg(test)]
mod tests;

use super::{Client, Entry, Parameters, Statement, Workload};
use crate::data::dvdstore::{NAME, Size};
use evenkeel_core::random::Random;
use order::Shopper;
use statements::Sql;
use std::sync::Arc;

/// Steps of an order, in the order of [`order::Step`].
const STEPS: [&str; 4] = ["login", "newcustomer", "browse", "purchase"];

/// The one workload.
pub(super) fn catalog() -> Vec<Entry> {
    let help = "DVD Store 2: orders with login or registration, browsing and a purchase";
    vec![Entry { name: NAME, help }]
}

pub(super) fn find(name: &str, size: Size) -> Option<Arc<dyn Workload>> {
    (name == NAME).then(|| Arc::new(DvdStore::new(size)) as Arc<dyn Workload>)
}

struct DvdStore {
    size: Size,
    statements: Vec<Statement>,
    kinds: [String; 1],
    steps: [String; 4],
}

impl DvdStore {
    fn new(size: Size) -> Self {
        let statements = Sql::all().map(Sql::statement).collect();
        Self { size, statements, kinds: ["order".to_owned()], steps: STEPS.map(str::to_owned) }
    }
}

impl Workload for DvdStore {
    fn name(&self) -> &str {
        NAME
    }

    fn statements(&self) -> &[Statement] {
        &self.statements
    }

    fn kinds(&self) -> &[String] {
        &self.kinds
    }

    fn steps(&self) -> &[String] {
        &self.steps
    }

    fn client(&self, _number: u64) -> Box<dyn Client> {
        Box::new(Shopper::new(self.size))
    }

    fn uniform_think(&self) -> bool {
        true
    }

    fn sample(&self, statement: usize, random: &mut Random, parameters: &mut Parameters) -> bool {
        let Some(sql) = Sql::all().nth(statement).filter(|sql| !sql.is_control()) else { return false };
        let mut shopper = Shopper::new(self.size);
        shopper.imagine(sql, random);
        shopper.write(sql, random, parameters);
        true
    }
}
