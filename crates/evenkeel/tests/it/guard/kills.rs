//! KILL through the guard, for a session that waits at its gate.

use super::client::{Client, MODERN, packets};
use super::faults::one;
use super::proxy::{Proxy, eventually};
use super::server::Server;
use evenkeel_core::Nanos;
use evenkeel_wire::relay::Reply;
use evenkeel_wire::relay::hello::ServerHello;

const UPDATE: &[u8] = b"\x03UPDATE shop.item SET stock = stock + 1000 WHERE id = 7";

fn thread(client: &Client) -> u32 {
    ServerHello::parse(client.greeting.clone()).expect("a greeting").thread()
}

fn waits(proxy: &Proxy) -> Client {
    let mut client = Client::connect(&proxy.address, MODERN);
    client.send(&packets(0, UPDATE));
    eventually("a session that waits", || proxy.guard.census().waiting == 1);
    client
}

#[test]
fn a_kill_reaches_a_session_that_waits_and_its_statement_never_runs() {
    let server = Server::up(&[]);
    server.sql("CREATE USER poor@'127.0.0.1'");
    let proxy = Proxy::start(&server, |plan| {
        one(plan);
        plan.lend_after = Nanos::from_secs(3_600);
    });
    let mut holder = Client::connect(&proxy.address, MODERN);
    holder.query("BEGIN; UPDATE shop.item SET stock = 0 WHERE id = 8");
    let mut killer = Client::connect(&proxy.address, MODERN);

    let mut queried = waits(&proxy);
    assert_eq!(
        thread(&queried).to_string(),
        server.sql("SELECT MAX(id) FROM information_schema.processlist WHERE user = 'app'")
    );
    let kill = format!("kill /* now */ hard query {};", thread(&queried));
    assert!(matches!(killer.query(&kill)[..], [Reply::Result { .. }]));
    assert_eq!(queried.replies(), [Reply::Error { code: 1317 }]);
    assert_eq!(proxy.guard.census().waiting, 0);

    // A prepared one, and several ahead of each other.
    let mut again = waits(&proxy);
    killer.command(format!("\x16KILL QUERY {}", thread(&again)).as_bytes());
    assert_eq!(proxy.guard.census().waiting, 1, "to prepare it kills nobody");
    let run = [&b"\x17"[..], &killer.statement.to_le_bytes(), &[0, 1, 0, 0, 0]].concat();
    killer.send(&[packets(0, b"\x03KILL QUERY 4000000"), packets(0, &run)].concat());
    assert!(matches!(killer.replies()[..], [Reply::Error { code: 1094 }, Reply::Result { .. }]));
    assert_eq!(again.replies(), [Reply::Error { code: 1317 }]);

    // The connection ends as at the server.
    let mut killed = waits(&proxy);
    killer.query(&format!("KILL {}", thread(&killed)));
    let words = killed.replies();
    assert!(matches!(words[..], [Reply::Error { .. }] | [Reply::Farewell { .. }]), "{words:?}");
    assert!(killed.is_ended());

    // Who may not kill changes nothing: it waits on, and runs in its turn.
    let mut spared = waits(&proxy);
    let port = proxy.address.rsplit(':').next().expect("a port");
    let kill = format!("KILL QUERY {}", thread(&spared));
    let refused = super::proxy::mariadb(&["-h", "127.0.0.1", "-P", port, "-u", "poor"], &[], &kill);
    assert!(super::proxy::failure(&refused).contains("1095"), "{refused:?}");
    assert_eq!(proxy.guard.census().waiting, 1);
    assert_eq!(server.sql("SELECT stock FROM shop.item WHERE id = 7"), "7", "what was killed ran");
    holder.query("COMMIT");
    assert!(matches!(spared.replies()[..], [Reply::Result { affected: 1, .. }]));
    for client in [&mut queried, &mut again] {
        assert!(matches!(
            client.query("SELECT stock FROM shop.item WHERE id = 7").last(),
            Some(Reply::Result { .. })
        ));
    }
    assert_eq!(server.sql("SELECT stock FROM shop.item WHERE id = 7"), "1007");
    drop((holder, killer, queried, again, spared));
    proxy.becomes_empty();
    proxy.stop();
}
