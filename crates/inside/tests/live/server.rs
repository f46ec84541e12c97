//! A private MariaDB with the plugin, and its clients.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

pub struct Server {
    folder: PathBuf,
    pub mysql: bool,
    pub process: Child,
}

pub const LONG: &str = "/* evenkeel: lane=long */ ";
/// Uses a CPU for minutes, in the long lane.
pub const BUSY: &str = "/* evenkeel: lane=long */ SELECT COUNT(*) FROM t WHERE id = 1 AND BENCHMARK(1000000000, SHA2('a', 256)) >= 0";

/// A program of another root, by its own loader and libraries.
fn program(root: &Path, name: &str) -> Option<Command> {
    let libraries = root.join("usr/lib").join(format!("{}-linux-gnu", std::env::consts::ARCH));
    let mut files = fs::read_dir(&libraries).ok()?.flatten();
    let loader = files.find(|file| file.file_name().to_string_lossy().starts_with("ld-linux"))?.path();
    let path = root.join("usr/sbin").join(name);
    path.exists().then(|| {
        let mut command = Command::new(loader);
        command.arg("--library-path").arg(libraries).arg(path);
        command
    })
}

impl Server {
    /// The machine's own MariaDB.
    pub fn start(name: &str) -> Self {
        Self::with(name, Some(Command::new("/usr/sbin/mariadbd")), None).expect("mariadbd")
    }

    /// Another one, of those that `make servers` fetches.
    pub fn elsewhere(name: &str) -> Option<Self> {
        let servers = std::env::var_os("EVENKEEL_SERVERS").map(PathBuf::from);
        let servers =
            servers.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/servers"));
        let root = servers.join(name);
        let mysql = name.starts_with("mysql");
        Self::with(name, program(&root, if mysql { "mysqld" } else { "mariadbd" }), Some((&root, mysql)))
    }

    fn with(name: &str, server: Option<Command>, root: Option<(&Path, bool)>) -> Option<Self> {
        let mut server = server?;
        let mysql = root.is_some_and(|(_, mysql)| mysql);
        let folder = std::env::temp_dir().join(format!("evenkeel-inside-{name}-{}", std::process::id()));
        let (plugins, data) = (folder.join("plugins"), folder.join("data"));
        fs::create_dir_all(&plugins).expect("a folder");
        let built = std::env::current_exe().expect("a test");
        let built = built.parent().expect("a folder").join("libevenkeel_inside.so");
        fs::copy(&built, plugins.join("evenkeel_guard.so")).expect("the plugin is built with its tests");
        server.args(["--no-defaults", "--user=root"]).arg(format!("--datadir={}", data.display()));
        server.arg(format!("--tmpdir={}", folder.display()));
        if let Some((root, _)) = root {
            server.arg(format!("--basedir={}", root.join("usr").display()));
        }
        let more: &[&str] = if mysql {
            &["--mysqlx=OFF", "--secure-file-priv=NULL"]
        } else {
            &["--innodb-log-file-size=16M"]
        };
        server.args(more);
        if mysql {
            let mut initialize = Command::new(server.get_program());
            initialize.args(server.get_args()).arg("--initialize-insecure");
            quietly(&mut initialize);
        } else {
            // A newer MariaDB begins with the tables of an older one.
            let mut install = Command::new("mariadb-install-db");
            install.args([
                "--no-defaults",
                "--auth-root-authentication-method=normal",
                "--skip-test-db",
                "--user=root",
            ]);
            install.arg(format!("--tmpdir={}", folder.display()));
            quietly(install.arg(format!("--datadir={}", data.display())));
        }
        let log = fs::File::create(folder.join("log")).expect("a log");
        server
            .args([
                "--skip-networking",
                "--innodb-buffer-pool-size=32M",
                "--event-scheduler=ON",
                "--max-connections=700",
            ])
            .arg(format!("--socket={}", folder.join("s").display()))
            .arg(format!("--plugin-dir={}", plugins.display()));
        let process = server.stderr(log).stdout(Stdio::null()).spawn().expect("a server");
        let server = Self { folder, mysql, process };
        server.until("the server to answer", || server.run("root", "SELECT 1").status.success());
        server.root(
            "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, v INT); INSERT INTO d.t VALUES (1, 1), (2, 2), (3, 3); \
             CREATE TABLE d.other (a INT); CREATE USER app@localhost; GRANT ALL ON *.* TO app@localhost",
        );
        server.install();
        Some(server)
    }

    /// The gate limits, long transactions to one at a time.
    pub fn install(&self) {
        self.root(if self.mysql {
            "INSTALL PLUGIN evenkeel SONAME 'evenkeel_guard.so'"
        } else {
            "INSTALL SONAME 'evenkeel_guard'"
        });
        self.root("SET GLOBAL evenkeel_long_limit = 1; SET GLOBAL evenkeel_mode = 'auto'");
        self.until("the limit", || self.status("long_limit") == "1" && self.status("state") == "limiting");
    }

    pub fn uninstall(&self) {
        self.root(if self.mysql { "UNINSTALL PLUGIN evenkeel" } else { "UNINSTALL SONAME 'evenkeel_guard'" });
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

    /// Why the server does not do it.
    pub fn refused(&self, sql: &str) -> String {
        let output = self.run("root", sql);
        assert!(!output.status.success(), "{sql} was done");
        String::from_utf8_lossy(&output.stderr).trim().to_owned()
    }

    /// Lines of the error log that are the plugin's.
    pub fn log(&self) -> Vec<String> {
        let log = fs::read(self.folder.join("log")).expect("a log");
        let log = String::from_utf8_lossy(&log).into_owned();
        log.lines().filter(|line| line.contains("evenkeel: ")).map(str::to_owned).collect()
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

    pub fn kill_all(&self) {
        for id in self.root("SELECT id FROM information_schema.processlist WHERE user = 'app'").lines() {
            let _ = self.run("root", &format!("KILL {id}"));
        }
    }

    /// Ends all clients, whose places have to come back.
    pub fn clear(&self) {
        self.kill_all();
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

fn quietly(command: &mut Command) {
    let done = command.stdin(Stdio::null()).output().expect("a program");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
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
