//! At limit 1, who holds a lock must never queue behind who waits for it.
//!
//! A takes a lock, B takes the only permit and waits for the lock, then A goes on. A guard that let A queue
//! would stand still until its liveness rule helps; here that rule is put off, so that nothing but the
//! classification of sessions can bring A through.

use super::client::{Client, MODERN, packets};
use super::proxy::{Proxy, eventually};
use super::server::Server;
use evenkeel_core::Nanos;
use evenkeel_guard::proxy::Plan;
use evenkeel_wire::relay::Reply;

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
    // An idle transaction lends its permit, and comes back unqueued.
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
        waiter.send(&packets(0, &[b"\x03", case.waits.as_bytes()].concat()));
        eventually(case.takes[0], || {
            let census = proxy.guard.census();
            // What waits for a named lock does not use the server, and has lent its permit.
            census.waiting == 0 && census.running + census.loans + census.asleep == 1
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
        census.running + census.loans == 1
    });
    runs(&mut holder, &["CALL give()"]);
    done(&waiter.replies(), "CALL take()");
    // By the liveness rule, or on a slow machine by a loan of the waiter, who has outstayed its kind.
    let census = proxy.guard.census();
    assert!(census.liveness_total + census.loans_total >= 1, "{census:?}");
    proxy.stop();
}
