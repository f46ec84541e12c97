//! The guard inside a private server: installed, watched, made to limit, removed; and what is refused.

use super::server::{eventually, mariadb, text};
use crate::cli::{Running, asked, ends, refused};
use crate::house::root;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use tempfile::TempDir;

/// The plugin, which cargo does not build for the tests of another crate.
pub static BUILT: LazyLock<PathBuf> = LazyLock::new(|| {
    let target = Path::new(env!("CARGO_BIN_EXE_evenkeel")).ancestors().nth(2).expect("a folder of builds");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--offline", "--locked", "-p", "evenkeel-inside", "--target-dir"]);
    let output = cargo.arg(target).current_dir(root()).output().expect("cargo can be started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    target.join("debug/libevenkeel_inside.so")
});

/// A server with a plugin folder of its own, which a sandbox does not have.
struct Host {
    folder: TempDir,
    _server: Running,
}

impl Host {
    fn up(settings: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let path = |name: &str| folder.path().join(name).display().to_string();
        fs::create_dir(path("plugins")).expect("a folder");
        let own =
            ["--no-defaults".to_owned(), "--user=root".to_owned(), format!("--datadir={}", path("data"))];
        let mut install = Command::new("mariadb-install-db");
        install.args(&own).args(["--auth-root-authentication-method=normal", "--skip-test-db"]);
        text(&install.stdin(Stdio::null()).output().expect("mariadb-install-db can be started"));
        let mut server = Command::new("mariadbd");
        server.args(&own).args(settings).args(["--skip-networking", "--innodb-buffer-pool-size=32M"]);
        server.arg(format!("--socket={}", path("s"))).arg(format!("--plugin-dir={}", path("plugins")));
        server.env("PATH", format!("{}:/usr/sbin", std::env::var("PATH").unwrap_or_default()));
        server.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let host = Self { _server: Running(server.spawn().expect("mariadbd can be started")), folder };
        eventually("a server", || host.client("SELECT 1").status.success());
        host
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn client(&self, sql: &str) -> std::process::Output {
        mariadb(&["-uroot", "-S", &self.path("s")], &[], sql)
    }

    fn sql(&self, sql: &str) -> String {
        text(&self.client(sql))
    }

    fn url(&self, user: &str) -> String {
        format!("mysql://{user}@/?socket={}", self.path("s"))
    }

    fn install(&self, flags: &[&str]) -> String {
        ends(self.folder.path(), &[&["guard", "install", &self.url("root")], flags].concat(), 0)
    }

    fn refused(&self, user: &str, flags: &[&str]) -> String {
        refused(self.folder.path(), &[&["guard", "install", &self.url(user)], flags].concat())
    }

    fn top(&self) -> (Option<i32>, String) {
        asked(self.folder.path(), &["guard", "top", &self.url("root"), "--once"])
    }
}

fn contains(text: &str, wanted: &[&str]) {
    for wanted in wanted {
        assert!(text.contains(wanted), "{wanted:?} is missing in\n{text}");
    }
}

#[test]
fn the_guard_is_installed_inside_a_server_watched_made_to_limit_and_removed() {
    let host = Host::up(&[]);
    let file = BUILT.display().to_string();
    contains(
        &host.install(&["--file", &file]),
        &["the guard is installed in MariaDB", "mode watch: only watching", "--mode auto"],
    );
    host.sql("CREATE DATABASE shop; CREATE TABLE shop.item (id INT); CREATE USER app@localhost");
    host.sql("GRANT ALL ON shop.* TO app@localhost");
    let insert = "INSERT INTO shop.item VALUES (1); ".repeat(50);
    text(&mariadb(&["-uapp", "-S", &host.path("s")], &[], &insert));
    let (code, shown) = host.top();
    assert_eq!(code, Some(0), "{shown}");
    contains(
        &shown,
        &["only watching, nothing is held back", "\nshort ", "\nlong ", "\ncompleted ", "\nmean wait "],
    );

    eventually("what was inserted", || {
        !host.sql("SHOW GLOBAL STATUS LIKE 'evenkeel_completed'").ends_with("\t0")
    });

    let said = host.install(&["--mode", "auto"]);
    contains(
        &said,
        &["the guard was installed already", "mode auto: limiting", "loose_evenkeel_mode = auto"],
    );
    contains(&host.top().1, &[": limiting\n", "limit "]);
    let json: serde_json::Value =
        serde_json::from_str(&host.install(&["--mode", "12", "--json"])).expect("JSON");
    assert_eq!((&json["mode"], &json["status"]["short_limit"]), (&"12".into(), &"12".into()), "{json}");
    contains(
        &host.install(&["--file", &file]),
        &["mode 12: limiting; limit 12", "runs the old file: restart it"],
    );

    contains(&host.install(&["--uninstall"]), &["the guard is uninstalled from MariaDB"]);
    contains(&host.install(&["--uninstall"]), &["the guard was not installed in MariaDB"]);
    let (code, told) = host.top();
    assert_eq!(code, Some(2));
    contains(&told, &["has no guard inside", "hint: install it: evenkeel guard install mysql://root@"]);
}

#[test]
fn a_server_that_lacks_the_file_or_denies_the_account_is_told_what_to_do() {
    let host = Host::up(&[]);
    let there = host.path("plugins/evenkeel_guard.so");
    let told = host.refused("root", &[]);
    contains(
        &told,
        &["error 1126", "install -m 644 ", &format!(" {there}.new && mv {there}.new {there}\n"), "--file"],
    );
    contains(
        &host.refused("root", &["--file", "/nowhere.so"]),
        &["No such file", "hint: on the server's host, as root:"],
    );
    contains(&host.refused("root", &["--file", "/etc/passwd"]), &["/etc/passwd is not the evenkeel plugin"]);
    assert!(!std::path::Path::new(&there).exists(), "nothing was copied");
    contains(&host.refused("root", &["--mode", "0"]), &["write watch, auto, off, or a limit"]);

    fs::copy(&*BUILT, &there).expect("a copy");
    host.sql("CREATE USER app@localhost");
    contains(&host.refused("app", &[]), &["error 1142", "GRANT INSERT, DELETE ON mysql.plugin"]);
    host.sql("GRANT INSERT ON mysql.plugin TO app@localhost");
    contains(&host.refused("app", &["--mode", "8"]), &["error 1227", "SUPER", "the plugin is installed"]);
    contains(&host.refused("app", &["--uninstall"]), &["error 1142"]);
    contains(&host.install(&["--uninstall"]), &["the guard is uninstalled"]);
}

#[test]
fn a_server_with_a_pool_of_threads_keeps_the_proxy() {
    let host = Host::up(&["--thread-handling=pool-of-threads"]);
    contains(
        &host.refused("root", &[]),
        &["thread_handling is pool-of-threads", "or use the proxy: evenkeel guard --listen"],
    );
}
