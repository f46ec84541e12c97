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

#[cfg(test)]
mod tests {
    use super::order::{Step, product};
    use super::*;
    use crate::data::dvdstore::Size;
    use crate::workload::{Reply, StepEnd, Value, find};
    use evenkeel_core::Nanos;
    use evenkeel_core::random::Seed;

    /// A store in which everything is in stock, or nothing.
    struct Imagined {
        stock: i64,
        statements: Vec<Statement>,
        /// Names of statements in turn.
        asked: Vec<String>,
        parameters: Vec<Parameters>,
        ends: Vec<StepEnd>,
    }

    impl Imagined {
        fn new(stock: i64) -> Self {
            let statements = DvdStore::new(Size::SMALL).statements;
            Self { stock, statements, asked: Vec::new(), parameters: Vec::new(), ends: Vec::new() }
        }

        fn answer(&self, name: &str, parameters: &Parameters) -> Reply {
            let rows = |rows: Vec<Vec<i64>>| Reply {
                row_count: rows.len() as u64,
                rows: rows.into_iter().map(|row| row.into_iter().map(Value::Int).collect()).collect(),
                ..Reply::default()
            };
            match name {
                "dvdstore.login" => rows(vec![vec![17]]),
                "dvdstore.history" => rows(vec![vec![3], vec![4]]),
                "dvdstore.bought" => rows(vec![vec![0, 0, 9]]),
                "dvdstore.name_count" => rows(vec![vec![0]]),
                "dvdstore.prices" => {
                    rows(parameters.iter().map(|product| vec![product.as_int().unwrap(), 10]).collect())
                }
                "dvdstore.stock" => rows(vec![vec![self.stock, 0]]),
                _ => Reply { affected_rows: 1, last_insert_id: 99, ..Reply::default() },
            }
        }

        /// Makes one order from the statement that is next.
        fn finish(&mut self, client: &mut dyn Client, random: &mut Random) {
            let mut reply = None;
            let mut parameters = Parameters::new();
            loop {
                let next = client.step(reply.as_ref(), random, &mut parameters);
                self.ends.extend(client.step_ended());
                let Some(index) = next else { return };
                let statement = &self.statements[index];
                assert_eq!(parameters.len(), statement.sql.matches('?').count(), "{}", statement.name);
                reply = Some(self.answer(&statement.name, &parameters));
                self.asked.push(statement.name.clone());
                self.parameters.push(parameters.clone());
            }
        }

        fn count(&self, name: &str) -> usize {
            self.asked.iter().filter(|asked| asked.starts_with(name)).count()
        }
    }

    fn order(stock: i64, seed: u64) -> Imagined {
        let workload = find("dvdstore", Size::SMALL).unwrap();
        let (mut client, mut random) = (workload.client(0), Random::new(Seed(seed)));
        let mut store = Imagined::new(stock);
        client.begin(&mut random);
        store.finish(&mut *client, &mut random);
        store
    }

    #[test]
    fn an_order_goes_through_its_steps_in_turn() {
        for seed in 0..200 {
            let store = order(500, seed);
            let browses = store.count("dvdstore.browse");
            let first = if store.asked[0] == "dvdstore.login" { Step::Login } else { Step::NewCustomer };
            let mut expected = vec![StepEnd::Done(first as usize)];
            expected.extend(vec![StepEnd::Done(Step::Browse as usize); browses]);
            expected.extend([StepEnd::Untimed, StepEnd::Done(Step::Purchase as usize)]);
            assert_eq!(store.ends, expected, "{:?}", store.asked);
            assert!((1..=5).contains(&browses));
            let lines = store.count("dvdstore.stock_update");
            assert!((1..=9).contains(&lines));
            assert_eq!(store.count("dvdstore.stock"), 2 * lines);
            let end = [format!("dvdstore.lines_insert_{lines}"), format!("dvdstore.history_insert_{lines}")];
            assert_eq!(store.asked[store.asked.len() - 3..], [&end[..], &["commit".to_owned()]].concat());
        }
    }

    #[test]
    fn values_go_from_step_to_step() {
        let store =
            (0..).map(|seed| order(500, seed)).find(|store| store.asked[0] == "dvdstore.login").unwrap();
        assert_eq!((store.count("dvdstore.bought"), store.count("dvdstore.goes_with")), (2, 2));
        for (name, parameters) in store.asked.iter().zip(&store.parameters) {
            match name.as_str() {
                "dvdstore.history" => assert_eq!(parameters[0], Value::Int(17)),
                "dvdstore.goes_with" => assert_eq!(parameters[0], Value::Int(9)),
                "dvdstore.order_insert" => {
                    let amount = |place: usize| parameters[place].as_double().unwrap();
                    let net = amount(1);
                    assert_eq!(parameters[0], Value::Int(17));
                    assert!((amount(2) - net * 0.0825).abs() < 0.005_001, "{parameters:?}");
                    assert!((amount(3) - net - amount(2)).abs() < 1e-9, "{parameters:?}");
                }
                name if name.starts_with("dvdstore.lines_insert") => {
                    assert_eq!(parameters[1], Value::Int(99))
                }
                name if name.starts_with("dvdstore.history_insert") => {
                    assert_eq!(parameters[..2], [Value::Int(17), Value::Int(99)]);
                }
                _ => {}
            }
        }
    }

    #[test]
    fn an_order_out_of_stock_is_rolled_back_at_its_end() {
        let store = order(0, 5);
        assert_eq!(store.count("dvdstore.stock_update"), 0);
        assert_eq!(store.count("dvdstore.lines_insert"), 1);
        assert_eq!(store.asked.last().map(String::as_str), Some("rollback"));
        assert_eq!(store.ends.last(), Some(&StepEnd::RolledBack(Step::Purchase as usize)));
    }

