//! A private MariaDB with the plugin, and its clients.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

pub struct Server {
    folder: PathBuf,
    pub process: Child,
}

/// Uses a CPU for about half a minute, in the long lane.
pub const BUSY: &str =
    "/* evenkeel: lane=long */ SELECT COUNT(*) FROM t WHERE id = 1 AND BENCHMARK(300000000, MD5('a')) >= 0";

impl Server {
    pub fn start(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("evenkeel-inside-{name}-{}", std::process::id()));
        let plugins = folder.join("plugins");
        fs::create_dir_all(&plugins).expect("a folder");
        let built = std::env::current_exe().expect("a test");
        let built = built.parent().expect("a folder").join("libevenkeel_inside.so");
        fs::copy(&built, plugins.join("evenkeel_guard.so")).expect("the plugin is built with its tests");
        let data = folder.join("data");
        let installed = Command::new("mariadb-install-db")
            .args([
                "--no-defaults",
                "--auth-root-authentication-method=normal",
                "--skip-test-db",
                "--user=root",
            ])
            .arg(format!("--datadir={}", data.display()))
            .output()
            .expect("mariadb-install-db");
        assert!(installed.status.success(), "{}", String::from_utf8_lossy(&installed.stderr));
        let log = fs::File::create(folder.join("log")).expect("a log");
        let process = Command::new("/usr/sbin/mariadbd")
            .args(["--no-defaults", "--user=root", "--skip-networking", "--innodb-buffer-pool-size=32M"])
            .args(["--innodb-log-file-size=16M", "--event-scheduler=ON", "--max-connections=700"])
            .arg(format!("--datadir={}", data.display()))
            .arg(format!("--socket={}", folder.join("s").display()))
            .arg(format!("--plugin-dir={}", plugins.display()))
            .stderr(log)
            .stdout(Stdio::null())
            .spawn()
            .expect("mariadbd");
        let server = Self { folder, process };
        server.until("the server to answer", || server.run("root", "SELECT 1").status.success());
        server.root(
            "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, v INT); INSERT INTO d.t VALUES (1, 1), (2, 2), (3, 3); \
             CREATE TABLE d.other (a INT); \
             CREATE USER app@localhost; GRANT ALL ON *.* TO app@localhost; REVOKE SUPER ON *.* FROM app@localhost; \
             INSTALL SONAME 'evenkeel_guard'; SET GLOBAL evenkeel_long_limit = 1; SET GLOBAL evenkeel_mode = 'auto'",
        );
        server.until("the limit", || server.status("long_limit") == "1");
        server
    }

    pub fn client(&self, user: &str) -> Command {
        let mut client = Command::new("mariadb");
        client.args(["--no-defaults", "--comments", "--unbuffered", "-N", "-u", user]);
        client.arg(format!("--socket={}", self.folder.join("s").display()));
        client.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if user == "app" {
            client.arg("d");
        }
        client
    }

    fn run(&self, user: &str, sql: &str) -> Output {
        self.client(user).args(["-e", sql]).output().expect("a client")
    }

    /// What the statements say, which have to succeed.
    pub fn root(&self, sql: &str) -> String {
        let output = self.run("root", sql);
        assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// A client at work.
    pub fn app(&self, sql: &str) -> Child {
        self.client("app").args(["-e", sql]).spawn().expect("a client")
    }

    pub fn status(&self, name: &str) -> String {
        let shown = self.root(&format!("SHOW GLOBAL STATUS LIKE 'evenkeel_{name}'"));
        shown.split('\t').nth(1).unwrap_or_default().to_owned()
    }

    pub fn waiting(&self) -> Vec<String> {
        let ids = self.root(
            "SELECT id FROM information_schema.processlist WHERE state = 'waiting for a place (evenkeel)' ORDER BY id",
        );
        ids.lines().map(str::to_owned).collect()
    }

    pub fn until(&self, what: &str, mut come: impl FnMut() -> bool) {
        #[allow(clippy::disallowed_methods)]
        let began = Instant::now();
        while !come() {
            #[allow(clippy::disallowed_methods)]
            let lasted = began.elapsed();
            assert!(lasted < Duration::from_secs(60), "waited in vain for {what}");
            pause(20);
        }
    }

    /// Somebody uses the only place of the long lane until it is killed.
    pub fn occupied(&self) -> Child {
        let busy = self.app(BUSY);
        self.until("the place to be taken", || self.status("long_running") == "1");
        busy
    }

    /// The same by work on another table.
    pub fn occupied_elsewhere(&self) -> Child {
        let busy = self.app(&BUSY.replace("FROM t WHERE id = 1 AND", "FROM (SELECT 1) one WHERE"));
        self.until("the place to be taken", || self.status("long_running") == "1");
        busy
    }

    /// Kills all statements of clients.
    pub fn clear(&self) {
        for id in self.root("SELECT id FROM information_schema.processlist WHERE user = 'app'").lines() {
            let _ = self.run("root", &format!("KILL {id}"));
        }
        self.until("places to come back", || self.is_clear());
    }

    pub fn is_clear(&self) -> bool {
        ["short_running", "short_waiting", "long_running", "long_waiting", "aside"]
            .iter()
            .all(|name| self.status(name) == "0")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[allow(clippy::disallowed_methods)]
pub fn pause(milliseconds: u64) {
    std::thread::sleep(Duration::from_millis(milliseconds));
}

/// What a client said, and its errors.
pub fn said(client: Child) -> (String, String) {
    let output = client.wait_with_output().expect("a client");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    (text(&output.stdout), text(&output.stderr))
}

/// How long something took.
pub fn timed<R>(act: impl FnOnce() -> R) -> (R, Duration) {
    #[allow(clippy::disallowed_methods)]
    let began = Instant::now();
    let result = act();
    #[allow(clippy::disallowed_methods)]
    let lasted = began.elapsed();
    (result, lasted)
}
