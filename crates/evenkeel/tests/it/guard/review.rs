//! What an outside review got past the guard, each against a real server.

use super::client::{Client, MODERN, packets};
use super::faults::one;
use super::server::{Proxy, Server, eventually, failure, unix};
use evenkeel_core::Nanos;
use evenkeel_wire::relay::Reply;
use std::io::{Read, Write};
use std::net::TcpStream;

fn query(sql: &str) -> Vec<u8> {
    packets(0, &[b"\x03", sql.as_bytes()].concat())
}

/// The answer to a greeting.
fn hello(plugin: &str) -> Vec<u8> {
    let account = format!("app\0\0shop\0{plugin}\0");
    [&(MODERN as u32).to_le_bytes()[..], &[0, 0, 0, 64, 45], &[0; 23], account.as_bytes()].concat()
}

fn last_words(stream: &mut TcpStream) -> String {
    let mut said = Vec::new();
    // One that resets the connection behind its last words has said them.
    let _ = stream.read_to_end(&mut said);
    String::from_utf8_lossy(&said).into_owned()
}

#[test]
fn a_change_of_user_behind_other_commands_is_checked_like_any_other() {
    let server = Server::up(&[]);
    server.sql("CREATE OR REPLACE USER root@localhost IDENTIFIED VIA unix_socket; GRANT ALL ON *.* TO root@localhost");
    for ahead in [&b"\x02nowhere"[..], b"\x0e", b"\x03SELECT 1"] {
        let proxy = Proxy::start(&server, |plan| plan.backend = unix(server.socket()));
        let mut client = Client::connect(&proxy.address, MODERN);
        let attack = [
            packets(0, ahead),
            packets(0, b"\x11root\0\0shop\0\x2d\0mysql_native_password\0"),
            packets(1, b"12345678901234567890"),
            query("UPDATE shop.item SET stock = -1 WHERE id = 1"),
        ];
        client.send_raw(&attack.concat());
        proxy.all_end();
        assert_eq!(server.sql("SELECT stock FROM shop.item WHERE id = 1"), "1", "behind {ahead:?}");
        proxy.stop();
    }
}

#[test]
fn much_behind_both_packets_of_a_login_ends_nobody_else() {
    let server = Server::up(&[]);
    let proxy = Proxy::start(&server, |_| ());
    let mut other = Client::connect(&proxy.address, MODERN);
    let mut stream = TcpStream::connect(&proxy.address).expect("the guard listens");
    assert!(stream.read(&mut [0; 1_000]).expect("a greeting") > 0);
    let hello = hello("client_ed25519");
    let junk = vec![0; 60_000];
    stream.write_all(&[packets(1, &hello), junk.clone()].concat()).expect("the guard reads");
    // The server asks for its own plugin; the answer is as wrong as what stands behind it.
    let mut asked = [0; 1_000];
    assert!(stream.read(&mut asked).expect("a question") > 5 && asked[4] == 0xfe, "{asked:?}");
    let _ = stream.write_all(&[packets(3, &[7; 64]), junk].concat());
    last_words(&mut stream);
    assert!(matches!(other.query("SELECT 1")[..], [Reply::Result { rows: 1, .. }]));
    assert_eq!((proxy.rows(&[], "SELECT 2"), proxy.guard.stats().panics.get()), ("2".to_owned(), 0));
    proxy.stop();
}

#[test]
fn a_login_that_takes_too_long_is_ended_with_words() {
    let server = Server::up(&[]);
    let proxy = Proxy::start(&server, |plan| plan.login_max = Nanos::from_millis(300));
    for sent in [&b""[..], b"\x20\0\0\x01half"] {
        let mut silent = TcpStream::connect(&proxy.address).expect("the guard listens");
        silent.write_all(sent).expect("the guard reads");
        let words = last_words(&mut silent);
        assert!(words.contains("login took too long"), "{words:?}");
    }
    assert_eq!(proxy.guard.stats().login_timeouts.get(), 2);
    proxy.stop();
}

#[test]
fn a_client_too_many_is_told_so_and_a_login_that_hangs_gives_way() {
    let server = Server::up(&[]);
    let proxy = Proxy::start(&server, |plan| {
        plan.clients_max = Some(1);
        plan.login_max = Nanos::from_secs(3_600);
    });
    let first = Client::connect(&proxy.address, MODERN);
    let refused = failure(&proxy.mariadb(&[], "SELECT 1"));
    assert!(refused.contains("1040") && refused.contains("too many clients"), "{refused}");
    eventually("the count", || proxy.guard.stats().clients_refused.get() >= 1);
    drop(first);
    proxy.all_end();
    let _silent = TcpStream::connect(&proxy.address).expect("the guard listens");
    // It gives way as soon as it has had a second.
    eventually("room for an honest client", || proxy.mariadb(&[], "SELECT 1").status.success());
    proxy.stop();
}

