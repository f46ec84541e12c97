//! What a client gets through the guard is, byte for byte, what it gets directly.
//!
//! Masked are: connection ids, scrambles, what a greeting may not offer through a guard, the server's own
//! statistics and list of sessions, and reports of progress, which come by time.

use super::client::{Client, MARIADB, MODERN, PLAIN};
use super::script;
use super::server::{Proxy, Server, eventually, tcp};
use evenkeel_guard::proxy::Plan;
use evenkeel_wire::relay::hello::ServerHello;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;

/// Set to a folder, it is where what passes is written: the corpus that the readers of `wire` are tested and fuzzed with.
const CAPTURE: &str = "EVENKEEL_CAPTURE";

/// Puts the tables back to what they were, so that a second run meets the same rows and numbers.
const AGAIN: &str = "\
TRUNCATE shop.item;
INSERT INTO shop.item (name, note, stock) SELECT CONCAT('item ', seq), '{}', seq FROM mysql.seq_1_to_100;
ANALYZE TABLE shop.item";

type Packet = (u8, Vec<u8>);

/// What was sent, and what came of it.
#[derive(PartialEq)]
struct Exchange {
    sent: Vec<u8>,
    received: Vec<Packet>,
}

fn split(mut bytes: &[u8]) -> Vec<Packet> {
    let mut found = Vec::new();
    while let [a, b, c, number, rest @ ..] = bytes {
        let (payload, later) = rest.split_at(u32::from_le_bytes([*a, *b, *c, 0]) as usize);
        found.push((*number, payload.to_vec()));
        bytes = later;
    }
    found
}

/// A record of [`Client`] as exchanges, masked.
fn exchanges(record: &[u8]) -> Vec<Exchange> {
    let (mut rest, mut found) = (&record[8..], Vec::<(Vec<u8>, Vec<u8>)>::new());
    while let [direction, a, b, c, d, later @ ..] = rest {
        let (bytes, later) = later.split_at(u32::from_le_bytes([*a, *b, *c, *d]) as usize);
        rest = later;
        match (direction, found.last_mut()) {
            (0, Some((sent, received))) if received.is_empty() => sent.extend_from_slice(bytes),
            (0, _) => found.push((bytes.to_vec(), Vec::new())),
            (_, Some((_, received))) => received.extend_from_slice(bytes),
            (_, None) => panic!("an answer before a command"),
        }
    }
    found.into_iter().map(|(sent, received)| masked(sent, split(&received))).collect()
}

fn masked(sent: Vec<u8>, mut received: Vec<Packet>) -> Exchange {
    let is_progress = |(_, payload): &Packet| payload.starts_with(b"\xff\xff\xff");
    let reports = received.iter().any(is_progress);
    received.retain(|packet| !is_progress(packet));
    // How many sessions there are, and their ids, ports and times, depend on who else comes and goes. What stays is how
    // many columns there are, and their definitions, which begin with their catalogue.
    if sent.get(4) == Some(&0x0a) {
        let columns = received.first().cloned();
        received.retain(|(_, payload)| payload.starts_with(b"\x03def"));
        received.extend(columns);
    }
    for (number, payload) in &mut received {
        if reports {
            *number = 0;
        }
        if payload.starts_with(b"Uptime: ") {
            payload.truncate(8);
        }
        if payload.starts_with(b"\xfemysql_native_password\0") || payload.starts_with(b"\xfeclient_ed25519\0")
        {
            let name = payload.iter().position(|byte| *byte == 0).unwrap_or_default();
            payload.truncate(name);
        }
    }
    Exchange { sent, received }
}

fn assert_same(direct: &Client, guarded: &Client, case: &str) {
    assert_eq!(direct.record[..8], guarded.record[..8], "capabilities of {case}");
    let (direct, guarded) = (exchanges(&direct.record), exchanges(&guarded.record));
    for (index, (one, other)) in direct.iter().zip(&guarded).enumerate() {
        let sent = String::from_utf8_lossy(&one.sent[..one.sent.len().min(80)]).into_owned();
        assert!(one.sent == other.sent, "{case}: command {index} itself differs: {sent:?}");
        for (one, other) in one.received.iter().zip(&other.received) {
            let short =
                |packet: &Packet| (packet.0, packet.1.len(), packet.1[..packet.1.len().min(200)].to_vec());
            assert!(one == other, "{case}: {sent:?}: {:?} directly, {:?} through", short(one), short(other));
        }
        let (one, other) = (one.received.len(), other.received.len());
        assert_eq!(one, other, "{case}: packets of the answer to {sent:?}");
    }
    assert!(direct.len() == guarded.len() && direct.len() > 1, "{case}: {} exchanges", direct.len());
}

