//! Sessions that keep what others wait for, by means that cost them nothing, against a real server.

use super::client::{Client, MODERN};
use super::faults::one;
use super::proxy::Proxy;
use super::server::Server;
use evenkeel_wire::relay::Reply;

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

#[test]
fn a_command_of_any_size_that_is_refused_leaves_its_session_as_it_was() {
    let server = Server::up(&[]);
    let proxy = Proxy::start(&server, |plan| {
        one(plan);
        plan.options.queue_max = Some(0);
    });
    let mut client = Client::connect(&proxy.address, MODERN);
    client.query("SET @kept = 7");
    let mut holder = Client::connect(&proxy.address, MODERN);
    for length in [100, 20_000, 3_000_000, 17_000_000] {
        holder.query("BEGIN; UPDATE item SET stock = 0 WHERE id = 1");
        let insert = [&b"\x03INSERT INTO item (name) VALUES ('"[..], &vec![b'x'; length], b"')"].concat();
        let refused = [Reply::Error { code: 1637 }];
        assert_eq!(client.tries(&insert), refused, "{length} bytes");
        holder.query("COMMIT");
        assert!(matches!(client.query("DO 1 / (@kept = 7)")[..], [Reply::Result { .. }]), "{length} bytes");
    }
    assert_eq!(server.sql("SELECT COUNT(*) FROM shop.item"), "100");
    proxy.stop();
}
