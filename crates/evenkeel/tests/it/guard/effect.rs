//! What a guard does to a server, by what the server counts itself.

use super::client::{Client, MODERN};
use super::proxy::Proxy;
use super::server::Server;
use crate::patience::found;
use evenkeel_core::Nanos;
use evenkeel_wire::relay::Reply;
use std::thread;

const CLIENTS: u64 = 8;
const LIMIT: u64 = 2;
/// Transactions of each client in one go.
const EACH: u64 = 25;
/// Permits that a standstill may lend in a go that counts.
const LOANS: u64 = 2;

/// `open` has a row for each transaction that is under way: who reads what is not committed sees all of them. `seen`
/// knows no transactions, so that what was written to it stays.
const TABLES: &str = "CREATE TABLE shop.open (id BIGINT PRIMARY KEY) ENGINE=InnoDB;
    CREATE TABLE shop.seen (transactions INT) ENGINE=MyISAM";

/// One transaction, which counts those under way beside it.
const TRANSACTION: [&str; 5] = [
    "BEGIN",
    "INSERT INTO open VALUES (CONNECTION_ID())",
    "INSERT INTO seen SELECT COUNT(*) FROM open",
    "DELETE FROM open WHERE id = CONNECTION_ID()",
    "COMMIT",
];

fn work(address: &str) {
    let client = || {
        let mut client = Client::connect(address, MODERN);
        client.query("SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED");
        for statement in (0..EACH).flat_map(|_| TRANSACTION) {
            client.record.clear();
            let replies = client.query(statement);
            assert!(matches!(replies[..], [Reply::Result { .. }]), "{statement}: {replies:?}");
        }
    };
    thread::scope(|scope| (0..CLIENTS).for_each(|_| drop(scope.spawn(client))));
}

fn most_seen(server: &Server) -> u64 {
    let most = server.sql("SELECT MAX(transactions) FROM shop.seen; TRUNCATE shop.seen");
    most.parse().expect("a number")
}

fn commits(server: &Server) -> u64 {
    let line = server.sql("SHOW GLOBAL STATUS LIKE 'Com_commit'");
    line.split_whitespace().last().and_then(|count| count.parse().ok()).expect("a count")
}

#[test]
fn a_server_counts_no_more_transactions_at_a_time_than_the_limit_and_all_that_clients_made() {
    let server = Server::up(&[]);
    server.sql(TABLES);
    found("more transactions at a time than the limit, without a guard", || {
        work(&server.address());
        (most_seen(&server) > LIMIT).then_some(())
    });
    let proxy = Proxy::start(&server, |plan| {
        plan.limit = LIMIT as usize;
        // No other rule lets anybody in.
        plan.options.liveness_min = Nanos::from_secs(3_600);
        plan.options.lent_max = 0;
        plan.tenure_max = Nanos::from_secs(3_600);
    });
    found("as many transactions at a time as the limit, with a guard", || {
        let (before, lent) = (commits(&server), proxy.guard.census().loans_total);
        work(&proxy.address);
        assert_eq!(commits(&server) - before, CLIENTS * EACH);
        // A statement that a machine at a standstill makes outstay its kind lends its permit; the guard counts these.
        let (most, loans) = (most_seen(&server), proxy.guard.census().loans_total - lent);
        assert!(most <= LIMIT + loans, "{most} at a time, {loans} on loan");
        (most >= LIMIT && loans <= LOANS).then_some(())
    });
    proxy.stop();
}
