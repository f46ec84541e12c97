//! Clients, servers and guards that go away in the middle: nothing stays held, and nothing is lost that was acknowledged.

use super::client::{Client, MODERN, packets};
use super::operation::Process;
use super::server::{Proxy, Server, eventually, failure, signal, tcp, unix};
use evenkeel_core::Nanos;
use evenkeel_core::admission::Options;
use evenkeel_guard::proxy::{Guard, Plan};
use evenkeel_haul::ledger::{self, Ledger, Writing};
use evenkeel_os::Stop;
use evenkeel_site::server::{Control, Target};
use evenkeel_wire::relay::Reply;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

/// One permit; neither the liveness rule nor a transaction that makes room hides that it was lost.
pub fn one(plan: &mut Plan) {
    const NEVER: Nanos = Nanos::from_secs(3_600);
    plan.limit = 1;
    plan.options = Options { liveness_min: NEVER, long_min: NEVER, ..Options::default() };
}

#[test]
fn clients_that_leave_the_queue_leave_it_at_once() {
    let server = Server::up(&[]);
    let proxy = Proxy::start(&server, one);
    let mut first = Client::connect(&proxy.address, MODERN);
    first.query("BEGIN; SELECT * FROM item WHERE id = 1 FOR UPDATE");
    let mut waiting: Vec<Client> = (0..5).map(|_| Client::connect(&proxy.address, MODERN)).collect();
    for client in &mut waiting {
        client.send(&packets(0, b"\x03UPDATE item SET stock = -1 WHERE id = 3"));
    }
    eventually("five in the queue", || proxy.guard.census().waiting() == 5);
    waiting.truncate(1);
    eventually("one in the queue", || proxy.guard.census().waiting() == 1);
    assert_eq!(server.sql("SELECT stock FROM shop.item WHERE id = 3"), "3");
    first.query("COMMIT");
    assert!(matches!(waiting[0].replies()[..], [Reply::Result { affected: 1, .. }]));
    proxy.becomes_empty();
    proxy.stop();
}

#[test]
fn a_long_wait_is_refused_in_mysqls_words_and_the_session_lives_on() {
    let server = Server::up(&[]);
    let proxy = Proxy::start(&server, |plan| {
        one(plan);
        plan.options.wait_max = Some(Nanos::from_millis(200));
    });
    let mut first = Client::connect(&proxy.address, MODERN);
    first.query("BEGIN; SELECT * FROM item WHERE id = 1 FOR UPDATE");
    let mut second = Client::connect(&proxy.address, MODERN);
    assert_eq!(second.query("SELECT id FROM item WHERE id = 1"), [Reply::Error { code: 1637 }]);
    second.expect_nothing_left("a refusal");
    let told = failure(&proxy.mariadb(&[], "SELECT id FROM shop.item WHERE id = 1"));
    assert!(told.contains("ERROR 1637 (40001)") && told.contains("waited 0.200 s"), "{told}");
    first.query("COMMIT");
    // The next one must not have to wait again.
    proxy.becomes_empty();
    assert!(matches!(second.query("SELECT id FROM item WHERE id = 1")[..], [Reply::Result { rows: 1, .. }]));
    proxy.stop();
}

#[test]
fn a_server_does_not_close_a_session_that_waits_in_the_queue() {
    let server = Server::up(&[("wait_timeout", "2")]);
    let proxy = Proxy::start(&server, one);
    let mut second = Client::connect(&proxy.address, MODERN);
    second.query("UPDATE item SET stock = -1 WHERE id <= 3");
    let mut first = Client::connect(&proxy.address, MODERN);
    first.query("SET wait_timeout = 600");
    first.query("BEGIN; SELECT * FROM item WHERE id = 9 FOR UPDATE");
    // What keeps the server awake changes nothing that a session could see.
    second.send(&packets(0, b"\x03UPDATE item SET stock = 0 WHERE id = 3 AND ROW_COUNT() = 3"));
    eventually("one in the queue", || proxy.guard.census().waiting() == 1);
    std::thread::sleep(Duration::from_secs(5));
    first.query("COMMIT");
    assert!(matches!(second.replies()[..], [Reply::Result { affected: 1, .. }]));
    second.expect_nothing_left("a wait");
    proxy.becomes_empty();
    proxy.stop();
}

