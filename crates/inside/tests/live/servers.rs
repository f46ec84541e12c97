//! The same file in the servers of other releases, each in a root of its own.

use crate::holds::failures;
use crate::rules::{lanes, runaways};
use crate::server::{LONG, Server, said};
use crate::waits::triggers;

fn in_other(name: &str) -> Option<Server> {
    let server = Server::elsewhere(name);
    if server.is_none() {
        left_out::left_out(format!("{name} is missing (make servers)"));
    }
    server
}

#[path = "../../../../tests/left_out.rs"]
mod left_out;

/// Who waits is killed or refused, goes on where the plugin leaves, and an open transaction does not wait.
fn works(server: &Server) {
    triggers(server);
    failures(server);
    lanes(server);
    runaways(server);
    let busy = server.occupied();
    let waiters: Vec<_> =
        ["UPDATE t SET v = 99", "CREATE TABLE made (a INT)", "SET @a = (SELECT v FROM t WHERE id = 1)"]
            .map(|sql| server.app(&format!("{LONG}{sql}")))
            .into();
    server.until("all to wait", || server.waiting().len() == 3);
    server.waiting().iter().for_each(|id| drop(server.root(&format!("KILL QUERY {id}"))));
    for waiter in waiters {
        assert!(said(waiter).1.contains("ERROR 1317"));
    }
    let (_, error) = said(server.app(&format!(
        "BEGIN; UPDATE t SET v = v WHERE id = 2; {LONG}UPDATE t SET v = v WHERE id = 3; COMMIT"
    )));
    assert_eq!(error, "");
    server.root("SET GLOBAL evenkeel_max_wait_ms = 100");
    assert!(said(server.app(&format!("{LONG}UPDATE t SET v = 99"))).1.contains("ERROR 1040"));
    server.root("SET GLOBAL evenkeel_max_wait_ms = 0");
    assert_eq!(server.root("SELECT GROUP_CONCAT(v ORDER BY id) FROM d.t"), "1,2,3");
    let waiters: Vec<_> =
        (0..8).map(|_| server.app(&format!("{LONG}UPDATE t SET v = v + 1 WHERE id = 1"))).collect();
    server.until("all to wait", || server.waiting().len() == 8);
    server.uninstall();
    for waiter in waiters {
        assert_eq!(said(waiter).1, "");
    }
    assert_eq!(server.root("SELECT v FROM d.t WHERE id = 1"), "9");
    server.kill_all();
    said(busy);
}

#[test]
fn mariadb_11_8_loads_the_same_file() {
    if let Some(server) = in_other("mariadb-11.8") {
        works(&server);
    }
}

#[test]
fn mysql_9_7_loads_the_same_file() {
    if let Some(server) = in_other("mysql-9.7") {
        works(&server);
    }
}
