//! A private MariaDB server for these tests.

use evenkeel_lab::target::{Address, Control, Target, TlsMode};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

/// A server on a data directory and socket of its own; gone when the last test that holds it ends.
pub struct Server {
    child: Child,
    dir: tempfile::TempDir,
}

/// The one server that all tests of a moment share.
pub fn server() -> Arc<Server> {
    static SERVER: Mutex<Weak<Server>> = Mutex::new(Weak::new());
    let mut shared = SERVER.lock().unwrap_or_else(PoisonError::into_inner);
    shared.upgrade().unwrap_or_else(|| {
        let server = Arc::new(Server::start());
        *shared = Arc::downgrade(&server);
        server
    })
}

impl Server {
    fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("data");
        let output = Command::new("mariadb-install-db")
            .args([
                "--no-defaults",
                "--user=root",
                "--skip-test-db",
                "--auth-root-authentication-method=normal",
            ])
            .arg(format!("--datadir={}", data.display()))
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let log = std::fs::File::create(dir.path().join("log")).unwrap();
        let child = Command::new("/usr/sbin/mariadbd")
            .args(["--no-defaults", "--user=root", "--skip-networking", "--innodb-flush-log-at-trx-commit=0"])
            .arg(format!("--datadir={}", data.display()))
            .arg(format!("--socket={}", socket(dir.path()).display()))
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        let server = Self { child, dir };
        server.wait();
        server
    }

    fn wait(&self) {
        for _ in 0..600 {
            if Control::connect(&self.target(None)).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let log = std::fs::read_to_string(self.dir.path().join("log")).unwrap_or_default();
        panic!("the server did not come up:\n{log}");
    }

    /// This server, with a default database.
    pub fn target(&self, database: Option<&str>) -> Target {
        Target {
            address: Address::Unix(socket(self.dir.path())),
            user: "root".into(),
            password: None,
            database: database.map(str::to_owned),
            tls: TlsMode::Disabled,
            tls_ca: None,
        }
    }

    /// A connection to a new, empty database.
    pub fn database(&self, name: &str) -> Control {
        Control::connect(&self.target(None)).unwrap().exec(&format!("CREATE DATABASE `{name}`")).unwrap();
        Control::connect(&self.target(Some(name))).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn socket(dir: &Path) -> PathBuf {
    dir.join("socket")
}
