//! A replica whose source is the guard.

use super::proxy::{Proxy, eventually};
use super::server::Server;

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
    assert_eq!(proxy.guard.census().running, 0, "a dump holds no permit");

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
