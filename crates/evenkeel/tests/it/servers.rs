//! Each job on each server: the machine's own MariaDB, and those that `make servers` has fetched. `bench/servers` counts the lines.

use crate::cdr_scene::Scene;
use crate::cli::{asked, kill, refused, text, words};
use crate::left_out::left_out;
use crate::sandbox::{done, measured};
use evenkeel_core::Nanos;
use evenkeel_guard::proxy::{Guard, Plan};
use evenkeel_site::server::{Address, Control, Local, Target, TlsMode};
use serde_json::Value;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// A server by URL, as one of the user's.
struct Place {
    scene: Scene,
    program: Option<String>,
}

type Job = fn(&mut Place);

/// In the order of a day's work: what one leaves, the next one takes.
const JOBS: [(&str, Job); 15] = [
    ("fill", fill),
    ("check", check),
    ("explain", explain),
    ("load", load),
    ("profile", profile),
    ("reset", reset),
    ("compare", compare),
    ("guard", guard),
    ("cdr load", cdr_load),
    ("dispatch", dispatch),
    ("audit", audit),
    ("export", export),
    ("layout", layout),
    ("relayout", relayout),
    ("sandbox", sandbox),
];

#[test]
fn mariadb_10_11() {
    every_job("mariadb_10_11", None);
}

#[test]
fn mariadb_11_8() {
    fetched("mariadb_11_8", "mariadb-11.8/usr/sbin/mariadbd");
}

#[test]
fn mysql_9_7() {
    fetched("mysql_9_7", "mysql-9.7/usr/sbin/mysqld");
}

/// A root, process numbers and a host name of its own.
const CONTAINER: &str = "\
hostname box-7 && mount -t tmpfs none mnt && mount -t proc proc proc && hostname >mnt/hostname || exit 77
touch etc/hostname && mount --bind mnt/hostname etc/hostname || exit 77
set -- chroot . mysqld --no-defaults --user=root --datadir=/mnt/data
\"$@\" --initialize-insecure && exec \"$@\" --port=$PORT --bind-address=127.0.0.1 --socket=/mnt/s --mysqlx=OFF \\
  --secure-file-priv=/mnt";

#[test]
fn a_server_in_a_container_is_found_by_what_it_says() {
    let root = root().join("mysql-9.7");
    let port = crate::guard::server::free_port();
    let mut container = Command::new("unshare");
    container.args(["--mount", "--uts", "--pid", "--fork", "--kill-child", "sh", "-c", CONTAINER]);
    let started = container.current_dir(&root).env("PORT", port.to_string()).stdin(Stdio::null()).spawn();
    let Ok(mut container) = started else {
        return left_out("mysql-9.7 is missing (make servers), or unshare is");
    };
    let target = Target {
        address: Address::Tcp { host: "127.0.0.1".to_owned(), port },
        user: "root".to_owned(),
        password: None,
        database: None,
        tls: TlsMode::Disabled,
        tls_ca: None,
    };
    let found = loop {
        match (Control::connect(&target), container.try_wait().expect("a child")) {
            (Ok(mut control), _) => break Local::of(&mut control),
            (_, Some(status)) if status.code() == Some(77) => {
                return left_out("this machine lets nobody make a container");
            }
            (_, Some(status)) => panic!("the server has ended: {status}"),
            _ => std::thread::sleep(Duration::from_millis(50)),
        }
    };
    let seen = found.as_ref().map(|found| found.data_dir.join("ibdata1").exists());
    kill(container);
    let found = found.expect("the server's process");
    assert_eq!(seen, Some(true), "{found:?}");
    assert!(found.data_dir.starts_with(format!("/proc/{}/root", found.pid)), "{found:?}");
}

pub fn root() -> PathBuf {
    let usual = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/servers");
    std::env::var_os("EVENKEEL_SERVERS").map_or_else(usual, PathBuf::from)
}

fn fetched(name: &str, program: &str) {
    match root().join(program).canonicalize() {
        Ok(program) => every_job(name, program.to_str()),
        Err(_) => left_out(format!("{program} is missing: make servers")),
    }
}

