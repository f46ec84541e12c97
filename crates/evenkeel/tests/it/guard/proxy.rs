//! A guard in front of a private server.

use super::server::Server;
pub use crate::patience::eventually;
use evenkeel_core::Nanos;
use evenkeel_guard::proxy::{Address, Guard, Plan};
use std::path::Path;
use std::process::{Command, Output, Stdio};

pub struct Proxy {
    pub guard: Guard,
    pub address: String,
}

impl Proxy {
    /// Listens at a free port in front of the server's port; `change` completes the plan.
    pub fn start(server: &Server, change: impl FnOnce(&mut Plan)) -> Self {
        let mut plan = Plan::new(tcp("127.0.0.1:0"), tcp(&server.address()));
        change(&mut plan);
        Self::of(plan)
    }

    pub fn of(plan: Plan) -> Self {
        let guard = Guard::start(plan).expect("a guard starts");
        let address = guard.ports().first().map_or_else(String::new, |port| format!("127.0.0.1:{port}"));
        Self { guard, address }
    }

    pub fn mariadb(&self, arguments: &[&str], sql: &str) -> Output {
        let port = self.address.rsplit(':').next().unwrap_or_default();
        mariadb(&["-h", "127.0.0.1", "-P", port, "-u", "app"], arguments, sql)
    }

    pub fn rows(&self, arguments: &[&str], sql: &str) -> String {
        text(&self.mariadb(arguments, sql))
    }

    pub fn becomes_empty(&self) {
        eventually("an empty gate", || {
            let census = self.guard.census();
            census.running == 0 && census.waiting == 0 && census.lent == 0
        });
    }

    pub fn all_end(&self) {
        let stats = self.guard.stats();
        eventually("the end of all sessions", || stats.closed.get() == stats.accepted.get());
    }

    /// Sessions that hold nothing end at once; a transaction that a test has left open has five seconds.
    pub fn stop(self) {
        self.guard.stop(Nanos::from_secs(5)).expect("a guard stops");
    }

    /// Gives every transaction the time that it needs to end.
    pub fn stop_in_order(self) {
        assert_eq!(self.guard.stop(Nanos::from_secs(600)).expect("a guard stops"), 0, "sessions were cut");
    }
}

pub fn tcp(text: &str) -> Address {
    text.parse().expect("an address")
}

pub fn unix(path: &Path) -> Address {
    Address::Unix(path.to_owned())
}

pub fn mariadb(server: &[&str], arguments: &[&str], sql: &str) -> Output {
    Command::new("mariadb")
        .args(["--no-defaults", "-N", "-B"])
        .args(server)
        .args(arguments)
        .args(["-e", sql])
        .stdin(Stdio::null())
        .output()
        .expect("the mariadb client can be started")
}

pub fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

pub fn failure(output: &Output) -> String {
    assert!(!output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8_lossy(&output.stderr).trim().to_owned()
}

/// `-STOP`, `-CONT`. A process that was told to stop stands still then: until its last thread does, it may still answer.
pub fn signal(name: &str, pid: i32) {
    let sent = Command::new("kill").args([name, &pid.to_string()]).status();
    assert!(sent.is_ok_and(|status| status.success()));
    if name == "-STOP" {
        eventually("a process that stands still", || stands_still(pid));
    }
}

fn stands_still(pid: i32) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).expect("it runs").flatten();
    let state = |thread: std::fs::DirEntry| std::fs::read_to_string(thread.path().join("stat"));
    // The state follows the name, which is in brackets. A thread that has gone since is no worry.
    threads.filter_map(|thread| state(thread).ok()).all(|stat| stat.contains(") T "))
}
