//! What a client was told is so: nothing is acknowledged that the server has not acknowledged.

use super::client::{Client, MODERN};
use super::proxy::{Proxy, eventually, signal, tcp};
use super::server::Server;
use evenkeel_core::Nanos;
use evenkeel_guard::proxy::Plan;
use evenkeel_wire::relay::Reply;
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::thread::JoinHandle;

const WRITERS: u64 = 4;

/// Writes rows until its connection ends: those that were acknowledged.
fn write_rows(address: String, writer: u64, total: Arc<AtomicUsize>) -> JoinHandle<BTreeSet<u64>> {
    std::thread::spawn(move || {
        let mut client = Client::connect(&address, MODERN);
        let mut acknowledged = BTreeSet::new();
        for row in 0.. {
            let id = row * WRITERS + writer;
            let insert = format!("INSERT INTO ledger VALUES ({id})");
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
        let writers: Vec<_> =
            (0..WRITERS).map(|writer| write_rows(proxy.address.clone(), writer, total.clone())).collect();
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

/// Passes bytes between the guard and the server, and cuts the connection behind a given byte of the server's.
struct Cutter {
    address: String,
    /// Bytes of the server's that still pass.
    left: Arc<AtomicI64>,
}

impl Cutter {
    fn start(server: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address").to_string();
        let left = Arc::new(AtomicI64::new(i64::MAX));
        let (server, budget) = (server.to_owned(), left.clone());
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let server = TcpStream::connect(&server).expect("the server listens");
                let (from, to) =
                    (client.try_clone().expect("a socket"), server.try_clone().expect("a socket"));
                std::thread::spawn(move || pass(from, to, &AtomicI64::new(i64::MAX)));
                let budget = budget.clone();
                std::thread::spawn(move || pass(server, client, &budget));
            }
        });
        Self { address, left }
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, left: &AtomicI64) {
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        let may = left.fetch_sub(count as i64, Ordering::Relaxed).clamp(0, count as i64) as usize;
        if to.write_all(&buffer[..may]).is_err() || may < count {
            break;
        }
    }
    // Both directions end; either may have ended already.
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

#[test]
fn a_connection_cut_in_the_middle_of_a_packet_acknowledges_nothing() {
    let server = Server::up(&[]);
    let cutter = Cutter::start(&server.address());
    let mut plan = Plan::new(tcp("127.0.0.1:0"), tcp(&cutter.address));
    (plan.limit, plan.options.liveness_min) = (1, Nanos::from_secs(3_600));
    let proxy = Proxy::of(plan);
    // An OK packet without words has eleven bytes; rows are cut somewhere in the middle.
    let insert = b"\x03INSERT INTO item (name) VALUES ('cut')";
    let cases = (0..11).map(|bytes| (&insert[..], bytes));
    let rows =
        [5, 1_000, 100_001].map(|bytes| (&b"\x03SELECT REPEAT('x', 1000) FROM seq_1_to_1000"[..], bytes));
    for (command, bytes) in cases.chain(rows) {
        cutter.left.store(i64::MAX, Ordering::Relaxed);
        let mut client = Client::connect(&proxy.address, MODERN);
        cutter.left.store(bytes, Ordering::Relaxed);
        assert_eq!(client.tries(command), [], "cut behind {bytes} bytes");
        assert!(client.is_ended());
        proxy.becomes_empty();
    }
    cutter.left.store(i64::MAX, Ordering::Relaxed);
    assert_eq!(proxy.rows(&[], "SELECT 1"), "1");
    proxy.stop();
}