fn every_job(server: &str, program: Option<&str>) {
    let flags: Vec<&str> = program.into_iter().flat_map(|path| ["--server-binary", path]).collect();
    let small = ["--set", "innodb_buffer_pool_size=64M", "--set", "innodb_log_file_size=48M"];
    let mut scene = Scene::with(evenkeel_haul::generate::LAYOUT, &[&flags[..], &small].concat());
    for sql in
        ["CREATE USER app@'%' IDENTIFIED BY 'secret'", "GRANT ALL ON *.* TO app@'%'", "CREATE DATABASE tpcw"]
    {
        scene.exec(sql);
    }
    let mut place = Place { scene, program: program.map(str::to_owned) };
    let (version, series) = (place.value("SELECT VERSION()"), server.replace('_', "."));
    if !version.starts_with(series.trim_start_matches(|letter: char| !letter.is_ascii_digit())) {
        return left_out(format!("{server}: the server that is here is {version}"));
    }
    #[allow(clippy::print_stdout, reason = "bench/servers reads it")]
    let failed = JOBS.iter().filter(|(job, run)| {
        let outcome = catch_unwind(AssertUnwindSafe(|| run(&mut place)));
        println!("servers: {server}: {job}: {}", if outcome.is_ok() { "works" } else { "fails" });
        outcome.is_err()
    });
    let failed: Vec<&str> = failed.map(|(job, _)| *job).collect();
    assert!(failed.is_empty(), "{server}: {failed:?}");
}

impl Place {
    fn address(&mut self) -> String {
        format!("127.0.0.1:{}", self.value("SELECT @@port"))
    }

    fn url(&mut self, database: &str) -> String {
        format!("mysql://app:secret@{}/{database}", self.address())
    }

    fn value(&mut self, sql: &str) -> String {
        self.scene.control.query_value(sql).expect(sql).unwrap_or_default()
    }

    fn client(&self) -> Command {
        let Some(base) = self.program.as_ref().and_then(|path| Path::new(path).parent()?.parent()) else {
            return Command::new("mariadb");
        };
        let programs = ["mariadb", "mysql"].map(|name| base.join("bin").join(name));
        let program = programs.into_iter().find(|program| program.exists()).expect("a client");
        let libraries =
            fs::read_dir(base.join("lib")).expect("libraries").flatten().map(|entry| entry.path());
        let loaders = libraries.flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten());
        let loader = loaders
            .map(|file| file.path())
            .find(|file| file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("ld-linux")));
        let loader = loader.expect("a loader");
        let mut client = Command::new(&loader);
        client.arg("--library-path").arg(loader.parent().expect("a folder")).arg(program);
        client
    }

    fn done(&self, words: &[&str]) -> String {
        done(self.scene.home(), words)
    }

    fn json(&self, words: &[&str]) -> Value {
        serde_json::from_str(&self.done(&[words, &["--json"]].concat())).expect("JSON")
    }

    fn path(&self, name: &str) -> String {
        self.scene.home().join(name).display().to_string()
    }

    fn study(&self, words: &[&str]) -> Vec<Value> {
        let runs = self.scene.home().join("runs");
        let before: Vec<_> = studies(&runs);
        let short = ["--rate", "20", "--whole-sweep", "--repeats", "2", "--retries", "0", "--duration", "1s"];
        measured(self.scene.home(), &[&["-q", "profile"], words, &short, &["--warm-up", "500ms"]].concat());
        let study = studies(&runs).into_iter().find(|study| !before.contains(study)).expect("a study");
        let runs = studies(&study.join("runs")).into_iter().map(|run| run.join("run.json"));
        runs.map(|run| serde_json::from_slice(&fs::read(run).expect("a run")).expect("JSON")).collect()
    }
}