#[test]
fn a_server_that_is_killed_ends_its_clients_and_those_in_the_queue_are_told() {
    let server = Server::up(&[]);
    let proxy = Proxy::start(&server, one);
    let mut running = Client::connect(&proxy.address, MODERN);
    running.query("BEGIN; SELECT * FROM item WHERE id = 1 FOR UPDATE");
    let mut idle = Client::connect(&proxy.address, MODERN);
    let mut waiting = Client::connect(&proxy.address, MODERN);
    waiting.send(&packets(0, b"\x03SELECT id FROM item"));
    eventually("one in the queue", || proxy.guard.census().waiting() == 1);
    signal("-KILL", server.sandbox.pid());
    assert_eq!(waiting.replies(), [Reply::Error { code: 1053 }]);
    assert!(running.is_ended() && idle.is_ended() && waiting.is_ended());
    proxy.becomes_empty();
    proxy.all_end();
    let told = failure(&proxy.mariadb(&[], "SELECT 1"));
    assert!(told.contains("1429") && told.contains("cannot connect to the server"), "{told}");
    proxy.stop();
}

#[test]
fn a_permit_is_not_given_back_before_the_server_has_acknowledged_the_reset() {
    let server = Server::up(&[]);
    let proxy = Proxy::start(&server, one);
    let mut first = Client::connect(&proxy.address, MODERN);
    let mut second = Client::connect(&proxy.address, MODERN);
    first.query("BEGIN; UPDATE item SET stock = -5 WHERE id = 5");
    signal("-STOP", server.sandbox.pid());
    drop(first);
    second.send(&packets(0, b"\x03SELECT stock FROM item WHERE id = 5 FOR UPDATE"));
    eventually("one in the queue", || proxy.guard.census().waiting() == 1);
    std::thread::sleep(Duration::from_millis(300));
    let census = proxy.guard.census();
    signal("-CONT", server.sandbox.pid());
    assert_eq!((census.running(), census.waiting()), (1, 1));
    assert!(matches!(second.replies()[..], [Reply::Result { rows: 1, .. }]));
    assert_eq!(server.sql("SELECT stock FROM shop.item WHERE id = 5"), "5");
    assert_eq!(proxy.guard.stats().resets.get(), 1);
    proxy.becomes_empty();
    proxy.stop();
}

#[test]
fn a_server_that_speaks_something_else_ends_only_its_own_connection() {
    use std::io::Write;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let backend = listener.local_addr().expect("an address").to_string();
    let answers: [&[u8]; 4] =
        [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x03\0\0\0\x09x\0", b"\xff\xff\xff\0", b""];
    let server = std::thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().expect("a connection");
            stream.write_all(answer).expect("the guard reads");
        }
    });
    let proxy = Proxy::of(Plan::new(tcp("127.0.0.1:0"), tcp(&backend)));
    for _ in answers {
        let told = failure(&proxy.mariadb(&["--connect-timeout=60"], "SELECT 1"));
        assert!(told.contains("evenkeel guard"), "{told}");
    }
    server.join().expect("the server ends");
    proxy.stop();
}

#[test]
fn a_port_that_is_taken_is_refused_and_a_socket_lets_every_user_in() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("an address").to_string();
    let backend = tcp("127.0.0.1:1");
    let refused = Guard::start(Plan::new(tcp(&address), backend.clone())).err().expect("a refusal");
    assert!(refused.to_string().contains(&format!("cannot listen at {address}")), "{refused}");
    let home = tempfile::tempdir().expect("a temporary directory");
    let path = home.path().join("socket");
    let _guard = Guard::start(Plan::new(unix(&path), backend)).expect("a guard starts");
    let mode = std::fs::metadata(&path).expect("a socket").permissions().mode();
    assert_eq!(mode & 0o777, 0o777, "every user may connect, whatever the umask");
}

