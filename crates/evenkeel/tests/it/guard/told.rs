//! What an operator is told at a start and at a reload, and that nothing is waited for without end.

use super::client::{Client, MODERN};
use super::logins::certificate;
use super::operation::{Process, evenkeel};
use super::proxy::{eventually, signal};
use super::server::Server;
use crate::patience::found;
use std::time::Duration;

/// A URL of an account that the server lets in, and one that it does not.
fn monitors(server: &Server) -> (String, String) {
    server.sql(
        "CREATE USER watch@'%' IDENTIFIED BY 'open'; GRANT SELECT (User, Host) ON mysql.user TO watch@'%'",
    );
    let url = |password: &str| format!("monitor = 'mysql://watch:{password}@{}'", server.address());
    (url("open"), url("secret"))
}

#[test]
fn a_start_warns_of_what_an_operator_may_not_want() {
    let home = tempfile::tempdir().expect("a folder");
    let (chain, key) = certificate(home.path(), "server");
    let files = [chain, key].map(|path| path.display().to_string());
    let server = Server::up(&[("ssl_cert", &files[0]), ("ssl_key", &files[1])]);
    let (open, secret) = monitors(&server);
    let process = Process::start_with(&server, "", &open, evenkeel);
    drop(Client::connect(&process.address, MODERN));
    for about in ["tls", "host_accounts"] {
        let wanted = format!("event=warning about={about} ");
        eventually(about, || process.log().contains(&wanted));
    }
    let log = process.log();
    assert!(log.contains("`self_signed`") && log.contains("app@localhost"), "{log}");
    drop(process);
    let denied = Process::start_with(&server, "", &secret, evenkeel);
    eventually("a refusal", || denied.log().contains("event=warning about=monitor "));
    assert!(!denied.log().contains("secret"), "{}", denied.log());
}

#[test]
fn a_guard_ends_although_the_server_that_its_monitor_asks_stands_still() {
    let server = Server::up(&[]);
    let (open, _) = monitors(&server);
    let mut process = Process::start_with(&server, "", &open, evenkeel);
    eventually("the status", || process.log().contains("status=true"));
    signal("-STOP", server.sandbox.pid());
    // Time to ask once more.
    std::thread::sleep(Duration::from_secs(1));
    process.signal(libc::SIGTERM);
    let ended = found("its end", || process.ended());
    assert!(ended.success(), "{}", process.log());
    signal("-CONT", server.sandbox.pid());
}