#[test]
fn what_follows_a_refused_stream_command_needs_permits_as_before() {
    let server = Server::up(&[]);
    server.sql("CREATE USER low@'%' IDENTIFIED VIA mysql_native_password; GRANT SELECT ON shop.* TO low@'%'");
    let proxy = Proxy::start(&server, one);
    let mut first = Client::connect(&proxy.address, MODERN);
    first.query("BEGIN; SELECT * FROM item WHERE id = 1 FOR UPDATE");
    for stream in [
        &b"\x12\x04\0\0\0\0\0\x4d\0\0\0log.000001"[..],
        b"\x13\x04shop\x04item",
        b"\x1e\0\0\x4d\0\0\0\0\0\0\0",
        b"\x20",
        b"\x21\0\0\0\0\0\0\0\0",
    ] {
        let mut client = Client::connect(&proxy.address, MODERN);
        client.change_user("low");
        client.send_raw(&[packets(0, stream), query("SELECT id FROM shop.item")].concat());
        eventually("one in the queue", || proxy.guard.census().waiting() == 1);
        drop(client);
        eventually("an empty queue", || proxy.guard.census().waiting() == 0);
    }
    proxy.stop();
}

#[test]
fn who_does_not_use_the_server_does_not_close_the_gate() {
    let server = Server::up(&[]);
    let proxy = Proxy::start(&server, |plan| plan.limit = 1);
    let mut sleepers: Vec<Client> = (0..3).map(|_| Client::connect(&proxy.address, MODERN)).collect();
    for sleeper in &mut sleepers {
        sleeper.send(&query("SELECT SLEEP(600)"));
    }
    eventually("three that sleep", || proxy.guard.census().aside == 3);
    let mut half = Client::connect(&proxy.address, MODERN);
    half.query("BEGIN; UPDATE item SET stock = 0 WHERE id = 1");
    half.send_raw(&query("UPDATE item SET stock = 0 WHERE id = 2")[..20]);
    let mut stalled = Client::connect(&proxy.address, MODERN);
    stalled.send(&query("SELECT REPEAT('x', 1000) FROM seq_1_to_300000"));
    eventually("two that are idle", || proxy.guard.census().aside == 5);
    let census = proxy.guard.census();
    assert_eq!(census.running(), 0, "{census:?}");
    assert_eq!(proxy.rows(&[], "SELECT 1"), "1");
    drop((sleepers, half, stalled));
    let ids = "SELECT GROUP_CONCAT('KILL QUERY ', id SEPARATOR ';') FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP%'";
    server.sql(&server.sql(ids));
    proxy.becomes_empty();
    proxy.stop();
}

#[test]
fn accounts_that_are_bound_to_a_host_are_refused_where_that_was_asked_for() {
    let server = Server::up(&[]);
    server.sql("CREATE USER near@'127.0.0.1' IDENTIFIED VIA mysql_native_password; CREATE USER far@'%' IDENTIFIED VIA mysql_native_password");
    let proxy = Proxy::start(&server, |plan| plan.refuse_host_accounts = true);
    let refused = failure(&proxy.mariadb(&["--user=near"], "SELECT 1"));
    assert!(refused.contains("ERROR 1045") && refused.contains("bound to a host"), "{refused}");
    assert_eq!(proxy.rows(&["--user=far"], "SELECT 1"), "1");
    proxy.stop();
}

#[test]
fn a_server_that_trusts_the_guard_sees_its_clients_addresses() {
    let server = Server::up(&[("proxy_protocol_networks", "127.0.0.1")]);
    let proxy = Proxy::start(&server, |plan| plan.proxy_protocol = true);
    let client = Client::connect(&proxy.address, MODERN);
    let port = client.local_port();
    let seen = server.sql("SELECT host FROM information_schema.processlist WHERE user = 'app'");
    assert!(seen.ends_with(&format!(":{port}")), "{seen} is not the client's port {port}");
    proxy.stop();
}

/// Asks for another user by a plugin that makes the server ask back.
fn change_of_user() -> Vec<u8> {
    packets(0, b"\x11app\0\0shop\0\x2d\0client_ed25519\0")
}

#[test]
fn a_change_of_user_that_hangs_stands_aside_and_ends_in_its_time() {
    let server = Server::up(&[]);
    // With the usual time for a login, which others keep on a machine that stands still now and then.
    let proxy = Proxy::start(&server, |plan| plan.limit = 1);
    let mut client = Client::connect(&proxy.address, MODERN);
    client.query("BEGIN; SELECT * FROM item WHERE id = 1");
    client.send_raw(&change_of_user());
    assert_eq!(proxy.rows(&[], "SELECT id FROM shop.item WHERE id = 1"), "1", "it stands aside");
    eventually("the end of a change of user", || proxy.guard.stats().login_timeouts.get() == 1);
    proxy.becomes_empty();
    proxy.stop();
}

