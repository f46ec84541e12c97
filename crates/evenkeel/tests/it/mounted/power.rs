//! Power cuts under load: the process of the disk beneath is killed, and with it goes what its cache had not flushed.

use super::volatile::OnVolatile;
use super::{blank, can_mount};
use crate::cli::{Running, eventually, found};
use evenkeel_core::random::{Random, Seed};
use evenkeel_haul::ledger::{Ledger, Plan, Writing, audit};
use evenkeel_os::Stop;
use evenkeel_site::server::{Control, Target};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::tempdir;

/// Cuts in `make test`; EVENKEEL_POWER_CUTS asks for more.
const CUTS: u64 = 3;

/// A MariaDB on the mounted disk, killed when dropped.
struct Server {
    child: Running,
    address: String,
}

impl Server {
    /// Temporary files of its own: a server that starts removes those that others have in the same folder.
    fn make(at: &Path) {
        let mut install = Command::new("mariadb-install-db");
        install.args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"]);
        install.args(["--user=root", "--innodb-log-file-size=16M", "--skip-name-resolve"]);
        install.arg(format!("--tmpdir={}", at.display()));
        install.arg(format!("--datadir={}", at.join("data").display()));
        let made = install.output().expect("it is installed");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    }

    /// `Err` is its log where it does not start.
    fn start(at: &Path, log: &Path) -> Result<Self, String> {
        let port = crate::guard::server::free_port();
        let mut command = Command::new("mariadbd");
        command.env("PATH", format!("{}:/usr/sbin", std::env::var("PATH").unwrap_or_default()));
        command.args(["--no-defaults", "--user=root", "--skip-grant-tables", "--bind-address=127.0.0.1"]);
        command.args(["--innodb-flush-log-at-trx-commit=1", "--innodb-buffer-pool-size=16M"]);
        command.args(["--innodb-log-file-size=16M", "--skip-networking=0", "--performance-schema=0"]);
        command.arg(format!("--port={port}")).arg(format!("--datadir={}", at.join("data").display()));
        command.arg(format!("--tmpdir={}", at.display()));
        command.arg(format!("--socket={}", log.with_extension("sock").display()));
        command.arg(format!("--log-error={}", log.display())).stdin(Stdio::null());
        let child =
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("mariadbd is installed");
        let mut server = Self { child: Running(child), address: format!("127.0.0.1:{port}") };
        let listens = found("a server that listens, or its end", || {
            let listens = std::net::TcpStream::connect(&server.address).is_ok();
            (listens || server.child.0.try_wait().expect("a child").is_some()).then_some(listens)
        });
        if listens {
            return Ok(server);
        }
        let log = std::fs::read_to_string(log).unwrap_or_default();
        let errors: Vec<_> = log.lines().filter(|line| line.contains("[ERROR]")).collect();
        Err(format!("the server does not start: {}", errors.join("\n")))
    }

    fn target(&self, cut: u64) -> Target {
        Target::parse(&format!("mysql://root@{}/shop{cut}", self.address)).expect("a URL")
    }

    /// Runs SQL by the command line client; `Err` is what it said.
    fn sql(&self, sql: &str) -> Result<String, String> {
        let (host, port) = self.address.split_once(':').expect("host and port");
        let mut client = Command::new("mariadb");
        client.args(["--no-defaults", "-N", "-B", "-u", "root", "-h", host, "-P", port, "-e", sql]);
        let output = client.stdin(Stdio::null()).output().expect("the client is installed");
        let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        if output.status.success() { Ok(said(&output.stdout)) } else { Err(said(&output.stderr)) }
    }
}

/// A disk through power cuts, with a database and a ledger for each.
struct Trial<'a> {
    folder: &'a Path,
    /// The disk beneath ignores flushes.
    lies: bool,
    cuts: u64,
    random: Random,
}