fn studies(runs: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(runs).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

fn fill(place: &mut Place) {
    let url = place.url("tpcw");
    place.done(&["data", "fill", &url, "--ebs", "1", "--items", "100"]);
    assert_eq!(place.value("SELECT COUNT(*) FROM tpcw.item"), "100");
}

fn check(place: &mut Place) {
    let url = place.url("tpcw");
    assert!(place.done(&["data", "check", &url]).contains("checksum"));
}

fn explain(place: &mut Place) {
    let url = place.url("tpcw");
    let plans = place.json(&["explain", &url, "--workload", "tpcw.simple"]);
    assert!(plans.as_array().is_some_and(|plans| !plans.is_empty()), "{plans}");
}

fn load(place: &mut Place) {
    let url = place.url("tpcw");
    measured(place.scene.home(), &["load", &url, "--rate", "20", "--duration", "1s", "--warm-up", "0s"]);
}

/// A server of the user's: its process is found by what it says, and its CPU use is measured.
fn profile(place: &mut Place) {
    let url = place.url("tpcw");
    let marks = place.scene.home().join("resets");
    let mark = format!("echo >> {}", marks.display());
    let runs = place.study(&[&url, "--workload", "tpcw.simple", "--reset-command", &mark]);
    let resets = std::fs::read_to_string(&marks).expect("a mark of each").lines().count();
    assert!(runs.len() == 2 && resets >= 2, "{resets} resets of {} runs", runs.len());
    assert!(runs.iter().all(|run| run["theta"]["total_percent"].as_f64() > Some(0.0)), "{runs:?}");
}

/// A private server whose runs write.
fn reset(place: &mut Place) {
    let program = place.program.clone();
    let program: Vec<&str> = program.iter().flat_map(|path| ["--server-binary", path]).collect();
    let data = ["--workload", "tpcw.write", "--ebs", "1", "--items", "100"];
    let runs = place.study(&[&data[..], &program].concat());
    assert_eq!(runs.len(), 2);
    // Both runs number their lines on from the orders of the data set, and the second one finds none of the first one's.
    let home = place.scene.home();
    let folders = fs::read_dir(home.join("sandboxes")).expect("sandboxes").flatten();
    let mut names = folders.map(|folder| folder.file_name().to_string_lossy().into_owned());
    let name = names.find(|name| name.starts_with("tpcw-1-100-")).expect("its sandbox");
    place.done(&["sandbox", "up", &name]);
    let counts = "SELECT SUM(ol_o_id = 1 + orders), SUM(ol_o_id > 1 + orders) FROM tpcw.order_line, \
                  (SELECT MAX(o_id) AS orders FROM tpcw.orders) AS seed";
    let (_, counts) = asked(home, &["sandbox", "shell", &name, "--", "-Ne", counts]);
    place.done(&["sandbox", "down", &name]);
    let written: Vec<u64> = counts.split_whitespace().filter_map(|count| count.parse().ok()).collect();
    assert!(matches!(written[..], [0, second] if second > 0), "of the first and second run: {counts}");
}

/// A study and its copy, whatever this machine did to the generator: the same, and worse where each run of the copy takes twice as long.
fn compare(place: &mut Place) {
    let home = place.scene.home();
    let study = studies(&home.join("runs")).into_iter().next().expect("a study");
    for name in ["one", "other"] {
        crate::compare::copy(&study, name, "settled");
    }
    let compared = || asked(home, &["compare", "one", "other", "--of", "response"]);
    let (code, said) = compared();
    assert!(code == Some(0) && said.starts_with("the same"), "{said}");
    for run in crate::compare::run_folders(&home.join("runs/other")) {
        crate::compare::edit(&run.join("run.json"), |run| run["response"]["mean_ms"] = 6.0.into());
    }
    let (code, said) = compared();
    assert!(code == Some(1) && said.starts_with("worse"), "{said}");
}

/// By each plugin that the server has or can load for passwords, with the server's own client; those that it lacks are named.
fn guard(place: &mut Place) {
    let backend = place.address().parse().expect("an address");
    let guard =
        Guard::start(Plan::new("127.0.0.1:0".parse().expect("an address"), backend)).expect("a guard");
    let port = guard.ports()[0].to_string();
    let version = place.value("SELECT VERSION()");
    let wanted = match version.split('.').next() {
        _ if !version.contains("MariaDB") => &["caching_sha2_password", "sha256_password"][..],
        Some("10") => &["mysql_native_password", "ed25519"],
        _ => &["mysql_native_password", "ed25519", "parsec"],
    };
    for plugin in wanted.iter().filter(|plugin| !plugin.contains("password")) {
        let _ = place.scene.control.exec(&format!("INSTALL SONAME 'auth_{plugin}'"));
    }
    let sql = "SELECT GROUP_CONCAT(PLUGIN_NAME) FROM information_schema.PLUGINS WHERE PLUGIN_STATUS = 'ACTIVE' AND PLUGIN_NAME IN \
               ('mysql_native_password', 'caching_sha2_password', 'sha256_password', 'ed25519', 'parsec')";
    let plugins = place.value(sql);
    let is_mysql = !version.contains("MariaDB");
    assert!(plugins.contains(wanted[0]), "{plugins}");
    let lacks = |plugin: &&str| plugins.split(',').all(|own| own != *plugin);
    let missing: Vec<&str> = wanted.iter().copied().filter(lacks).collect();
    if !missing.is_empty() {
        left_out(format!("{version} has no plugin to log in by {}", missing.join(" and ")));
    }
    for plugin in plugins.split(',') {
        let how = if is_mysql { "WITH" } else { "VIA" };
        let proof = if is_mysql { "BY 'secret'" } else { "USING PASSWORD('secret')" };
        place.scene.exec(&format!("CREATE USER by_{plugin}@'%' IDENTIFIED {how} {plugin} {proof}"));
        let login = |password: &str| {
            let mut client = place.client();
            client.args(["--no-defaults", "-h127.0.0.1", "-P", &port, "-u", &format!("by_{plugin}")]);
            client.arg(if is_mysql { "--get-server-public-key" } else { "--skip-ssl" });
            client.args([&format!("-p{password}"), "-Ne", "SELECT CURRENT_USER()"]);
            let (said, told) = text(&client.output().expect("a client"));
            (said.trim().to_owned(), told)
        };
        // The second login is the short one, where a plugin has that.
        for _ in 0..2 {
            let (user, told) = login("secret");
            assert_eq!(user, format!("by_{plugin}@%"), "{told}");
        }
        let (user, told) = login("wrong");
        assert!(user.is_empty() && told.contains("1045"), "{plugin}: {user}{told}");
    }
    guard.stop(Nanos::from_secs(5)).expect("a guard stops");
}

const RECORDS: &str = "2000";

fn cdr_load(place: &mut Place) {
    let (url, calls, layout) = (place.url("calls"), place.path("calls.cdr"), place.path("calls.toml"));
    place.done(&["cdr", "generate", &calls, "--records", RECORDS]);
    let rejects = place.path("rejects");
    let line = format!("cdr load {url} {calls} --layout {layout} --table calls --rejects {rejects}");
    place.done(&words(&line));
    assert_eq!(place.value("SELECT COUNT(*) FROM calls"), RECORDS);
}

/// Late records too: all of them go to a day, each once.
fn dispatch(place: &mut Place) {
    let url = place.url("calls");
    place.scene.exec("CREATE TABLE late LIKE calls");
    for half in 0..2 {
        place.scene.exec(&format!("INSERT INTO late SELECT * FROM calls WHERE seq % 2 = {half}"));
        place.done(&["-q", "cdr", "dispatch", &url, "--table", "late", "--by", "start"]);
    }
    let days = place.value(
        "SELECT GROUP_CONCAT(TABLE_NAME) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'calls' AND TABLE_NAME LIKE 'late_2%'",
    );
    let count = |place: &mut Place, day: &str| place.value(&format!("SELECT COUNT(*) FROM {day}"));
    let moved: u64 = days.split(',').map(|day| count(place, day).parse::<u64>().expect("a count")).sum();
    assert_eq!(moved.to_string(), RECORDS, "{days}");
}

fn audit(place: &mut Place) {
    let (url, calls, layout) = (place.url("calls"), place.path("calls.cdr"), place.path("calls.toml"));
    let rejects = place.path("rejects");
    let line = format!("cdr audit {url} {calls} --layout {layout} --table calls --rejects {rejects}");
    let said = place.done(&words(&line));
    assert!(said.contains(": each once"), "{said}");
    place.scene.exec("DELETE FROM calls LIMIT 1");
    assert_eq!(asked(place.scene.home(), &words(&line)).0, Some(1), "a row is gone");
}

fn export(place: &mut Place) {
    let (url, into) = (place.url("calls"), place.path("out"));
    place.done(&["cdr", "export", &url, "--table", "calls", "--into", &into]);
    place.done(&["cdr", "audit", &url, "--export", &into]);
    place.scene.exec("CREATE DATABASE again");
    let again = place.url("again");
    place.done(&["cdr", "load", &again, "--export", &into]);
    assert_eq!(place.value("SELECT COUNT(*) FROM again.calls"), place.value("SELECT COUNT(*) FROM calls"));
}

fn layout(place: &mut Place) {
    let files = place.json(&["layout", "sandbox:a", "--table", "tpcw.item"]);
    let indexes = files[0]["indexes"].as_array().expect("indexes");
    assert!(indexes.iter().any(|index| index["index"] == "PRIMARY"), "{files}");
}

fn relayout(place: &mut Place) {
    let url = place.url("tpcw");
    let said = place.json(&["-q", "relayout", &url, "--tables", "item"]);
    assert!(said[0]["before"].is_array(), "the files were found: {said}");
    assert_eq!(place.value("SELECT COUNT(*) FROM tpcw.item"), "100");
}

/// Down and up again, with its data, its shell and no server of another line.
fn sandbox(place: &mut Place) {
    let rows = ["sandbox", "shell", "a", "--", "-Ne", "SELECT COUNT(*) FROM tpcw.item"];
    let is_mysql = !place.value("SELECT VERSION()").contains("MariaDB");
    place.done(&["sandbox", "down", "a"]);
    if is_mysql {
        let other = ["sandbox", "up", "a", "--server-binary", "/usr/sbin/mariadbd"];
        let said = refused(place.scene.home(), &other);
        assert!(said.contains("the data of sandbox \"a\" are of MySQL 9.7"), "{said}");
    }
    // The program is the one that it ran last.
    place.done(&["sandbox", "up", "a"]);
    assert_eq!(place.done(&rows).trim(), "100");
}
