//! Recoveries, as a user drills them; and the traps that scripts fall into.

mod failover;

use crate::cli::{await_no_server, ended, ends, evenkeel, kill, piped, refused};
use crate::guard::server::Server;
use crate::sandbox::done;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

/// A whole rehearsal on private servers.
fn rehearsal(words: &[&str]) -> Value {
    let home = tempfile::tempdir().expect("a folder");
    let all = [&["--quiet", "drill", "recover", "--size", "4M", "--json"][..], words].concat();
    let found = json(&done(home.path(), &all));
    let left = done(home.path(), &["sandbox", "list", "--json"]);
    assert_eq!(json(&left), serde_json::json!([]), "nothing stays");
    found
}

fn is_right(found: &Value) {
    assert_eq!(found["is_right"], true, "{found}");
    assert!(found["account"]["acknowledged"].as_u64() > Some(100), "{found}");
    assert!(found["transactions"].as_u64() > Some(10), "{found}");
}

#[test]
fn a_recovery_by_backup_gives_every_row() {
    let found = rehearsal(&["--incrementals", "2"]);
    is_right(&found);
    assert_eq!(found["backups"].as_array().map(Vec::len), Some(3));
}

#[test]
fn a_recovery_by_dump_gives_every_row() {
    is_right(&rehearsal(&["--method", "dump"]));
}

#[test]
fn a_recovery_by_snapshot_gives_every_row() {
    if !crate::mounted::can_mount() {
        return crate::left_out::left_out("a snapshot needs a volume of its own, and root");
    }
    is_right(&rehearsal(&["--method", "snapshot"]));
    // In the place of LVM's.
    let take = "cp -a --reflink=always \"$1\" \"$1\"/../of-command && echo \"$1\"/../of-command";
    let flags = ["--method", "snapshot", "--snapshot-command", take, "--snapshot-remove", "rm -r \"$1\""];
    is_right(&rehearsal(&flags));
}

#[test]
fn an_objective_that_is_missed_ends_with_1_and_says_what_to_shorten() {
    let home = tempfile::tempdir().expect("a folder");
    let words = ["--quiet", "drill", "recover", "--size", "4M", "--method", "dump", "--rto", "1ms"];
    let said = ends(home.path(), &words, 1);
    assert!(said.contains("longer than the objective of 0.001 s: shorten \""), "{said}");
}

/// A server with binary logs, a table with a key and one without, and a full backup; rows follow, in several logs.
struct Scene {
    server: Server,
    backup: PathBuf,
    logs: PathBuf,
}

impl Scene {
    fn new() -> Self {
        let server = Server::up(&[("log_bin", "bin"), ("server_id", "1"), ("binlog_format", "ROW")]);
        server.sql("CREATE TABLE shop.keyed (a INT PRIMARY KEY); CREATE TABLE shop.keyless (a INT)");
        server.sql("INSERT INTO shop.keyed VALUES (1); INSERT INTO shop.keyless VALUES (1)");
        let backup = server.file("backup");
        let target = server.sandbox.target();
        let mut program = Command::new("mariadb-backup");
        program.args(["--no-defaults", "--backup", "--user", &target.user]);
        program.arg(format!("--password={}", target.password.unwrap_or_default()));
        program.arg(format!("--socket={}", server.socket().display()));
        succeeds(program.arg(format!("--target-dir={}", backup.display())));
        server.sql("INSERT INTO shop.keyed VALUES (2); INSERT INTO shop.keyless VALUES (2); FLUSH LOGS");
        server.sql("INSERT INTO shop.keyed VALUES (3); INSERT INTO shop.keyless VALUES (3)");
        let logs = server.sandbox.dir().join("data");
        Self { server, backup, logs }
    }

    fn binary_logs(&self) -> Vec<PathBuf> {
        let names = self.server.sql("SHOW BINARY LOGS");
        names.lines().filter_map(|line| line.split('\t').next()).map(|name| self.logs.join(name)).collect()
    }

