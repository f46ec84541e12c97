//! How often each statement of a workload is asked, by asking.

use super::{Executor, Explained, Result};
use crate::workload::sql::Purpose;
use crate::workload::{Parameters, Reply, Statement, Workload, sql};
use evenkeel_core::Nanos;
use evenkeel_core::random::{Random, Seed};
use evenkeel_os::Stop;
use evenkeel_os::clock::Clock;
use evenkeel_site::server::Control;
use std::collections::BTreeSet;

/// Most requests made to see how often each statement is asked.
const REQUESTS_MAX: u32 = 1_000;
/// Longest time spent on it; a few hundred requests of a slow server are as good as more.
const TIME_MAX: Nanos = Nanos::from_secs(20);

/// Mean executions of each statement per request, over requests that are made for real inside transactions
/// of our own, which are rolled back. What cannot be rolled back is not made. A request ends with a statement that the
/// server refuses, which is told in `explained`.
pub fn count(
    control: &mut Control,
    executor: &Executor,
    workload: &dyn Workload,
    (effort, stop): (&Effort, &Stop),
    explained: &mut Explained,
) -> Result<Vec<f64>> {
    let statements = workload.statements();
    let made: Vec<bool> = {
        let rolls_back = rolls_back(control, statements)?;
        statements.iter().map(|statement| is_made(statement, rolls_back)).collect()
    };
    let mut random = Random::new(effort.seed.child("weights"));
    let mut client = workload.client(0);
    let mut counts = vec![0.0; statements.len()];
    let mut parameters = Parameters::new();
    let clock = Clock::start();
    let mut requests = 0_u32;
    while requests < REQUESTS_MAX && clock.now() < TIME_MAX && !stop.is_set() {
        client.begin(&mut random);
        control.exec("START TRANSACTION")?;
        let mut reply = None;
        while let Some(index) = client.step(reply.as_ref(), &mut random, &mut parameters) {
            counts[index] += 1.0;
            let answer = if made[index] {
                executor.execute(control, index, &parameters)
            } else {
                Ok(Reply { affected_rows: 1, ..Reply::default() })
            };
            match answer {
                Ok(answer) => reply = Some(answer),
                Err(_) if stop.is_set() => break,
                Err(error) => {
                    explained.refuse(error.refused(&statements[index].sql)?);
                    break;
                }
            }
        }
        control.exec("ROLLBACK")?;
        requests += 1;
    }
    counts.iter_mut().for_each(|count| *count /= f64::from(requests.max(1)));
    Ok(counts)
}

/// Reads always, writes where they can be taken back, transaction control and all else never.
fn is_made(statement: &Statement, rolls_back: bool) -> bool {
    match sql::parse(&statement.sql).purpose() {
        Purpose::Read => true,
        Purpose::Write => rolls_back,
        Purpose::Other => false,
    }
}

/// Whether every table is there with an engine that can roll back.
fn rolls_back(control: &mut Control, statements: &[Statement]) -> Result<bool> {
    let tables: BTreeSet<&str> =
        statements.iter().flat_map(|statement| &statement.tables).map(String::as_str).collect();
    let rows = control.query(
        "SELECT TABLE_NAME FROM information_schema.TABLES JOIN information_schema.ENGINES USING (ENGINE) \
         WHERE TABLE_SCHEMA = DATABASE() AND TRANSACTIONS = 'YES'",
    )?;
    let safe: BTreeSet<String> = rows.rows.into_iter().flatten().flatten().collect();
    Ok(tables.iter().all(|table| safe.contains(*table)))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    pub seed: Seed,
    /// Times that each read is made and measured; 0 measures nothing.
    pub executions: u32,
}

impl Default for Effort {
    fn default() -> Self {
        Self { seed: Seed(1), executions: 5 }
    }
}
