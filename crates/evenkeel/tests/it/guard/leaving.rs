//! A client that is killed in any state of the protocol leaves nothing: `/status` says so.

use super::client::{Client, MODERN, packets};
use super::operation::Process;
use super::proxy::eventually;
use super::server::Server;
use std::io::{Read, Write};
use std::net::TcpStream;

/// What is held, as `/status` tells it: running, lent, waiting.
fn held(process: &Process) -> Option<[u64; 3]> {
    let answer = process.get("/status");
    let status: serde_json::Value = serde_json::from_str(answer.split_once("\r\n\r\n")?.1).ok()?;
    Some(["running", "lent", "waiting"].map(|key| status[key].as_u64().unwrap_or(u64::MAX)))
}

/// Greeted, and `length` bytes of an answer on their way.
fn greeted(address: &str, length: usize) -> TcpStream {
    let mut stream = TcpStream::connect(address).expect("the guard listens");
    assert!(stream.read(&mut [0; 1_000]).expect("a greeting") > 0);
    stream.write_all(&packets(1, &[0x0d, 0xa2, 0, 0, 0, 0, 0, 1, 45])[..length]).expect("the guard reads");
    stream
}

fn prepared(client: &mut Client, sql: &str, command: u8, rest: &[u8]) -> Vec<u8> {
    client.command(&[b"\x16", sql.as_bytes()].concat());
    packets(0, &[&[command][..], &client.statement.to_le_bytes(), rest].concat())
}

/// The state that time brings about.
const LENT: &str = "in a transaction that lent its permit";

/// A state in which a client can be killed, and how it gets there.
type State = (&'static str, fn(&mut Client));

const STATES: [State; 14] = [
    ("after its login", |_| ()),
    ("in the middle of a header", |client| client.send_raw(&[9, 0])),
    ("in the middle of a command", |client| client.send_raw(&packets(0, &[3; 50_000])[..20_000])),
    ("while its command runs", |client| drop(client.send(&packets(0, b"\x03SELECT SLEEP(0.1)")))),
    ("while its update runs", |client| {
        client.send(&packets(0, b"\x03UPDATE item SET stock = stock + SLEEP(0.2) WHERE id = 2"));
    }),
    ("in the middle of a preparation", |client| drop(client.send(&packets(0, b"\x16SELECT ?, ?")))),
    ("in the middle of an answer", |client| {
        client.send(&packets(0, b"\x03SELECT REPEAT('x', 1000) FROM seq_1_to_50000"));
    }),
    ("in a transaction", |client| drop(client.query("BEGIN; UPDATE item SET stock = 0 WHERE id = 1"))),
    (LENT, |client| drop(client.query("BEGIN; UPDATE item SET stock = 0 WHERE id = 2"))),
    ("in the middle of a file", |client| {
        client.query("LOAD DATA LOCAL INFILE 'x' INTO TABLE item (name)");
        client.send_raw(&packets(2, &[b'a'; 5_000])[..3_000]);
    }),
    ("in the middle of long data", |client| {
        let piece = prepared(client, "INSERT INTO item (name) VALUES (?)", 0x18, &[b'x'; 50_000]);
        client.send_raw(&piece[..30_000]);
    }),
    ("while it fetches", |client| {
        let execute = prepared(client, "SELECT * FROM item", 0x17, b"\x01\x01\0\0\0");
        client.send(&execute);
        client.replies();
        client.send(&packets(0, &[&[0x1c][..], &client.statement.to_le_bytes(), &[50, 0, 0, 0]].concat()));
    }),
    ("with commands ahead", |client| {
        client.send(
            &[packets(0, b"\x03DO SLEEP(0.05)"), packets(0, b"\x03BEGIN"), packets(0, b"\x0e")].concat(),
        );
    }),
    ("while it changes its user", |client| {
        client.send(&packets(0, b"\x11app\0\0shop\0\x2d\0client_ed25519\0"));
    }),
];

#[test]
fn a_client_killed_in_any_state_leaves_nothing_in_flight_and_nothing_lent() {
    let server = Server::up(&[]);
    let process = Process::start(&server, "controller = 'fixed'\ninitial_limit = 1");
    let empty = |when: &str| eventually(when, || held(&process) == Some([0; 3]));
    for (when, reach) in STATES {
        for resets in [false, true] {
            let mut client = Client::connect(&process.address, MODERN);
            reach(&mut client);
            if when == LENT {
                eventually(when, || held(&process) == Some([0, 1, 0]));
            }
            client.leave(resets);
            empty(when);
        }
    }
    for length in [0, 2, 4, 9] {
        drop(greeted(&process.address, length));
        drop(TcpStream::connect(&process.address).expect("the guard listens"));
    }
    empty("in its login");
    assert_eq!(server.sql("SELECT COUNT(*) FROM shop.item WHERE stock = 0 OR name LIKE 'aaa%'"), "0");
    eventually("the end of all sessions at the server", || {
        server.sql("SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'app'") == "0"
    });
}
