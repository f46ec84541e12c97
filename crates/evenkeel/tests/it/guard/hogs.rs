//! Sessions that keep what others wait for, by means that cost them nothing, against a real server.

use super::client::{Client, MODERN};
use super::proxy::{Proxy, eventually};
use super::server::Server;
use evenkeel_core::Nanos;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// Says one statement after the other in a transaction, until it is stopped.
fn hog(address: &str, statement: &'static str, stop: &Arc<AtomicBool>) -> JoinHandle<()> {
    let (mut client, stop) = (Client::connect(address, MODERN), Arc::clone(stop));
    std::thread::spawn(move || {
        client.query("BEGIN");
        while !stop.load(Ordering::Relaxed) {
            client.record.clear();
            client.query(statement);
        }
        client.query("COMMIT");
    })
}

#[test]
fn as_many_transactions_without_end_as_the_limit_starve_nobody() {
    let server = Server::up(&[]);
    let proxy = Proxy::start(&server, |plan| {
        plan.limit = 2;
        // No other rule lets anybody in.
        plan.options.liveness_min = Nanos::from_secs(3_600);
    });
    for statement in ["SELECT 1", "COMMIT AND CHAIN"] {
        let stop = Arc::new(AtomicBool::new(false));
        let hogs: Vec<JoinHandle<()>> = (0..2).map(|_| hog(&proxy.address, statement, &stop)).collect();
        eventually("two transactions", || proxy.guard.census().running + proxy.guard.census().loans == 2);
        assert_eq!(proxy.rows(&[], "SELECT 1"), "1", "beside {statement}");
        eventually("two on loan", || proxy.guard.census().loans == 2);
        (0..5).for_each(|_| assert_eq!(proxy.rows(&[], "SELECT 1"), "1", "beside {statement}"));
        stop.store(true, Ordering::Relaxed);
        hogs.into_iter().for_each(|hog| hog.join().expect("it ends in order"));
        eventually("no loans", || proxy.guard.census().loans == 0);
        proxy.becomes_empty();
    }
    proxy.stop();
}
