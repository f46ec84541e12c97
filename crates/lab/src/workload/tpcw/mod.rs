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

mod database;
mod interactions;
mod matrix;
mod mix;
mod parameters;
mod session;
mod single;
mod statements;
mod values;

#[cfg(test)]
mod tests;

pub use database::{Database, TakenIds};
pub use matrix::{Interaction, Mix};

use super::{Entry, Workload};
use mix::MixWorkload;
use session::Store;
use single::Single;
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
        return Some(Arc::new(MixWorkload::new(name, mix, store)));
    }
    let study = STUDY.iter().map(|&(name, _, sql)| (name, sql));
    let others = ROWS.iter().filter(|row| !row.is_control()).map(|row| (row.name, row.sql));
    let (name, sql) = study.chain(others).find(|(known, _)| *known == name)?;
    Some(Arc::new(Single::new(name, sql, store)))
}