impl Trial<'_> {
    fn disk(&self, more: &[&str]) -> Result<OnVolatile, String> {
        OnVolatile::mount(self.folder, self.lies, more)
            .map_err(|said| format!("it cannot be mounted: {said}"))
    }

    fn prepare(&self) {
        blank(self.folder, 768 << 20);
        let disk = self.disk(&["--mkfs", "ext4"]).expect("a mount");
        Server::make(disk.at());
        let server = Server::start(disk.at(), &self.folder.join("server.log")).expect("a server");
        server.sql("SHUTDOWN").expect("an end in order");
        let mut server = server;
        server.child.0.wait().expect("it ends");
        disk.down();
    }

    fn ledger(&self, cut: u64) -> PathBuf {
        self.folder.join(format!("ledger{cut}"))
    }

    /// Works for a while, and is cut.
    fn cut(&mut self) -> Result<(), String> {
        self.cuts += 1;
        let mut disk = self.disk(&[])?;
        let server = Server::start(disk.at(), &self.folder.join("server.log"))?;
        server.sql(&format!("CREATE DATABASE shop{}", self.cuts))?;
        let plan = Plan { targets: vec![server.target(self.cuts)], rate: 5_000.0, ..Plan::default() };
        let writing = Writing::start(&plan, &self.ledger(self.cuts), &Stop::default()).expect("writers");
        let wanted = self.random.uniform(50, 400);
        eventually("some hundred rows", || writing.written().acknowledged >= wanted);
        disk.cut_power();
        drop(server);
        disk.unmount();
        writing.end().expect("a ledger");
        Ok(())
    }

    /// What is wrong after a cut: of the file system, of the server, of the ledger.
    fn verify(&self) -> Result<u64, String> {
        // Mounting replays the journal.
        self.disk(&[])?.down();
        let check =
            Command::new("/sbin/e2fsck").arg("-fn").arg(self.folder.join("disk")).output().expect("e2fsck");
        if !check.status.success() {
            return Err(format!("e2fsck: {}", String::from_utf8_lossy(&check.stdout)));
        }
        let disk = self.disk(&[])?;
        let server = Server::start(disk.at(), &self.folder.join("server.log"))?;
        let mut rows = 0;
        for cut in 1..=self.cuts {
            let tables = server.sql(&format!("CHECK TABLE shop{cut}.evenkeel_ledger EXTENDED"))?;
            let mut control = Control::connect(&server.target(cut)).map_err(|error| error.to_string())?;
            let ledger = Ledger::read(&self.ledger(cut)).expect("a ledger");
            let account = audit(&mut control, &ledger).map_err(|error| error.to_string())?;
            if !tables.ends_with("OK") || !account.is_right() {
                return Err(format!("cut {cut}: {account:?}; the table: {tables}"));
            }
            rows += account.rows;
        }
        drop(server);
        disk.down();
        Ok(rows)
    }
}

fn trial(folder: &Path, lies: bool) -> Trial<'_> {
    let trial = Trial { folder, lies, cuts: 0, random: Random::new(Seed(17)) };
    trial.prepare();
    trial
}

#[test]
fn what_a_server_acknowledged_is_there_after_power_cuts() {
    if !can_mount() {
        return;
    }
    let folder = tempdir().expect("a folder");
    let cuts = std::env::var("EVENKEEL_POWER_CUTS").ok().and_then(|cuts| cuts.parse().ok()).unwrap_or(CUTS);
    let mut trial = trial(folder.path(), false);
    for cut in 1..=cuts {
        trial.cut().unwrap_or_else(|error| panic!("cut {cut}: {error}"));
        let rows = trial.verify().unwrap_or_else(|error| panic!("cut {cut}: {error}"));
        eprintln!("cut {cut} of {cuts}: {rows} rows");
    }
}

#[test]
fn a_disk_that_lies_about_flushes_is_caught() {
    if !can_mount() {
        return;
    }
    let folder = tempdir().expect("a folder");
    let mut trial = trial(folder.path(), true);
    let found = (1..=CUTS).find_map(|_| trial.cut().and_then(|()| trial.verify()).err());
    let found = found.expect("acknowledged rows were lost, and the test did not see it");
    eprintln!("found: {}", found.lines().take(5).collect::<Vec<_>>().join(" | "));
}
