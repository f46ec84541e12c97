//! A private server for the guard's tests.

use evenkeel_os::stop::Stop;
use evenkeel_site::sandbox::{Sandbox, SandboxSpec};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
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
