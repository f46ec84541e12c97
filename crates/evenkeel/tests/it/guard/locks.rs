//! At limit 1, who holds a lock must never queue behind who waits for it, and KILL reaches who waits at the gate.
//!
//! A takes a lock, B takes the only permit and waits for the lock, then A goes on. A guard that let A queue
//! would stand still until its liveness rule helps; here that rule is put off, so that nothing but the
//! classification of sessions can bring A through.

use super::client::{Client, MODERN, packets};
use super::server::{Proxy, Server, eventually, failure, mariadb};
use evenkeel_core::Nanos;
use evenkeel_guard::proxy::Plan;
use evenkeel_wire::relay::Reply;
use evenkeel_wire::relay::hello::ServerHello;

fn one(plan: &mut Plan) {
    plan.limit = 1;
    plan.options.liveness_min = Nanos::from_secs(3_600);
}

/// What A does to take a lock, what B does that waits for it, and what A does then.
struct Case {
    takes: &'static [&'static str],
    waits: &'static str,
    gives: &'static [&'static str],
}

const UPDATE: &str = "UPDATE item SET stock = stock + 1 WHERE id = 1";

const CASES: [Case; 9] = [
    Case { takes: &["LOCK TABLES item WRITE"], waits: UPDATE, gives: &[UPDATE, "UNLOCK TABLES"] },
    Case {
        takes: &["/*!40000 LOCK TABLES item READ */"],
        waits: UPDATE,
        gives: &["SELECT 1", "BEGIN", "COMMIT"],
    },
    Case {
        takes: &["SELECT GET_LOCK('a', 1)"],
        waits: "SELECT GET_LOCK('a', 20)",
        gives: &[UPDATE, "SELECT RELEASE_LOCK('a')"],
    },
    Case {
        takes: &["SELECT GET_LOCK(CONCAT('a', ''), 1)"],
        waits: "SELECT GET_LOCK('a', 20)",
        gives: &[UPDATE, "DO RELEASE_ALL_LOCKS()"],
    },
    Case {
        takes: &["FLUSH TABLES WITH READ LOCK"],
        waits: UPDATE,
        gives: &["SELECT COUNT(*) FROM item", "UNLOCK TABLES"],
    },
    Case {
        takes: &["FLUSH TABLES item WITH READ LOCK"],
        waits: UPDATE,
        gives: &["SELECT 1", "UNLOCK TABLES"],
    },
    Case {
        takes: &["BACKUP STAGE START", "BACKUP STAGE BLOCK_COMMIT"],
        waits: UPDATE,
        gives: &["SELECT 1", "BACKUP STAGE END"],
    },
    // An idle transaction stands aside, and comes back unqueued.
    Case { takes: &["BEGIN", UPDATE], waits: UPDATE, gives: &["SELECT 1", "COMMIT"] },
    Case {
        takes: &["XA START 'x'", UPDATE, "XA END 'x'", "XA PREPARE 'x'"],
        waits: UPDATE,
        gives: &["XA COMMIT 'x'"],
    },
];

fn done(replies: &[Reply], sql: &str) {
    assert!(matches!(replies.last(), Some(Reply::Result { more: false, .. })), "{sql}: {replies:?}");
}

fn runs(client: &mut Client, statements: &[&str]) {
    statements.iter().for_each(|sql| done(&client.query(sql), sql));
}

#[test]
fn who_holds_a_lock_never_queues_behind_who_waits_for_it() {
    let server = Server::up(&[]);
    let proxy = Proxy::start(&server, one);
    for case in CASES {
        let mut holder = Client::connect(&proxy.address, MODERN);
        let mut waiter = Client::connect(&proxy.address, MODERN);
        runs(&mut holder, case.takes);
        let held = proxy.guard.census().running() + proxy.guard.census().aside;
        waiter.send(&packets(0, &[b"\x03", case.waits.as_bytes()].concat()));
        eventually(case.takes[0], || {
            let census = proxy.guard.census();
            census.waiting() == 0 && census.running() + census.aside == held + 1
        });
        runs(&mut holder, case.gives);
        done(&waiter.replies(), case.waits);
        drop((holder, waiter));
        proxy.becomes_empty();
        assert_eq!(proxy.guard.census().liveness_total, 0, "{:?}", case.takes);
    }
    proxy.stop();
}

#[test]
fn a_lock_that_a_procedure_hides_stops_nobody_for_good() {
    let server = Server::up(&[]);
    server.sql("CREATE PROCEDURE shop.take() DO GET_LOCK('hidden', 20); CREATE PROCEDURE shop.give() DO RELEASE_LOCK('hidden')");
    let proxy = Proxy::start(&server, |plan| {
        one(plan);
        plan.options.liveness_min = Nanos::from_millis(300);
    });
    let mut holder = Client::connect(&proxy.address, MODERN);
    let mut waiter = Client::connect(&proxy.address, MODERN);
    runs(&mut holder, &["CALL take()"]);
    waiter.send(&packets(0, b"\x03CALL take()"));
    eventually("the waiter at the server", || {
        let census = proxy.guard.census();
        census.running() == 1
    });
    runs(&mut holder, &["CALL give()"]);
    done(&waiter.replies(), "CALL take()");
    proxy.stop();
}

const RAISE: &[u8] = b"\x03UPDATE shop.item SET stock = stock + 1000 WHERE id = 7";

fn thread(client: &Client) -> u32 {
    ServerHello::parse(client.greeting.clone()).expect("a greeting").thread()
}

fn waits(proxy: &Proxy) -> Client {
    let mut client = Client::connect(&proxy.address, MODERN);
    client.send(&packets(0, RAISE));
    eventually("a session that waits", || proxy.guard.census().waiting() == 1);
    client
}

#[test]
fn a_kill_reaches_a_session_that_waits_and_its_statement_never_runs() {
    let server = Server::up(&[]);
    server.sql("CREATE USER poor@'127.0.0.1'");
    let proxy = Proxy::start(&server, super::faults::one);
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
    assert_eq!(proxy.guard.census().waiting(), 0);

    // A prepared one, and several ahead of each other.
    let mut again = waits(&proxy);
    killer.command(format!("\x16KILL QUERY {}", thread(&again)).as_bytes());
    assert_eq!(proxy.guard.census().waiting(), 1, "to prepare it kills nobody");
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
    let refused = mariadb(&["-h", "127.0.0.1", "-P", port, "-u", "poor"], &[], &kill);
    assert!(failure(&refused).contains("1095"), "{refused:?}");
    assert_eq!(proxy.guard.census().waiting(), 1);
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