    /// Recovers up to a place; the server stays.
    fn recover(&self, more: &[&str]) -> Restored<'_> {
        let (backup, logs) = (text(&self.backup), text(&self.logs));
        let words =
            ["--quiet", "drill", "recover", "--from", &backup, "--logs", &logs, "--keep", "kept", "--json"];
        Restored { found: json(&done(self.home(), &[&words[..], more].concat())), scene: self }
    }

    fn home(&self) -> &Path {
        self.server.home.path()
    }

    /// What the naive way makes: the backup alone, with the SQL of mariadb-binlog.
    fn by_hand(&self, arguments: &[&str], logs: &[PathBuf]) -> (Restored<'_>, Output) {
        let backup = text(&self.backup);
        let words = ["--quiet", "drill", "recover", "--from", &backup, "--keep", "kept", "--json"];
        let restored = Restored { found: json(&done(self.home(), &words)), scene: self };
        // As servers have it; for dumps the drill's own has more.
        restored.sql("SET GLOBAL max_allowed_packet = 16777216");
        let read = Command::new("mariadb-binlog").args(["--no-defaults"]).args(arguments).args(logs).output();
        let read = read.expect("mariadb-binlog");
        let script = self.server.file("by-hand.sql");
        fs::write(&script, &read.stdout).expect("a file");
        let input = fs::File::open(&script).expect("it is there");
        let mut client = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
        client.args(["sandbox", "shell", "kept", "--home"]).arg(self.home()).stdin(input);
        (restored, if read.status.success() { client.output().expect("a client") } else { read })
    }
}

struct Restored<'a> {
    found: Value,
    scene: &'a Scene,
}

impl Restored<'_> {
    fn sql(&self, sql: &str) -> String {
        let home = self.scene.home();
        done(home, &["sandbox", "shell", "kept", "--", "-N", "-e", sql])
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    }

    fn rows(&self) -> String {
        self.sql("SELECT GROUP_CONCAT(a ORDER BY a) FROM shop.keyed; SELECT GROUP_CONCAT(a ORDER BY a) FROM shop.keyless")
    }
}

impl Drop for Restored<'_> {
    fn drop(&mut self) {
        done(self.scene.home(), &["sandbox", "down", "kept"]);
        done(self.scene.home(), &["sandbox", "clean", "kept", "--yes"]);
    }
}

fn text(path: &Path) -> String {
    path.to_str().expect("UTF-8").to_owned()
}