#[test]
fn a_client_that_dies_while_it_changes_its_user_leaves_nothing_whatever_it_said_ahead() {
    let server = Server::up(&[("net_read_timeout", "3600")]);
    let proxy = Proxy::start(&server, |plan| {
        one(plan);
        plan.login_max = Nanos::from_secs(3_600);
    });
    for resets in [false, true] {
        let mut client = Client::connect(&proxy.address, MODERN);
        client.query("BEGIN; SELECT * FROM item WHERE id = 1");
        client.send_raw(&[change_of_user(), packets(0, b"\x0e")].concat());
        client.leave(resets);
        proxy.becomes_empty();
        proxy.all_end();
    }
    proxy.stop();
}

#[test]
fn whoever_says_statements_ahead_without_end_lets_others_have_their_turn() {
    let server = Server::up(&[]);
    let proxy = Proxy::start(&server, one);
    let mut hog = TcpStream::connect(&proxy.address).expect("the guard listens");
    assert!(hog.read(&mut [0; 1_000]).expect("a greeting") > 0);
    hog.write_all(&packets(1, &hello("mysql_native_password"))).expect("the guard reads");
    let mut reader = hog.try_clone().expect("a descriptor");
    let reads =
        std::thread::spawn(move || while reader.read(&mut [0; 1 << 16]).is_ok_and(|count| count > 0) {});
    let many = query("SELECT BENCHMARK(3000, SHA1('a'))").repeat(20);
    // As much as the sockets take: some thousand statements.
    hog.set_nonblocking(true).expect("an option");
    std::thread::sleep(std::time::Duration::from_millis(200));
    while hog.write(&many).is_ok() {}
    assert_eq!(proxy.rows(&[], "SELECT id FROM shop.item WHERE id = 1"), "1");
    let census = proxy.guard.census();
    assert!(census.waiting() + census.running() > 0, "the hog was done already: {census:?}");
    hog.shutdown(std::net::Shutdown::Both).expect("an end");
    reads.join().expect("no panic");
    proxy.stop();
}

#[test]
fn an_anonymous_account_makes_nobody_an_administrator() {
    let server = Server::up(&[]);
    server.sql("CREATE USER ''@'%' IDENTIFIED VIA mysql_native_password; GRANT SELECT ON shop.* TO ''@'%'");
    let proxy = Proxy::start(&server, |plan| {
        one(plan);
        plan.administrators = vec!["boss".into(), "app".into()];
    });
    let mut first = Client::connect(&proxy.address, MODERN);
    first.query("SELECT 1");
    let mut holder = Client::connect(&proxy.address, MODERN);
    holder.change_user("other");
    holder.query("BEGIN; SELECT * FROM item WHERE id = 1");
    eventually("a permit of nobody in particular", || proxy.guard.census().running() == 1);
    let mut pretender = Client::connect(&proxy.address, MODERN);
    pretender.change_user("boss");
    pretender.send(&query("SELECT id FROM shop.item"));
    eventually("one in the queue", || proxy.guard.census().waiting() == 1);
    assert!(matches!(first.query("SELECT 2")[..], [Reply::Result { rows: 1, .. }]), "app is one");
    proxy.stop();
}

#[test]
fn a_name_in_quotes_is_the_same_tenant_where_the_server_takes_it_for_the_same_user() {
    let server = Server::up(&[]);
    server.sql("CREATE USER ''@'%' IDENTIFIED VIA mysql_native_password; CREATE USER ''@localhost IDENTIFIED VIA mysql_native_password");
    let proxy = Proxy::start(&server, |_| ());
    let tenants =
        || -> Vec<String> { proxy.guard.census().tenants.iter().map(|tenant| tenant.name.clone()).collect() };
    let account = "SELECT SUBSTRING_INDEX(CURRENT_USER(), '@', 1)";
    for name in ["app", "'app'"] {
        assert_eq!(proxy.rows(&[&format!("--user={name}")], account), "app", "{name}");
        assert_eq!(tenants(), ["app"], "{name}");
    }
    // Any other spelling, and this one where an open session changes its user, is nobody in particular to the server.
    for name in ["''app''", "'app", "\"app\"", "APP"] {
        assert_eq!(proxy.rows(&[&format!("--user={name}")], account), "", "{name}");
    }
    assert_eq!(tenants(), ["app", "'app'", "'app", "\"app\"", "APP"]);
    let mut client = Client::connect(&proxy.address, MODERN);
    client.change_user("'app'");
    assert!(matches!(client.query("DO 1 / (CURRENT_USER() LIKE '@%')")[..], [Reply::Result { .. }]));
    proxy.stop();
}
