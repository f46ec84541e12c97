//! Sessions that end in every state, and a plugin that leaves.

use crate::server::{LONG, Server, pause, said, timed};
use std::io::Write;
use std::process::Stdio;
use std::time::Duration;

#[test]
fn no_place_stays_with_a_client_that_is_gone() {
    let server = Server::start("gone");
    let busy = server.occupied();
    let mut waiter = server.app(&format!("{LONG}UPDATE t SET v = 99"));
    server.until("it to wait", || server.waiting().len() == 1);
    waiter.kill().expect("it lives");
    waiter.wait().expect("it ends");
    server.until("it to leave the queue", || server.status("long_waiting") == "0");
    // One with an open transaction, one at work, and the one that is busy.
    let mut idle = server.client("app").stdin(Stdio::piped()).spawn().expect("a client");
    idle.stdin
        .as_mut()
        .expect("its input")
        .write_all(b"BEGIN; UPDATE t SET v = 98 WHERE id = 2;\n")
        .expect("it reads");
    let mut sleeper = server.app("SELECT COUNT(*) FROM t WHERE SLEEP(60) = 0");
    server.until("both to have places", || server.status("aside") == "2");
    for child in [&mut idle, &mut sleeper] {
        child.kill().expect("it lives");
        child.wait().expect("it ends");
    }
    server.clear();
    said(busy);
    assert_eq!(server.root("SELECT MAX(v) FROM d.t"), "3");
}

#[test]
fn a_reset_or_another_user_gives_the_place_back() {
    let server = Server::start("reset");
    let mut client = server.client("app").stdin(Stdio::piped()).spawn().expect("a client");
    let input = client.stdin.as_mut().expect("its input");
    input.write_all(b"BEGIN; UPDATE t SET v = 98 WHERE id = 2;\n").expect("it reads");
    server.until("it to be open", || server.status("aside") == "1");
    // COM_RESET_CONNECTION.
    input.write_all(b"\\x\n").expect("it reads");
    server.until("the place to come back", || server.is_clear());
    drop(client.stdin.take());
    said(client);
}

#[test]
fn uninstall_lets_all_go_beside_an_idle_transaction() {
    let server = Server::start("uninstall");
    let mut holder = server.client("app").stdin(Stdio::piped()).spawn().expect("a client");
    let begin = format!("{LONG}BEGIN;\nUPDATE t SET v = 98 WHERE id = 2;\n");
    holder.stdin.as_mut().expect("its input").write_all(begin.as_bytes()).expect("it reads");
    server.until("it to be idle", || server.status("aside") == "1");
    let busy = server.occupied();
    let waiters: Vec<_> =
        (0..20).map(|_| server.app(&format!("{LONG}UPDATE t SET v = v + 1 WHERE id = 1"))).collect();
    server.until("all to wait", || server.waiting().len() > 19);
    let (_, lasted) = timed(|| server.uninstall());
    assert!(lasted < Duration::from_secs(5));
    for waiter in waiters {
        assert_eq!(said(waiter).1, "");
    }
    assert_eq!(server.root("SELECT v FROM d.t WHERE id = 1"), "21");
    drop(holder.stdin.take());
    assert_eq!(said(holder).1, "");
    server.kill_all();
    said(busy);
    let left = "SELECT COUNT(*) FROM information_schema.plugins WHERE plugin_name = 'evenkeel'";
    server.until("it to be gone", || server.root(left) == "0");
    server.install();
    assert_eq!(said(server.app("SELECT v FROM t WHERE id = 3")).0, "3");
}

#[test]
fn a_shutdown_does_not_wait_for_those_who_wait() {
    let mut server = Server::start("shutdown");
    let busy = server.occupied();
    let waiters: Vec<_> = (0..100).map(|_| server.app(&format!("{LONG}UPDATE t SET v = v + 1"))).collect();
    server.until("all to wait", || server.waiting().len() == 100);
    server.root("SHUTDOWN");
    let (ended, lasted) = timed(|| {
        (0..600).any(|_| {
            pause(50);
            server.process.try_wait().expect("a child").is_some()
        })
    });
    assert!(ended && lasted < Duration::from_secs(30), "{lasted:?}");
    waiters.into_iter().for_each(|waiter| drop(said(waiter)));
    said(busy);
}