fn succeeds(command: &mut Command) {
    let output = command.output().expect("a program");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Traps 1 and 5: what the backup has already is applied again, or a filter by GTID does not bear several files.
#[test]
fn nothing_older_than_the_backup_is_applied_from_however_many_logs() {
    let scene = Scene::new();
    let (naive, said) = scene.by_hand(&["-D"], &scene.binary_logs());
    let error = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(!said.status.success() || naive.rows() != "1,2,3 1,2,3", "{error}");
    drop(naive);
    let ours = scene.recover(&[]);
    assert_eq!(ours.rows(), "1,2,3 1,2,3");
    assert_eq!(ours.found["transactions"], 4);
}

/// Trap 2: one event larger than max_allowed_packet.
#[test]
fn an_event_larger_than_a_packet_is_applied() {
    let scene = Scene::new();
    scene.server.sql(
        "CREATE TABLE shop.big (a INT, b LONGBLOB); INSERT INTO shop.big VALUES (1, REPEAT('x', 20000000))",
    );
    scene.server.sql("INSERT INTO shop.keyed VALUES (4)");
    let logs = scene.binary_logs();
    let position = fs::read_to_string(scene.backup.join("xtrabackup_binlog_info")).expect("a position");
    let start = format!("--start-position={}", position.split_whitespace().nth(1).expect("an offset"));
    let (naive, said) = scene.by_hand(&[&start], &logs);
    assert!(!said.status.success(), "the naive way works: {}", naive.rows());
    drop(naive);
    let ours = scene.recover(&[]);
    assert_eq!(ours.sql("SELECT LENGTH(b) FROM shop.big"), "20000000");
    assert_eq!(ours.rows(), "1,2,3,4 1,2,3");
}

/// Trap 3: a restored copy whose settings are those of the live server finds its binary logs, and removes them.
#[test]
fn a_restored_server_cannot_touch_the_logs_of_the_live_one() {
    const PURGE: &str = "FLUSH LOGS; PURGE BINARY LOGS BEFORE NOW() + INTERVAL 1 HOUR";
    let scene = Scene::new();
    let ours = scene.recover(&[]);
    assert_eq!(ours.sql("SELECT @@log_bin, @@server_id <> 1"), "0 1");
    ours.sql(PURGE);
    assert_eq!(ours.sql("SHOW SLAVE STATUS"), "", "it knows no source");
    drop(ours);
    let logs = scene.binary_logs();
    assert!(logs.iter().all(|log| log.exists()));
    let setting = format!("log_bin={}", text(&scene.logs.join("bin")));
    done(scene.home(), &["sandbox", "up", "naive", "--set", &setting, "--set", "server_id=1"]);
    done(scene.home(), &["sandbox", "shell", "naive", "--", "-e", PURGE]);
    assert!(!logs[0].exists(), "the naive way harms");
    done(scene.home(), &["sandbox", "down", "naive"]);
}

/// Trap 4: a time of whole seconds cannot tell transactions of one second apart.
#[test]
fn transactions_of_one_second_are_told_apart_by_gtid_and_by_position() {
    let scene = Scene::new();
    scene.server.sql("SET TIMESTAMP = 1893456000; INSERT INTO shop.keyed VALUES (4); SET @g = @@last_gtid; INSERT INTO shop.keyed VALUES (5)");
    let last = scene.server.sql("SELECT @@gtid_binlog_pos");
    let number: u64 = last.rsplit('-').next().and_then(|number| number.parse().ok()).expect("a GTID");
    let gtid = format!("0-1-{}", number - 1);
    assert_eq!(scene.recover(&["--until", &gtid]).rows(), "1,2,3,4 1,2,3");
    assert_eq!(scene.recover(&["--until", &last]).rows(), "1,2,3,4,5 1,2,3");
    assert_eq!(scene.recover(&["--until", "2030-01-01 00:00:00 UTC"]).rows(), "1,2,3 1,2,3");
    // The first transaction of a log that a rotation began.
    let events = scene.server.sql("SHOW BINLOG EVENTS IN 'bin.000002'");
    let first =
        events.lines().find(|line| line.contains("\tGtid\t")).and_then(|line| line.split('\t').nth(1));
    let place = format!("bin.000002:{}", first.expect("a transaction"));
    assert_eq!(scene.recover(&["--until", &place]).rows(), "1,2 1,2");
    let (backup, logs) = (text(&scene.backup), text(&scene.logs));
    let words =
        ["--quiet", "drill", "recover", "--from", &backup, "--logs", &logs, "--until", "2026-01-01 00:00:00"];
    assert!(refused(scene.home(), &words).contains("which is after that time"));
}

#[test]
fn what_cannot_be_recovered_is_refused_in_words() {
    let scene = Scene::new();
    let (backup, logs) = (text(&scene.backup), text(&scene.logs));
    let recover = |words: &[&str]| {
        refused(scene.home(), &[&["--quiet", "drill", "recover", "--from"][..], words].concat())
    };
    assert!(recover(&["/", "--logs", &logs]).contains("/ is not a mariadb-backup folder"));
    assert!(
        recover(&[&backup, "--logs", &logs, "--until", "0-1-99999"]).contains("0-1-99999 is not in the logs")
    );
    assert!(
        recover(&[&backup, "--logs", &logs, "--until", "some day"])
            .contains("is not a GTID, a position or a time")
    );
    let gone = scene.server.file("gone");
    fs::create_dir(&gone).expect("a folder");
    for log in scene.binary_logs().iter().skip(1) {
        fs::copy(log, gone.join(log.file_name().expect("a name"))).expect("a copy");
    }
    assert!(recover(&[&backup, "--logs", &text(&gone)]).contains("the binary log bin.000001 is not in"));
}

#[test]
fn an_account_that_bypasses_read_only_is_named_with_other_risks() {
    let scene = Scene::new();
    scene.server.sql("CREATE TABLE shop.aria (a INT PRIMARY KEY) ENGINE=Aria; SET GLOBAL sync_binlog = 0");
    scene.server.sql("CREATE TABLE shop.large (a LONGBLOB)");
    scene
        .server
        .sql("INSERT INTO shop.large VALUES (REPEAT('x', 3000000)); SET GLOBAL max_allowed_packet = 3145728");
    let url = format!("mysql://app@{}", scene.server.address());
    let said = ends(scene.home(), &["drill", "check", &url], 1);
    for line in [
        "'app'@'localhost' may write to a replica that is read_only",
        "shop.keyless has no primary key",
        "fix: ALTER TABLE `shop`.`aria` ENGINE = InnoDB",
        "fix: SET GLOBAL sync_binlog = 1",
        "the binary logs are in the data directory",
        "max_allowed_packet = 3145728: mariadb-binlog | mariadb cannot apply it",
    ] {
        assert!(said.contains(line), "{line} is not in {said}");
    }
}

/// A server that `make servers` fetches.
fn fetched(program: &str) -> Option<String> {
    let found = crate::servers::root().join(program).canonicalize().ok();
    if found.is_none() {
        crate::left_out::left_out(format!("{program} is missing: make servers"));
    }
    found.map(|path| text(&path))
}

#[test]
fn mysql_is_recovered_by_snapshot() {
    if let Some(program) = fetched("mysql-9.7/usr/sbin/mysqld")
        && crate::mounted::can_mount()
    {
        is_right(&rehearsal(&["--method", "snapshot", "--server-binary", &program]));
    }
}

#[test]
fn a_newer_mariadb_is_recovered_and_fails_over() {
    if let Some(program) = fetched("mariadb-11.8/usr/sbin/mariadbd") {
        is_right(&rehearsal(&["--method", "dump", "--server-binary", &program]));
        failover::made(&["--mode", "after-sync", "--fault", "kill", "--server-binary", &program], 0);
    }
}

#[test]
fn failovers_of_mysql_are_refused() {
    if let Some(program) = fetched("mysql-9.7/usr/sbin/mysqld") {
        let home = tempfile::tempdir().expect("a folder");
        let said = refused(home.path(), &["--quiet", "drill", "failover", "--server-binary", &program]);
        assert!(said.contains("drill failover needs MariaDB"), "{said}");
    }
}

#[test]
fn a_server_of_the_users_is_read_and_its_copy_recovered() {
    let scene = Scene::new();
    scene.server.sql("CREATE TABLE shop.versioned (a INT PRIMARY KEY) WITH SYSTEM VERSIONING; INSERT INTO shop.versioned VALUES (1)");
    scene.server.sql("CREATE SEQUENCE shop.numbers; DO NEXTVAL(shop.numbers)");
    scene.server.sql(
        "SET GLOBAL max_allowed_packet = 67108864; CREATE TABLE shop.large (a INT PRIMARY KEY, b LONGBLOB)",
    );
    scene.server.sql("INSERT INTO shop.large VALUES (1, REPEAT('x', 30000000))");
    let before = scene.server.sql("SELECT @@gtid_binlog_pos; SHOW DATABASES");
    let url = format!("mysql://app@{}", scene.server.address());
    for method in ["backup", "dump"] {
        let words = ["--quiet", "drill", "recover", &url, "--method", method, "--json"];
        is_right(&json(&done(scene.home(), &words)));
    }
    assert_eq!(scene.server.sql("SELECT @@gtid_binlog_pos; SHOW DATABASES"), before, "it is as it was");
}

#[test]
fn ctrl_c_ends_a_drill_and_leaves_nothing() {
    let home = tempfile::tempdir().expect("a folder");
    for words in [&["drill", "recover", "--size", "4M"][..], &["drill", "failover"]] {
        let child = piped(home.path(), words);
        std::thread::sleep(Duration::from_secs(4));
        evenkeel_os::process::signal(child.id() as i32, 2);
        ended(&child.wait_with_output().expect("it ends"), 130);
        assert_eq!(fs::read_dir(home.path()).expect("the home").count(), 0, "nothing stays");
    }
}

#[test]
fn a_killed_drill_leaves_nothing_that_clean_does_not_remove() {
    let home = tempfile::tempdir().expect("a folder");
    for (words, milliseconds) in [
        (&["drill", "recover", "--size", "4M"][..], 1_500),
        (&["drill", "recover", "--size", "4M"], 6_000),
        (&["drill", "recover", "--size", "4M"], 9_000),
        (&["drill", "failover"], 3_000),
        (&["drill", "failover"], 6_500),
        (&["drill", "failover", "--reach", "guard"], 5_000),
        (&["drill", "failover", "--reach", "haproxy"], 5_000),
        (&["drill", "failover", "--reach", "address"], 5_000),
        (&["drill", "failover", "--fault", "cut"], 5_000),
        (&["drill", "failover", "--fault", "full"], 5_000),
        (&["drill", "recover", "--method", "snapshot", "--size", "4M"], 6_000),
    ] {
        let child = piped(home.path(), words);
        std::thread::sleep(Duration::from_millis(milliseconds));
        kill(child);
        await_no_server(home.path());
        ended(&evenkeel(home.path(), &["sandbox", "clean", "--yes"]), 0);
        assert_eq!(json(&done(home.path(), &["sandbox", "list", "--json"])), serde_json::json!([]));
    }
}