    #[test]
    fn four_orders_of_five_are_by_known_customers_and_means_are_as_published() {
        const ORDERS: usize = 5_000;
        let orders: Vec<Imagined> = (0..ORDERS as u64).map(|seed| order(500, seed)).collect();
        let mean =
            |name: &str| orders.iter().map(|store| store.count(name)).sum::<usize>() as f64 / ORDERS as f64;
        // Five standard errors: of 0.4, 1.41 and 2.58 over the root of 5,000.
        for (name, expected, spread) in [
            ("dvdstore.login", 0.8, 0.4),
            ("dvdstore.browse", 3.0, 1.41),
            ("dvdstore.browse_actor", 1.0, 1.0),
            ("dvdstore.stock_update", 5.0, 2.58),
        ] {
            let found = mean(name);
            assert!((found - expected).abs() < 5.0 * spread / (ORDERS as f64).sqrt(), "{name} {found}");
        }
    }

    #[test]
    fn a_purchase_that_the_server_rolled_back_is_tried_again_with_the_same_lines() {
        let workload = find("dvdstore", Size::SMALL).unwrap();
        let (mut client, mut random) = (workload.client(0), Random::new(Seed(1)));
        client.begin(&mut random);
        assert!(!client.tries_again(1213, &mut random), "nothing was asked yet");
        let mut store = Imagined::new(500);
        let mut parameters = Parameters::new();
        let (mut reply, mut looked) = (None, Vec::new());
        loop {
            let index = client.step(reply.as_ref(), &mut random, &mut parameters).unwrap();
            let name = store.statements[index].name.clone();
            match name.as_str() {
                "dvdstore.stock" => looked.push(parameters.clone()),
                "dvdstore.stock_update" => break,
                _ => {}
            }
            reply = Some(store.answer(&name, &parameters));
        }
        client.step_ended();
        assert!(!client.tries_again(1064, &mut random), "an error in the text stays one");
        assert!(client.tries_again(1213, &mut random));
        let rollback = client.step(None, &mut random, &mut parameters).unwrap();
        assert_eq!((store.statements[rollback].sql.as_str(), client.pause()), ("ROLLBACK", Nanos::ZERO));
        let begin = client.step(Some(&Reply::default()), &mut random, &mut parameters).unwrap();
        assert_eq!(store.statements[begin].sql, "BEGIN");
        assert!(client.pause() > Nanos::ZERO && client.pause() <= Nanos::from_secs(1));
        store.finish(&mut *client, &mut random);
        let again = store.asked.iter().position(|name| name == "dvdstore.stock").unwrap();
        assert_eq!(store.parameters[again], looked[0]);
        assert_eq!(store.asked.last().map(String::as_str), Some("commit"));
        assert_eq!(store.ends, [StepEnd::Done(Step::Purchase as usize)]);
    }

    #[test]
    fn a_name_that_somebody_has_is_drawn_again() {
        let workload = find("dvdstore", Size::SMALL).unwrap();
        let mut parameters = Parameters::new();
        let seed = (0..).find(|&seed| {
            let (mut client, mut random) = (workload.client(0), Random::new(Seed(seed)));
            client.begin(&mut random);
            client.step(None, &mut random, &mut parameters) == Some(Sql::NameCount.index())
        });
        let (mut client, mut random) = (workload.client(0), Random::new(Seed(seed.unwrap())));
        client.begin(&mut random);
        client.step(None, &mut random, &mut parameters);
        let name = parameters.clone();
        let taken = Reply { rows: vec![vec![Value::Int(1)]], row_count: 1, ..Reply::default() };
        assert_eq!(client.step(Some(&taken), &mut random, &mut parameters), Some(Sql::NameCount.index()));
        assert_ne!(parameters, name);
        let free = Reply { rows: vec![vec![Value::Int(0)]], row_count: 1, ..Reply::default() };
        assert_eq!(client.step(Some(&free), &mut random, &mut parameters), Some(Sql::CustomerInsert.index()));
        // Somebody was faster.
        assert!(client.tries_again(1062, &mut random));
        assert_eq!(client.step(None, &mut random, &mut parameters), Some(Sql::NameCount.index()));
    }

    #[test]
    fn every_statement_with_a_plan_has_parameters_to_sample() {
        let workload = DvdStore::new(Size::SMALL);
        let mut random = Random::new(Seed(2));
        for (index, statement) in workload.statements().iter().enumerate() {
            let mut parameters = Parameters::new();
            assert_eq!(workload.sample(index, &mut random, &mut parameters), statement.prepared);
            assert_eq!(statement.tables.is_empty(), !statement.prepared, "{}", statement.name);
            let holes = if statement.prepared { statement.sql.matches('?').count() } else { 0 };
            assert_eq!(parameters.len(), holes, "{}", statement.name);
        }
    }

    #[test]
    fn every_ten_thousandth_product_is_bought_ten_times_as_often() {
        let mut random = Random::new(Seed(3));
        let drawn: Vec<u64> = (0..1_000_000).map(|_| product(Size::SMALL, &mut random)).collect();
        let count = |range: std::ops::RangeInclusive<u64>| {
            drawn.iter().filter(|product| range.contains(product)).count() as f64
        };
        // Ten chances of 10,009 for the popular one, one for each other; within five standard deviations.
        let each = 1e6 / 10_009.0;
        assert!((count(10_000..=10_000) - 10.0 * each).abs() < 5.0 * (10.0 * each).sqrt());
        assert!((count(1..=1_000) - 1_000.0 * each).abs() < 5.0 * (1_000.0 * each).sqrt());
        assert_eq!(count(1..=10_000), 1e6);
    }
}
