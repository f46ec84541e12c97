//! The command itself: what an operator is told, metrics, reload, drain, the live view.

use super::client::{Client, MODERN, packets};
use super::logins::certificate;
use super::server::{Server, eventually, free_port, signal};
use crate::cli::{Running, found};
use evenkeel_wire::relay::Reply;
use std::io::{PipeReader, PipeWriter, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

pub struct Process {
    child: Running,
    config: PathBuf,
    log: PathBuf,
    pub address: String,
    pub metrics: String,
}

fn free_address() -> String {
    format!("127.0.0.1:{}", free_port())
}

pub fn evenkeel(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
    command.arg("guard").args(arguments).stdin(Stdio::null());
    command
}

fn configuration([listen, backend, metrics]: [&str; 3], more: &str) -> String {
    format!("listen = '{listen}'\nbackend = '{backend}'\nmetrics = '{metrics}'\ndrain = '600s'\n{more}\n")
}

impl Process {
    pub fn start(server: &Server, control: &str) -> Self {
        Self::start_with(server, "", control, evenkeel)
    }

    /// With `top` before the configuration's tables, and started as `command` says.
    pub fn start_with(
        server: &Server,
        top: &str,
        control: &str,
        command: impl FnOnce(&[&str]) -> Command,
    ) -> Self {
        let (address, metrics) = (free_address(), free_address());
        let (config, log) = (server.file("guard.toml"), server.file("guard.log"));
        let stderr = std::fs::File::create(&log).expect("a log");
        let text = configuration(
            [&address, &server.address(), &metrics],
            &format!("{top}\n[control]\ntick = '50ms'\n{control}"),
        );
        std::fs::write(&config, text).expect("a file");
        let child = command(&["--config"]).arg(&config).stderr(stderr).spawn().expect("the guard starts");
        let process = Self { child: Running(child), config, log, address, metrics };
        eventually("metrics", || process.get("/healthz").contains("200 OK"));
        process
    }

    pub fn configure(&self, server: &Server, more: &str) {
        let text = configuration([&self.address, &server.address(), &self.metrics], more);
        std::fs::write(&self.config, text).expect("a file");
    }

    /// What it answers; nothing where it does not, as one that cannot be reached or finds its client too
    /// slow.
    pub fn get(&self, path: &str) -> String {
        let Ok(mut stream) = TcpStream::connect(&self.metrics) else { return String::new() };
        let mut answer = String::new();
        let asked =
            write!(stream, "GET {path} HTTP/1.0\r\n\r\n").and_then(|()| stream.read_to_string(&mut answer));
        asked.map(|_| answer).unwrap_or_default()
    }

    /// Its answer, with this in it in the end.
    pub fn shows(&self, path: &str, wanted: &str) -> String {
        found(wanted, || Some(self.get(path)).filter(|answer| answer.contains(wanted)))
    }

    pub fn limit(&self) -> u32 {
        let answer = self.shows("/metrics", "\nevenkeel_guard_limit ");
        let limit = answer.split("\nevenkeel_guard_limit ").nth(1).and_then(|rest| rest.lines().next());
        limit.and_then(|limit| limit.parse().ok()).expect("a number")
    }

    pub fn signal(&self, signal: i32) {
        // SAFETY: the process is a child that was not waited for, so that its number is its own.
        unsafe { libc::kill(self.child.0.id() as i32, signal) };
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.0.try_wait().expect("it is ours")
    }
}

fn shown(output: &mut Command) -> String {
    let output = output.output().expect("the command runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_reload_drops_nothing_and_an_unreadable_file_changes_nothing() {
    let server = Server::up(&[]);
    let process = Process::start(&server, "controller = 'fixed'\ninitial_limit = 3");
    let mut client = Client::connect(&process.address, MODERN);
    client.query("BEGIN; UPDATE item SET stock = -1 WHERE id = 1");
    assert_eq!(process.limit(), 3);
    process.configure(&server, "[control]\ntick = '50ms'\ncontroller = 'fixed'\ninitial_limit = 0");
    process.signal(libc::SIGHUP);
    eventually("a refusal", || process.log().contains("event=reload_failed"));
    assert!(process.log().contains("`initial_limit` must be between 1"), "{}", process.log());
    assert_eq!(process.limit(), 3);
    std::fs::remove_file(&process.config).expect("a file");
    process.signal(libc::SIGHUP);
    eventually("another refusal", || process.log().contains("cannot read"));
    assert_eq!(process.limit(), 3);
    process.configure(&server, "[control]\ntick = '50ms'\ncontroller = 'fixed'\ninitial_limit = 5");
    process.signal(libc::SIGHUP);
    eventually("the new limit", || process.limit() == 5);
    assert!(matches!(client.query("COMMIT")[..], [Reply::Result { affected: 0, .. }]));
    assert_eq!(server.sql("SELECT stock FROM shop.item WHERE id = 1"), "-1");
}

#[test]
fn sighup_leads_to_another_server_whose_health_is_asked_and_warns_of_a_monitor_that_stays() {
    let (old, new) = (Server::up(&[]), Server::up(&[]));
    let control = "[control]\ntick = '50ms'\ncontroller = 'fixed'\n";
    let process = Process::start(&old, "controller = 'fixed'");
    let mut stays = Client::connect(&process.address, MODERN);
    process.configure(&new, control);
    process.signal(libc::SIGHUP);
    eventually("the new server", || process.log().contains("event=reloaded applied=backend"));
    drop(old);
    process.shows("/healthz", "200 OK");
    let mut client = Client::connect(&process.address, MODERN);
    client.query("UPDATE item SET stock = 77 WHERE id = 1");
    assert_eq!(new.sql("SELECT stock FROM shop.item WHERE id = 1"), "77");
    assert!(stays.is_ended(), "it was at the old one, which is gone");
    // With a monitor that goes on naming the old one.
    let monitor = format!("{control}monitor = '{}'\n", new.url());
    let watched = Process::start(&new, &format!("controller = 'fixed'\nmonitor = '{}'", new.url()));
    let third = Server::up(&[]);
    watched.configure(&third, &monitor);
    watched.signal(libc::SIGHUP);
    eventually("a warning", || watched.log().contains("`backend` has changed, and `monitor` has not"));
}

#[test]
fn sigterm_lets_a_transaction_end_and_says_so() {
    let server = Server::up(&[]);
    let mut process = Process::start(&server, "controller = 'fixed'\ninitial_limit = 3");
    let mut client = Client::connect(&process.address, MODERN);
    client.query("BEGIN; UPDATE item SET stock = -2 WHERE id = 2");
    process.signal(libc::SIGTERM);
    eventually("the drain", || process.log().contains("event=draining"));
    eventually("a closed port", || TcpStream::connect(&process.address).is_err());
    assert!(matches!(client.query("COMMIT")[..], [Reply::Result { .. }]));
    let status = process.child.0.wait().expect("it ends");
    assert!(status.success() && process.log().contains("event=drained cut=0"), "{}", process.log());
    assert_eq!(server.sql("SELECT stock FROM shop.item WHERE id = 2"), "-2");
}

#[test]
fn a_second_signal_ends_a_guard_at_once() {
    let server = Server::up(&[]);
    for (first, second) in [(libc::SIGTERM, libc::SIGTERM), (libc::SIGINT, libc::SIGTERM)] {
        let mut process = Process::start(&server, "controller = 'fixed'\ninitial_limit = 3");
        let mut client = Client::connect(&process.address, MODERN);
        client.query("BEGIN; UPDATE item SET stock = -2 WHERE id = 2");
        process.signal(first);
        eventually("the drain", || process.log().contains("event=draining"));
        process.signal(second);
        let status = process.child.0.wait().expect("it ends");
        assert_eq!(status.code(), Some(128 + second), "{}", process.log());
        assert!(client.is_ended(), "the transaction was cut");
    }
    assert_eq!(server.sql("SELECT stock FROM shop.item WHERE id = 2"), "2");
}

fn full_pipe() -> (PipeReader, PipeWriter) {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let set = |flags: i32| {
        // SAFETY: the descriptor is open, and the call takes a number.
        assert_eq!(unsafe { libc::fcntl(writer.as_raw_fd(), libc::F_SETFL, flags) }, 0);
    };
    set(libc::O_NONBLOCK);
    while (&writer).write(&[b'x'; 4_096]).is_ok() {}
    while (&writer).write(b"x").is_ok() {}
    set(0);
    (reader, writer)
}

#[test]
fn a_log_that_nobody_reads_makes_no_guard_deaf() {
    let (listen, metrics) = (free_address(), free_address());
    let (mut unread, stderr) = full_pipe();
    let arguments = ["--listen", &listen, "--backend", "127.0.0.1:1", "--metrics", &metrics];
    let child = evenkeel(&arguments).stderr(stderr).spawn().expect("the guard starts");
    let (config, log) = (PathBuf::new(), PathBuf::new());
    let mut process = Process { child: Running(child), config, log, address: listen, metrics };
    eventually("metrics", || process.get("/metrics").contains("200 OK"));
    let health = process.shows("/healthz", "does not answer");
    assert!(
        health.contains("503") && health.contains("does not answer: cannot connect to 127.0.0.1:1"),
        "{health}"
    );
    // Each client is told of a server that is not there, and the log of all of them.
    eventually("an answer", || TcpStream::connect(&process.address).is_ok());
    process.signal(libc::SIGHUP);
    process.signal(libc::SIGTERM);
    let status = found("the end of the guard", || process.child.0.try_wait().expect("a child"));
    assert!(status.success(), "{status}");
    let mut left = Vec::new();
    unread.read_to_end(&mut left).expect("a pipe");
    assert!(left.iter().all(|byte| *byte == b'x'), "there was room after all");
}

#[test]
fn what_the_guard_does_can_be_watched() {
    let server = Server::up(&[]);
    let process = Process::start(&server, "controller = 'reflection'\ninitial_limit = 4");
    let mut client = Client::connect(&process.address, MODERN);
    (0..50).for_each(|_| drop(client.query("UPDATE item SET stock = stock + 1 WHERE id = 3")));
    process.shows("/metrics", "transactions_total{outcome=\"success\"} 50\n");
    // Tenants are counted twice a second, and these figures with every tick.
    for figure in ["tenant_admitted_total{tenant=\"app\"} 50\n", "signal{name=\"user_cpu_share\"}"] {
        process.shows("/metrics", &format!("\nevenkeel_guard_{figure}"));
    }
    // Whoever asks is left where he is slow, and may ask again.
    let top =
        || evenkeel(&["top", &process.metrics, "--once", "--every", "100ms"]).output().expect("it runs");
    let picture = found("a picture", || Some(top()).filter(|output| output.status.success())).stdout;
    let picture = String::from_utf8_lossy(&picture);
    assert!(picture.contains("controller reflection") && picture.contains("cycles_per_commit"), "{picture}");
    process.shows("/nothing", "404 Not Found");
}

#[test]
fn a_client_that_is_cut_for_what_it_says_is_named_in_the_log() {
    let server = Server::up(&[]);
    let process = Process::start(&server, "controller = 'fixed'");
    let mut client = Client::connect(&process.address, MODERN);
    client.send_raw(&packets(7, b"\x03SELECT 1"));
    let named = format!(
        "event=malformed client=127.0.0.1:{} others=0 why=\"packet number 7 where 0 was due\"",
        client.local_port()
    );
    eventually("its name", || process.log().contains(&named));
    process.shows("/metrics", "\nevenkeel_guard_malformed_total 1\n");
}

#[test]
fn a_server_that_hangs_or_is_full_is_told_until_it_is_well_again() {
    // The server waits for long for logins that do not come.
    let server = Server::up(&[("max_connections", "10"), ("connect_timeout", "600")]);
    let process = Process::start(&server, "controller = 'fixed'");
    let is_told = |why: &str, times: usize| {
        process.shows("/healthz", why);
        process.shows("/metrics", "\nevenkeel_guard_backend_up 0\n");
        eventually("a line of the log", || process.log().matches("event=backend_down").count() == times);
        assert!(process.log().contains(why), "{}", process.log());
    };
    let is_well_again = |times: usize| {
        process.shows("/healthz", "200 OK");
        process.shows("/metrics", "\nevenkeel_guard_backend_up 1\n");
        eventually("its end", || process.log().matches("event=backend_up").count() == times);
    };
    signal("-STOP", server.sandbox.pid());
    is_told("does not answer within 1 s", 1);
    signal("-CONT", server.sandbox.pid());
    is_well_again(1);
    // One more than that is let in, for an administrator.
    let full: Vec<_> = (0..11).map(|_| TcpStream::connect(server.address()).expect("it listens")).collect();
    let mut refused = TcpStream::connect(&process.address).expect("it listens");
    refused.read_exact(&mut [0; 7]).expect("an error");
    is_told("the server refuses logins: error 1040", 2);
    drop(full);
    is_well_again(2);
}

#[test]
fn a_printed_configuration_is_one_that_a_guard_takes() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("guard.toml");
    std::fs::write(&path, shown(&mut evenkeel(&["--print-config"]))).expect("a file");
    let said = shown(evenkeel(&["--check", "--config"]).arg(&path));
    assert!(said.contains("the configuration is valid"), "{said}");
}

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