/// What is held, as `/status` tells it: running in both lanes, aside, waiting.
fn held(process: &Process) -> Option<[u64; 4]> {
    let answer = process.get("/status");
    let status: serde_json::Value = serde_json::from_str(answer.split_once("\r\n\r\n")?.1).ok()?;
    Some(["running", "long_running", "aside", "waiting"].map(|key| status[key].as_u64().unwrap_or(u64::MAX)))
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
const ASIDE: &str = "in a transaction that stands aside";

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
    (ASIDE, |client| drop(client.query("BEGIN; UPDATE item SET stock = 0 WHERE id = 2"))),
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
fn a_client_killed_in_any_state_leaves_nothing_in_flight_and_nothing_aside() {
    let server = Server::up(&[]);
    let process = Process::start(&server, "controller = 'fixed'\ninitial_limit = 1");
    let empty = |when: &str| eventually(when, || held(&process) == Some([0; 4]));
    for (when, reach) in STATES {
        for resets in [false, true] {
            let mut client = Client::connect(&process.address, MODERN);
            reach(&mut client);
            if when == ASIDE {
                eventually(when, || held(&process) == Some([0, 0, 1, 0]));
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

#[test]
fn rows_that_were_acknowledged_are_there_after_the_server_or_the_guard_was_killed() {
    let mut server = Server::up(&[("innodb_flush_log_at_trx_commit", "1")]);
    for kills_server in [true, false] {
        let proxy = Proxy::start(&server, |plan| plan.limit = 2);
        let file = server.file(if kills_server { "server.ledger" } else { "guard.ledger" });
        let target = |address: &str| Target::parse(&format!("mysql://app@{address}/shop")).expect("a URL");
        let plan =
            ledger::Plan { targets: vec![target(&proxy.address)], rate: 2_000.0, ..Default::default() };
        let writing = Writing::start(&plan, &file, &Stop::default()).expect("writers");
        eventually("two hundred rows", || writing.written().acknowledged >= 200);
        if kills_server {
            signal("-KILL", server.sandbox.pid());
        } else {
            // Every connection is cut in the middle of what it does.
            drop(proxy.guard);
        }
        writing.end().expect("a ledger");
        if kills_server {
            server.sandbox.restart(&Default::default(), &Default::default(), &mut |_| {}).expect("a server");
        }
        let mut control = Control::connect(&target(&server.address())).expect("a server");
        let account = ledger::audit(&mut control, &Ledger::read(&file).expect("a ledger")).expect("a table");
        assert!(account.is_right() && account.acknowledged >= 200, "{account:?}");
    }
}

#[test]
fn sessions_at_a_server_that_the_operator_has_left_stay_there_and_take_no_place_at_the_new_one() {
    let (old, new) = (Server::up(&[]), Server::up(&[]));
    let proxy = Proxy::start(&old, one);
    let server = |client: &mut Client| {
        client.query("UPDATE shop.item SET stock = stock + 1 WHERE id = 1");
        [&old, &new].map(|server| server.sql("SELECT stock FROM shop.item WHERE id = 1"))
    };
    let mut before = Client::connect(&proxy.address, MODERN);
    let [at_old, at_new] = server(&mut before);
    proxy.guard.lead_to(&tcp(&new.address())).expect("an address");
    let mut after = Client::connect(&proxy.address, MODERN);
    let found = server(&mut after);
    assert!(found[0] == at_old && found[1] != at_new, "{found:?}: new clients are at the new server");
    let found = server(&mut before);
    assert!(found[0] != at_old, "{found:?}: the old session is at the old server");
    // It runs for some tenths of a second, and the gate does not know of it.
    before.send(&packets(0, b"\x03SELECT BENCHMARK(3000000, MD5(name)) FROM shop.item WHERE id = 1"));
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(proxy.guard.census().running(), 0);
    before.replies();
}