/// A greeting without its connection id and scramble.
fn anonymous(mut greeting: Vec<u8>) -> Vec<u8> {
    let id = greeting.iter().position(|byte| *byte == 0).expect("a version") + 1;
    greeting[id..id + 12].fill(0);
    // Behind capabilities, collation, status, the nonce's length and ten bytes.
    greeting[id + 31..id + 43].fill(0);
    greeting
}

fn assert_same_login(direct: &Client, guarded: &Client) {
    let mut offered = ServerHello::parse(direct.greeting.clone()).expect("a greeting");
    offered.restrict(false);
    assert_eq!(anonymous(offered.payload().to_vec()), anonymous(guarded.greeting.clone()));
    assert_eq!(direct.accepted, guarded.accepted);
}

#[test]
fn everything_a_client_may_say_is_answered_byte_for_byte_also_at_limit_one() {
    // Threads that are kept go on with the numbers of their statements.
    let server = Server::up(&[("thread_cache_size", "0")]);
    let say_all = |address: &str, (name, capabilities): (&str, u64)| {
        server.sql(AGAIN);
        let mut client = Client::connect(address, capabilities);
        script::run(&mut client, name == "mariadb");
        client
    };
    let guards =
        [usize::MAX, 1].map(|limit| Proxy::start(&server, |plan| (plan.limit, plan.threads) = (limit, 2)));
    for dialect in [("plain", PLAIN), ("modern", MODERN), ("mariadb", MARIADB)] {
        let direct = say_all(&server.address(), dialect);
        if let Some(folder) = std::env::var_os(CAPTURE) {
            let path = std::path::Path::new(&folder).join(dialect.0);
            std::fs::write(path, &direct.record).expect("the corpus can be written");
        }
        for guard in &guards {
            let guarded = say_all(&guard.address, dialect);
            assert_same_login(&direct, &guarded);
            assert_same(&direct, &guarded, dialect.0);
            guard.becomes_empty();
        }
    }
    for guard in guards {
        assert_eq!(guard.guard.stats().malformed.get(), 0);
        guard.stop();
    }
}

/// Packets in their order: whether it is the server's, and its bytes.
fn packets(mut bytes: &[u8]) -> Vec<(bool, Vec<u8>)> {
    let mut found = Vec::new();
    // The client's capabilities come first.
    bytes = &bytes[8..];
    while let [direction, a, b, c, d, rest @ ..] = bytes {
        let (packet, later) = rest.split_at(u32::from_le_bytes([*a, *b, *c, *d]) as usize);
        found.push((*direction != 0, packet.to_vec()));
        bytes = later;
    }
    found
}

/// Says what one side said, and hears of the other what it heard.
fn play(mut stream: TcpStream, script: &[(bool, Vec<u8>)], as_server: bool) {
    for (of_server, packet) in script {
        if *of_server == as_server {
            stream.write_all(packet).expect("the other side reads");
            continue;
        }
        let mut heard = vec![0; packet.len()];
        stream.read_exact(&mut heard).expect("the other side speaks");
        assert_eq!(&heard, packet, "heard as server: {as_server}");
    }
    // The client leaves first.
    if as_server {
        assert!(matches!(stream.read(&mut [0; 8]), Ok(0) | Err(_)));
    }
}

fn server(script: Vec<(bool, Vec<u8>)>) -> (String, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address").to_string();
    (address, std::thread::spawn(move || play(listener.accept().expect("a connection").0, &script, true)))
}

/// The greeting as a guard without a certificate passes it on.
fn restricted(packet: &[u8]) -> Vec<u8> {
    let mut hello = ServerHello::parse(packet[4..].to_vec()).expect("a greeting");
    hello.restrict(false);
    [&packet[..4], hello.payload()].concat()
}

#[test]
fn logins_of_a_mysql_server_pass_packet_for_packet() {
    let logins: [(&[u8], u64); 3] = [
        (include_bytes!("../../../../wire/tests/relay/corpus/mysql-login-fast"), 1),
        (include_bytes!("../../../../wire/tests/relay/corpus/mysql-login-rsa"), 1),
        (include_bytes!("../../../../wire/tests/relay/corpus/mysql-login-refused"), 0),
    ];
    for (bytes, accepted) in logins {
        let mut script = packets(bytes);
        let (address, served) = server(script.clone());
        let proxy = Proxy::of(Plan::new(tcp("127.0.0.1:0"), tcp(&address)));
        script[0].1 = restricted(&script[0].1);
        play(TcpStream::connect(&proxy.address).expect("the guard listens"), &script, false);
        served.join().expect("the server heard what was said");
        assert_eq!(proxy.guard.stats().logins.get(), accepted);
        eventually("the end", || proxy.guard.stats().closed.get() == 1);
        proxy.stop();
    }
}
