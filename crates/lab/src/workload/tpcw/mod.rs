//! TPC-W, the web shop: its statements by name and its three mixes of web interactions.
//!
//! Written from the rules of the specification as public programs carry them out. Where those programs have
//! a trap, this is what is done instead:
//!
//! - Ids are counted in the client ([`TakenIds`] says from where), not asked of the server by `COUNT(*)` or
//!   `MAX()` under a lock.
//! - Title and author searches are `LIKE 'prefix%'`. The MySQL variant of a public program compares texts
//!   that come out empty and so sorts the whole item table; its prefixes, elsewhere, find nothing in random
//!   titles. A prefix here is as long as finds about as many items as the specification means.
//! - The latest order of a customer is the latest, not the oldest.
//! - A discount is a fraction everywhere; the tax of an order is that of the order.
//! - The shopping mix goes back from the cart as often as meets the published shares.
//!
//! A browser (closed load) walks the matrix of its mix, thinks 7 s in the mean (70 s at most), stays for
//! sessions of 15 min in the mean (60 min at most), is a known customer in four sessions of five, and looks at
//! items of the page before: those promoted, new or best sold (the long rows of a search are not kept). It begins
//! as after a long time, in the middle of a walk, a session and a think time, where the specification starts all at
//! Home and waits for the ramp-up to pass.
//!
//! An arrival (open load) is one interaction of somebody who was not there before, drawn by its share in an
//! endless walk. Shopping Cart makes a cart and adds an item; Buy Request and Buy Confirm first make a cart
//! with three lines by two more statements (`tpcw.cart_insert`, `tpcw.cart_fill`).

mod interactions;
mod matrix;
mod mix;
mod parameters;
mod session;
mod statements;

use super::{Entry, Workload};
pub use matrix::{Interaction, Mix};
use mix::Tpcw;
use session::Store;
pub use session::{Database, TakenIds};
use statements::{ROWS, Sql};
use std::sync::Arc;

/// The study's three statements: name, help, statement.
const STUDY: [(&str, &str, Sql); 3] = [
    (
        "tpcw.simple",
        "the study's simple read: a customer with address and country, by user name",
        Sql::Customer,
    ),
    ("tpcw.complex", "the study's complex read: the 50 newest items of a subject", Sql::NewProducts),
    ("tpcw.write", "the study's write: INSERT IGNORE of one new order_line row", Sql::Write),
];

const MIXES: [(&str, &str, Mix); 3] = [
    ("tpcw.browsing", "web interactions, 95 % browsing and 5 % ordering", Mix::Browsing),
    ("tpcw.shopping", "web interactions, 80 % browsing and 20 % ordering", Mix::Shopping),
    ("tpcw.ordering", "web interactions, half browsing and half ordering", Mix::Ordering),
];

/// The study's statements, the mixes, then all other statements by their text.
pub(super) fn catalog() -> Vec<Entry> {
    let study = STUDY.iter().map(|&(name, help, _)| Entry { name, help });
    let mixes = MIXES.iter().map(|&(name, help, _)| Entry { name, help });
    let others = ROWS.iter().filter(|row| !row.is_control() && row.sql != Sql::Write);
    study.chain(mixes).chain(others.map(|row| Entry { name: row.name, help: row.text })).collect()
}

