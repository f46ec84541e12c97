//! Sessions that keep what others wait for, by means that cost them nothing, against a real server.

use super::client::{Client, MODERN};
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
