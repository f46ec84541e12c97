//! A private server for the guard's tests, and a guard in front of it.

pub use crate::cli::eventually;
use evenkeel_core::Nanos;
use evenkeel_guard::proxy::{Address, Guard, Plan};
use evenkeel_os::Stop;
use evenkeel_site::sandbox::{Sandbox, SandboxSpec};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use tempfile::TempDir;

pub struct Server {
    pub sandbox: Sandbox,
    pub home: TempDir,
}

impl Server {
    /// One with the accounts and tables of the tests, and with `settings` besides the small ones.
    pub fn up(settings: &[(&str, &str)]) -> Self {
        let home = tempfile::tempdir().expect("a temporary directory");
        let small = [
            ("innodb_buffer_pool_size", "32M"),
            ("innodb_log_file_size", "48M"),
            ("max_allowed_packet", "64M"),
        ];
        let settings =
            small.iter().chain(settings).map(|(name, value)| (name.to_string(), value.to_string()));
        let spec = SandboxSpec { settings: settings.collect(), ..SandboxSpec::new(home.path(), "guard") };
        let sandbox = Sandbox::up(&spec, &Stop::default(), &mut |_| {}).expect("a server");
        let server = Self { sandbox, home };
        server.sql(PREPARATION);
        server
    }

    pub fn socket(&self) -> &Path {
        self.sandbox.socket()
    }

    /// Where it listens, as `127.0.0.1:port`.
    pub fn address(&self) -> String {
        match self.sandbox.tcp_target().address {
            evenkeel_site::server::Address::Tcp { host, port } => format!("{host}:{port}"),
            other => panic!("{other:?} is no port"),
        }
    }

    pub fn url(&self) -> String {
        format!("mysql://app@{}/shop", self.address())
    }

    /// A workload of statements with their names; the path of its file.
    pub fn workload(&self, name: &str, statements: &[(&str, &str)]) -> String {
        crate::sandbox::workload(self.home.path(), name, statements)
    }

    /// Runs SQL as root by the command line client, past any guard.
    pub fn sql(&self, sql: &str) -> String {
        let output = Command::new("mariadb")
            .args(["--no-defaults", "-N", "-B", "-u", &self.sandbox.target().user, "-S"])
            .arg(self.socket())
            .args(["-e", sql])
            .env("MYSQL_PWD", self.sandbox.target().password.unwrap_or_default())
            .stdin(Stdio::null())
            .output()
            .expect("the mariadb client can be started");
        assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }
}

/// `app` has no password, so that a test can log in by hand.
const PREPARATION: &str = "\
CREATE DATABASE shop;
CREATE USER app@'%' IDENTIFIED VIA mysql_native_password;
GRANT ALL ON *.* TO app@'%';
CREATE USER app@localhost IDENTIFIED VIA mysql_native_password;
GRANT ALL ON *.* TO app@localhost;
CREATE TABLE shop.item (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(100), note JSON, stock INT);
INSERT INTO shop.item (name, note, stock) SELECT CONCAT('item ', seq), '{}', seq FROM mysql.seq_1_to_100;
DELIMITER //
CREATE PROCEDURE shop.report(IN below INT, OUT total INT)
    BEGIN SELECT id FROM shop.item WHERE id < below; SELECT COUNT(*) INTO total FROM shop.item;
    SELECT 'done' AS word, total; END//";

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
            census.running() + census.waiting() + census.aside == 0
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

/// One that no other test is given. Below those that the kernel hands out, or a client takes it before the server does.
pub fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(21_000);
    let next = || NEXT.fetch_add(1, Ordering::Relaxed);
    std::iter::repeat_with(next).find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).expect("a port")
}
