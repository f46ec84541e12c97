//! What a client was told is so: nothing is acknowledged that the server has not acknowledged.

use super::client::{Client, MODERN};
use super::proxy::{Proxy, eventually, signal};
use super::server::Server;
use evenkeel_wire::relay::Reply;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;

const WRITERS: u64 = 4;

/// Writes rows until its connection ends: those that were acknowledged.
pub fn write_rows(
    mut client: Client,
    ids: impl Iterator<Item = u64> + Send + 'static,
    insert: fn(u64) -> String,
    total: Arc<AtomicUsize>,
) -> JoinHandle<BTreeSet<u64>> {
    std::thread::spawn(move || {
        let mut acknowledged = BTreeSet::new();
        for (row, id) in ids.enumerate() {
            let insert = insert(id);
            let sql = if row % 2 == 0 { insert } else { format!("BEGIN; {insert}; COMMIT") };
            match client.tries(&[b"\x03", sql.as_bytes()].concat()).last() {
                Some(Reply::Result { more: false, .. }) => acknowledged.insert(id),
                _ => return acknowledged,
            };
            total.fetch_add(1, Ordering::Relaxed);
        }
        acknowledged
    })
}

fn rows_of(server: &Server) -> BTreeSet<u64> {
    server.sql("SELECT id FROM shop.ledger").lines().map(|id| id.parse().expect("a number")).collect()
}

#[test]
fn rows_that_were_acknowledged_are_there_after_the_server_or_the_guard_was_killed() {
    let mut server = Server::up(&[("innodb_flush_log_at_trx_commit", "1")]);
    server.sql("CREATE TABLE shop.ledger (id BIGINT PRIMARY KEY)");
    for kills_server in [true, false] {
        server.sql("DELETE FROM shop.ledger");
        let proxy = Proxy::start(&server, |plan| plan.limit = 2);
        let total = Arc::new(AtomicUsize::new(0));
        // All log in before the first writes: nobody is still at the door when the server dies.
        let clients: Vec<_> = (0..WRITERS).map(|_| Client::connect(&proxy.address, MODERN)).collect();
        let writes = |(writer, client): (u64, Client)| {
            let ids = (writer..).step_by(WRITERS as usize);
            write_rows(client, ids, |id| format!("INSERT INTO ledger VALUES ({id})"), total.clone())
        };
        let writers: Vec<_> = (0..).zip(clients).map(writes).collect();
        eventually("two hundred rows", || total.load(Ordering::Relaxed) >= 200);
        if kills_server {
            signal("-KILL", server.sandbox.pid());
        } else {
            // Every connection is cut in the middle of what it does.
            drop(proxy.guard);
        }
        let acknowledged: BTreeSet<u64> =
            writers.into_iter().flat_map(|writer| writer.join().expect("a writer ends")).collect();
        if kills_server {
            server.sandbox.restart(&Default::default(), &Default::default(), &mut |_| {}).expect("a server");
        }
        let rows = rows_of(&server);
        assert!(acknowledged.len() >= 200);
        let lost: Vec<_> = acknowledged.difference(&rows).collect();
        assert!(lost.is_empty(), "{lost:?} were acknowledged and are lost");
        // Of each writer one row may have been written whose acknowledgement got lost.
        assert!(
            rows.len() - acknowledged.len() <= WRITERS as usize,
            "{} and {}",
            rows.len(),
            acknowledged.len()
        );
    }
}
