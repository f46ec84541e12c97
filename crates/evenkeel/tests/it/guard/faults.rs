//! Clients and servers that go away in the middle.

use super::client::{Client, MODERN, packets};
use super::proxy::{Proxy, eventually, failure, signal, tcp, unix};
use super::server::Server;
use evenkeel_core::Nanos;
use evenkeel_guard::admission::Options;
use evenkeel_guard::proxy::{Guard, Plan};
use evenkeel_wire::relay::Reply;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

/// One permit; neither the liveness rule nor a transaction that lends it hides that it was lost.
pub fn one(plan: &mut Plan) {
    const NEVER: Nanos = Nanos::from_secs(3_600);
    plan.limit = 1;
    (plan.lend_after, plan.tenure_max) = (NEVER, NEVER);
    plan.options = Options { liveness_min: NEVER, ..Options::default() };
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
    eventually("five in the queue", || proxy.guard.census().waiting == 5);
    waiting.truncate(1);
    eventually("one in the queue", || proxy.guard.census().waiting == 1);
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
    assert_eq!(second.query("SELECT 1"), [Reply::Error { code: 1637 }]);
    second.expect_nothing_left("a refusal");
    let told = failure(&proxy.mariadb(&[], "SELECT 1"));
    assert!(told.contains("ERROR 1637 (40001)") && told.contains("waited 0.200 s"), "{told}");
    first.query("COMMIT");
    // The next one must not have to wait again.
    proxy.becomes_empty();
    assert!(matches!(second.query("SELECT 1")[..], [Reply::Result { rows: 1, .. }]));
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
    waiting.send(&packets(0, b"\x03SELECT 1"));
    eventually("one in the queue", || proxy.guard.census().waiting == 1);
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
    eventually("one in the queue", || proxy.guard.census().waiting == 1);
    std::thread::sleep(Duration::from_millis(300));
    let census = proxy.guard.census();
    signal("-CONT", server.sandbox.pid());
    assert_eq!((census.running, census.waiting), (1, 1));
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