pub(super) fn find(name: &str, database: Database) -> Option<Arc<dyn Workload>> {
    let store = Arc::new(Store::new(database));
    if let Some(&(name, _, mix)) = MIXES.iter().find(|(known, ..)| *known == name) {
        return Some(Arc::new(Tpcw::mix(name, mix, store)));
    }
    let study = STUDY.iter().map(|&(name, _, sql)| (name, sql));
    let others = ROWS.iter().filter(|row| !row.is_control()).map(|row| (row.name, row.sql));
    let (name, sql) = study.chain(others).find(|(known, _)| *known == name)?;
    Some(Arc::new(Tpcw::one(name, sql, store)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::tpcw::Scale;
    use crate::workload::{Parameters, Reply, Statement, Value, find};
    use evenkeel_core::random::{Random, Seed};

    fn scale(ebs: u32, items: u32) -> Scale {
        Scale::new(ebs, items).unwrap()
    }

    /// Placeholders of a statement; no text of TPC-W has a question mark anywhere else.
    fn placeholders(sql: &str) -> usize {
        sql.matches('?').count()
    }

    /// An answer of up to four rows of whatever could stand in them.
    fn any_reply(random: &mut Random) -> Reply {
        let value = |random: &mut Random| match random.uniform(0, 4) {
            0 => Value::Null,
            1 => Value::Double(random.unit()),
            2 => Value::Text(b"17".to_vec()),
            3 => Value::Int(-1),
            _ => Value::Int(random.uniform(0, 1_000) as i64),
        };
        let rows: Vec<Vec<Value>> = (0..random.uniform(0, 4))
            .map(|_| (0..random.uniform(0, 6)).map(|_| value(random)).collect())
            .collect();
        Reply { row_count: rows.len() as u64, rows, ..Reply::default() }
    }

    /// Makes `requests` requests; counts them by kind, and statements by index.
    fn drive(
        workload: &dyn Workload,
        client: &mut dyn crate::workload::Client,
        requests: usize,
    ) -> (Vec<u64>, Vec<u64>) {
        let mut random = Random::new(Seed(21));
        let mut kinds = vec![0; workload.kinds().len()];
        let mut statements = vec![0; workload.statements().len()];
        let mut parameters = Parameters::new();
        for _ in 0..requests {
            kinds[client.begin(&mut random)] += 1;
            let mut reply = None;
            let mut steps = 0;
            while let Some(index) = client.step(reply.as_ref(), &mut random, &mut parameters) {
                let statement = &workload.statements()[index];
                assert_eq!(parameters.len(), placeholders(&statement.sql), "{}", statement.name);
                statements[index] += 1;
                steps += 1;
                assert!(steps < 200, "{}: an interaction does not end", workload.name());
                reply = Some(any_reply(&mut random));
            }
            client.think(&mut random);
        }
        (kinds, statements)
    }

    #[test]
    fn every_statement_of_the_catalog_has_its_tables_and_fills_its_placeholders() {
        for entry in super::catalog() {
            let workload = find(entry.name, scale(1, 1_000)).unwrap();
            let (kinds, _) = drive(&*workload, &mut *workload.client(0), 500);
            assert_eq!(kinds.iter().sum::<u64>(), 500, "{}", entry.name);
            let has_tables = |statement: &Statement| !statement.tables.is_empty();
            assert!(
                workload.statements().iter().all(|statement| has_tables(statement) == statement.prepared)
            );
        }
    }

    #[test]
    fn open_arrivals_and_browsers_have_the_stationary_shares_and_end_every_interaction() {
        const REQUESTS: usize = 200_000;
        for (name, _, mix) in MIXES {
            let workload = find(name, scale(10, 10_000)).unwrap();
            for mut client in [workload.client(0), workload.closed_client(0)] {
                let (kinds, statements) = drive(&*workload, &mut *client, REQUESTS);
                for (count, share) in kinds.iter().zip(mix.stationary()) {
                    // Five standard deviations of independent draws, twice over for what a walk depends on itself.
                    let bound = 10.0 * (share * REQUESTS as f64).sqrt();
                    assert!((*count as f64 - share * REQUESTS as f64).abs() < bound, "{name} {kinds:?}");
                }
                let begins = statements[Sql::Begin as usize];
                assert!(begins > 0 && begins == statements[Sql::Commit as usize], "{name} {begins}");
            }
        }
    }

    #[test]
    fn a_seed_gives_the_same_walk_again() {
        let walk = || {
            let workload = find("tpcw.ordering", scale(1, 1_000)).unwrap();
            drive(&*workload, &mut *workload.closed_client(3), 5_000)
        };
        assert_eq!(walk(), walk());
    }

    #[test]
    fn clients_never_insert_the_same_order_line() {
        let workload = find("tpcw.write", scale(1, 1_000)).unwrap();
        let mut random = Random::new(Seed(1));
        let mut clients: Vec<_> = (0..4).map(|number| workload.client(number)).collect();
        let mut keys = std::collections::HashSet::new();
        let mut parameters = Parameters::new();
        for turn in 0..4_000 {
            let client = &mut clients[turn % 4];
            client.begin(&mut random);
            assert_eq!(client.step(None, &mut random, &mut parameters), Some(0));
            let key = (parameters[0].as_int().unwrap(), parameters[1].as_int().unwrap());
            assert!(key.1 > 2_592 && keys.insert(key), "{key:?}");
            assert_eq!(client.step(Some(&Reply::default()), &mut random, &mut parameters), None);
        }
    }

    #[test]
    fn browsers_begin_as_after_a_long_time() {
        const BROWSERS: usize = 20_000;
        let workload = find("tpcw.shopping", scale(1, 1_000)).unwrap();
        let mut kinds = vec![0.0; workload.kinds().len()];
        let mut first_second = 0;
        for number in 0..BROWSERS {
            let mut random = Random::new(Seed(3).numbered(number as u64));
            let mut client = workload.closed_client(number as u64);
            first_second += usize::from(client.first_think(&mut random).unwrap().as_secs_f64() < 1.0);
            kinds[client.begin(&mut random)] += 1.0;
        }
        for (count, share) in kinds.iter().zip(Mix::Shopping.stationary()) {
            let expected = share * BROWSERS as f64;
            assert!((count - expected).abs() < 5.0 * expected.sqrt(), "{kinds:?}");
        }
        // As many come in the first second as in any other: one for every mean think time of seven.
        let expected = BROWSERS as f64 * (1.0 - (-1.0_f64 / 7.0).exp());
        assert!((first_second as f64 - expected).abs() < 5.0 * expected.sqrt(), "{first_second} {expected}");
    }
}
