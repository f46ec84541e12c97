//! What a guard does to a server and to its replica, by what the server counts itself.

use super::client::{Client, MODERN};
use super::server::{Proxy, Server, eventually};
use crate::cli::found;
use evenkeel_core::Nanos;
use evenkeel_wire::relay::Reply;
use std::thread;

const CLIENTS: u64 = 8;
const LIMIT: u64 = 2;
/// Transactions of each client in one go.
const EACH: u64 = 25;

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
        plan.options.long_min = Nanos::from_secs(3_600);
    });
    found("as many transactions at a time as the limit, with a guard", || {
        let before = commits(&server);
        work(&proxy.address);
        assert_eq!(commits(&server) - before, CLIENTS * EACH);
        let most = most_seen(&server);
        assert!(most <= LIMIT, "{most} at a time");
        (most == LIMIT).then_some(())
    });
    proxy.stop();
}

const CHECKSUM: &str = "CHECKSUM TABLE shop.item";

/// Follows `port` from where the source is now, with acknowledgements (semi-synchronous replication), which
/// the source waits for however slow the replica is.
fn follow(source: &Server, replica: &Server, port: &str) {
    source.sql(
        "CREATE USER replica@'%' IDENTIFIED BY 'secret'; GRANT REPLICATION SLAVE ON *.* TO replica@'%'; \
         SET GLOBAL rpl_semi_sync_master_enabled = 1, GLOBAL rpl_semi_sync_master_timeout = 600000",
    );
    let position = source.sql("SHOW MASTER STATUS");
    let [file, at, ..] = position.split('\t').collect::<Vec<_>>()[..] else { panic!("{position:?}") };
    replica.sql(&format!(
        "SET GLOBAL rpl_semi_sync_slave_enabled = 1; CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = {port}, \
         MASTER_USER = 'replica', MASTER_PASSWORD = 'secret', MASTER_LOG_FILE = '{file}', MASTER_LOG_POS = {at}, \
         MASTER_CONNECT_RETRY = 1; START SLAVE"
    ));
    eventually("a replica that the source knows", || status(source, "Rpl_semi_sync_master_clients") == 1);
}

fn status(server: &Server, name: &str) -> u64 {
    let row = server.sql(&format!("SHOW GLOBAL STATUS LIKE '{name}'"));
    row.rsplit('\t').next().and_then(|value| value.parse().ok()).unwrap_or_default()
}

#[test]
fn a_replica_follows_through_the_guard_and_takes_no_permit() {
    let source = Server::up(&[("log_bin", "changes"), ("server_id", "7"), ("binlog_format", "ROW")]);
    let replica = Server::up(&[("server_id", "8")]);
    let proxy = Proxy::start(&source, |plan| plan.limit = 1);
    let port = proxy.address.rsplit(':').next().expect("a port");
    follow(&source, &replica, port);
    assert_eq!(proxy.guard.census().running(), 0, "a dump holds no permit");

    source.sql("INSERT INTO shop.item (name) SELECT CONCAT('direct ', seq) FROM mysql.seq_1_to_500");
    proxy.rows(&[], "INSERT INTO shop.item (name, note) VALUES ('through', '[]'), ('guard', NULL)");
    proxy
        .rows(&[], "BEGIN; UPDATE shop.item SET stock = id * 2; DELETE FROM shop.item WHERE id = 50; COMMIT");
    // More than one packet.
    proxy.rows(
        &[],
        "CREATE TABLE shop.large (b LONGBLOB); INSERT INTO shop.large VALUES (REPEAT('large', 4000000))",
    );
    let wanted = source.sql(CHECKSUM);
    eventually("the same rows", || replica.sql(CHECKSUM) == wanted);
    let large = "CHECKSUM TABLE shop.large";
    eventually("the large row", || replica.sql(large) == source.sql(large));
    assert!(status(&source, "Rpl_semi_sync_master_yes_tx") > 0, "nothing was acknowledged");
    let log = replica.sql("SHOW SLAVE STATUS");
    assert!(!log.contains("error"), "{log}");

    // A dump never ends by itself: a guard that stops does not wait for it, and counts it as no loss.
    proxy.stop_in_order();
    replica.sql("STOP SLAVE");
}
