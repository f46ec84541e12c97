//! Mixes against an imagined server that answers anything.

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
        assert!(workload.statements().iter().all(|statement| has_tables(statement) == statement.prepared));
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
fn think_time_has_its_mean_and_its_bound() {
    let workload = find("tpcw.shopping", scale(1, 1_000)).unwrap();
    let mut random = Random::new(Seed(2));
    let mut client = workload.closed_client(0);
    let thinks: Vec<f64> = (0..50_000).map(|_| client.think(&mut random).unwrap().as_secs_f64()).collect();
    let mean = thinks.iter().sum::<f64>() / 50_000.0;
    assert!((6.85..7.15).contains(&mean) && thinks.iter().all(|&think| think <= 70.0), "{mean}");
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
