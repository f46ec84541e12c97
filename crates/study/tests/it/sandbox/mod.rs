//! Real servers from up to down, and by every way in between.

mod crash;
mod limits;

use evenkeel_core::Nanos;
use evenkeel_os::Stop;
use evenkeel_os::clock::Clock;
use evenkeel_site::copy::Snapshot;
use evenkeel_site::sandbox::{
    self, Failure, Lifetime, ProcessId, Sandbox, SandboxError, SandboxEvent, SandboxSpec, State,
};
use evenkeel_site::server::Control;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

pub(crate) fn settings(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
}

/// Small, so that many of them fit on a small machine.
pub(crate) fn spec(home: &Path, name: &str) -> SandboxSpec {
    SandboxSpec {
        settings: settings(&[("innodb_buffer_pool_size", "16M"), ("innodb_log_file_size", "8M")]),
        ..SandboxSpec::new(home, name)
    }
}

/// A server of its own that takes LOAD DATA LOCAL, and its home.
pub(crate) fn server(more: &[(&str, &str)]) -> (tempfile::TempDir, Sandbox) {
    let home = tempfile::tempdir().unwrap();
    let mut spec = spec(home.path(), "data");
    spec.settings.extend(settings(&[("local_infile", "ON"), ("innodb_flush_log_at_trx_commit", "0")]));
    spec.settings.extend(settings(more));
    let sandbox = up(&spec).unwrap();
    (home, sandbox)
}

pub(crate) fn up(spec: &SandboxSpec) -> Result<Sandbox, SandboxError> {
    Sandbox::up(spec, &Stop::default(), &mut |_| {})
}

fn value(sandbox: &Sandbox, sql: &str) -> String {
    Control::connect(&sandbox.target()).unwrap().query_value(sql).unwrap().unwrap()
}

fn is_alive(pid: i32) -> bool {
    ProcessId::of(pid).is_some_and(|id| id.is_alive())
}

/// Waits for what has to come, longer than any machine stands still.
pub(crate) fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let clock = Clock::start();
    while !condition() {
        assert!(clock.now() < Nanos::from_secs(120), "{what} did not happen within two minutes");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The failure of a server, with the log that the error shows.
fn failure(error: SandboxError) -> (Failure, String) {
    let text = error.to_string();
    match error {
        SandboxError::Server { failure, .. } => (failure, text),
        other => panic!("not a failure of the server: {other}"),
    }
}

#[test]
fn a_sandbox_answers_by_socket_and_port_and_leaves_nothing_when_it_is_down() {
    let home = tempfile::tempdir().unwrap();
    let mut events = Vec::new();
    let sandbox =
        Sandbox::up(&spec(home.path(), "a"), &Stop::default(), &mut |event| events.push(event)).unwrap();
    let pid = sandbox.pid();
    assert!(matches!(events[0], SandboxEvent::Bootstrapping { .. }), "{events:?}");
    assert!(matches!(events.last(), Some(SandboxEvent::Ready { pid: ready, .. }) if *ready == pid));

    for target in [sandbox.target(), sandbox.tcp_target()] {
        let mut control = Control::connect(&target).unwrap();
        assert_eq!(control.query_value("SELECT 6 * 7").unwrap().as_deref(), Some("42"));
        let variables = control.variables().unwrap();
        for (name, expected) in [
            ("innodb_buffer_pool_size", "16777216"),
            ("performance_schema", "OFF"),
            ("skip_name_resolve", "ON"),
            ("innodb_buffer_pool_load_at_startup", "OFF"),
            ("innodb_buffer_pool_dump_at_shutdown", "OFF"),
            ("query_cache_type", "OFF"),
            ("max_connections", "2000"),
            ("local_infile", "ON"),
            ("log_bin", "OFF"),
            ("bind_address", "127.0.0.1"),
            ("innodb_flush_method", "O_DIRECT"),
        ] {
            assert_eq!(variables[name], expected, "{name}");
        }
    }
    let accounts =
        value(&sandbox, "SELECT GROUP_CONCAT(user, '@', host ORDER BY user, host) FROM mysql.user");
    assert_eq!(accounts, "evenkeel@127.0.0.1,evenkeel@localhost,mariadb.sys@localhost,root@localhost");

    let root = value(&sandbox, "SELECT plugin FROM mysql.user WHERE user = 'root'");
    assert_eq!(root, "unix_socket", "it is the system's root, and nobody who says so");

    let home_mode = fs::metadata(sandbox.dir()).unwrap().permissions().mode();
    assert_eq!(home_mode & 0o777, 0o700);
    let socket = sandbox.socket().to_path_buf();
    sandbox.down(&mut |_| {}).unwrap();
    assert!(!is_alive(pid) && !socket.exists());
    let listed = sandbox::list(home.path()).unwrap();
    assert_eq!((listed[0].name.as_str(), &listed[0].state), ("a", &State::Stopped));

    let cleaned = sandbox::clean(home.path(), &[]).unwrap();
    assert!(cleaned[0].bytes > 10 << 20, "{cleaned:?}");
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
}

#[test]
fn a_restart_is_cold_keeps_the_data_and_takes_other_settings() {
    let home = tempfile::tempdir().unwrap();
    let mut sandbox = up(&spec(home.path(), "a")).unwrap();
    let mut control = Control::connect(&sandbox.target()).unwrap();
    control.exec("CREATE DATABASE d").unwrap();
    control
        .exec(
            "CREATE TABLE d.t (a INT PRIMARY KEY, b CHAR(250)) SELECT seq a, 'x' b FROM mysql.seq_1_to_30000",
        )
        .unwrap();
    let pages = |sandbox: &Sandbox| -> u64 {
        let status = Control::connect(&sandbox.target()).unwrap().status().unwrap();
        status["Innodb_buffer_pool_pages_data"].parse().unwrap()
    };
    value(&sandbox, "SELECT SUM(LENGTH(b)) FROM d.t");
    let (warm, pid, port) = (pages(&sandbox), sandbox.pid(), sandbox.tcp_target().address);
    drop(control);

    sandbox.restart(&settings(&[("max-connections", "77")]), &Stop::default(), &mut |_| {}).unwrap();

    assert!(sandbox.pid() != pid && !is_alive(pid));
    assert_eq!(sandbox.tcp_target().address, port);
    let cold = pages(&sandbox);
    assert!(cold * 2 < warm, "{cold} pages after the restart, {warm} before");
    assert_eq!(value(&sandbox, "SELECT @@max_connections"), "77");
    assert_eq!(value(&sandbox, "SELECT @@innodb_buffer_pool_size"), "16777216");
    assert_eq!(value(&sandbox, "SELECT COUNT(*) FROM d.t"), "30000");
}

#[test]
fn an_unknown_setting_is_refused_with_the_servers_words_and_the_sandbox_recovers() {
    let home = tempfile::tempdir().unwrap();
    let mut wrong = spec(home.path(), "a");
    wrong.settings.insert("innodb_bufer_pool_size".into(), "1".into());
    let (found, text) = failure(up(&wrong).err().unwrap());
    assert!(
        matches!(found, Failure::Setting(words) if words.contains("unknown variable 'innodb_bufer_pool_size=1'"))
    );
    assert!(text.contains("end of the server's log"), "{text}");

    let mut sandbox = up(&spec(home.path(), "a")).unwrap();
    let changes = settings(&[("no_such_thing", "1")]);
    let error = sandbox.restart(&changes, &Stop::default(), &mut |_| {}).unwrap_err();
    assert!(matches!(failure(error).0, Failure::Setting(_)));
    assert!(matches!(sandbox.check(), Err(SandboxError::NotRunning { .. })));
    sandbox.restart(&BTreeMap::new(), &Stop::default(), &mut |_| {}).unwrap();
    assert_eq!(value(&sandbox, "SELECT 1"), "1");
}

#[test]
fn a_killed_server_is_noticed_and_its_pid_file_cleared_at_the_next_start() {
    let home = tempfile::tempdir().unwrap();
    let detached = SandboxSpec { lifetime: Lifetime::Detached, ..spec(home.path(), "a") };
    let sandbox = up(&detached).unwrap();
    sandbox.check().unwrap();
    let pid = sandbox.pid();
    assert!(Command::new("kill").args(["-KILL", &pid.to_string()]).status().unwrap().success());
    // Its signal is known a moment after its end, when it was waited for.
    let mut text = String::new();
    eventually("the news of what killed the server", || {
        sandbox.check().is_err_and(|error| {
            let (found, words) = failure(error);
            text = words;
            found == Failure::Killed(9)
        })
    });
    assert!(text.contains("ready for connections"), "{text}");
    drop(sandbox);

    assert!(home.path().join("sandboxes/a/server.pid").exists());
    assert!(matches!(sandbox::find(home.path(), "a"), Err(SandboxError::NotRunning { .. })));
    let mut events = Vec::new();
    let sandbox =
        Sandbox::up(&spec(home.path(), "a"), &Stop::default(), &mut |event| events.push(event)).unwrap();
    let stale = format!("removed the stale pid file of process {pid}, which is gone");
    assert!(events.contains(&SandboxEvent::Note(stale)), "{events:?}");
    assert_eq!(value(&sandbox, "SELECT 1"), "1");
}

#[test]
fn a_detached_sandbox_outlives_its_value_and_is_found_again() {
    let home = tempfile::tempdir().unwrap();
    let detached = SandboxSpec { lifetime: Lifetime::Detached, ..spec(home.path(), "a") };
    let pid = up(&detached).unwrap().pid();
    assert!(is_alive(pid));
    assert!(matches!(up(&detached), Err(SandboxError::AlreadyRunning { pid: other, .. }) if other == pid));
    assert!(matches!(
        sandbox::clean(home.path(), &["a".into()]),
        Err(SandboxError::AlreadyRunning { pid: other, .. }) if other == pid
    ));
    let info = &sandbox::list(home.path()).unwrap()[0];
    assert!(info.detached && info.state == State::Running { pid });

    let mut found = sandbox::find(home.path(), "a").unwrap();
    found.restart(&settings(&[("max_connections", "50")]), &Stop::default(), &mut |_| {}).unwrap();
    assert_eq!(value(&found, "SELECT @@max_connections"), "50");
    let pid = found.pid();
    drop(found);
    assert!(is_alive(pid));
    sandbox::find(home.path(), "a").unwrap().down(&mut |_| {}).unwrap();
    assert!(!is_alive(pid));
    assert!(
        sandbox::logs(home.path(), "a", 5).unwrap().iter().any(|line| line.contains("Shutdown complete"))
    );
}

#[test]
fn one_name_has_one_server() {
    let home = tempfile::tempdir().unwrap();
    let first = up(&spec(home.path(), "a")).unwrap();
    let second = up(&spec(home.path(), "a")).err().unwrap();
    assert!(matches!(second, SandboxError::AlreadyRunning { pid, .. } if pid == first.pid()), "{second}");
    let found = sandbox::find(home.path(), "a").unwrap();
    assert!(matches!(found.down(&mut |_| {}), Err(SandboxError::Busy { .. })));
    first.check().unwrap();
}

#[test]
fn a_data_directory_that_another_server_uses_is_left_alone() {
    let home = tempfile::tempdir().unwrap();
    let first = up(&spec(home.path(), "a")).unwrap();
    drop(up(&spec(home.path(), "b")).unwrap());
    let data = home.path().join("sandboxes/b/data");
    fs::remove_dir_all(&data).unwrap();
    std::os::unix::fs::symlink(first.dir().join("data"), &data).unwrap();
    let (found, text) = failure(up(&spec(home.path(), "b")).err().unwrap());
    assert!(matches!(found, Failure::DataInUse(_)), "{text}");
    assert_eq!(value(&first, "SELECT 1"), "1");
}

#[test]
fn a_taken_port_is_an_error_only_if_it_was_asked_for() {
    let home = tempfile::tempdir().unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut asked = SandboxSpec { port: Some(port), ..spec(home.path(), "a") };
    let error = up(&asked).err().unwrap();
    assert_eq!(error.to_string(), format!("port {port} is taken"));
    assert!(error.hint().is_some());
    drop(listener);
    let sandbox = up(&asked).unwrap();
    assert_eq!(value(&sandbox, "SELECT @@port"), port.to_string());
    drop(sandbox);
    let _listener = std::net::TcpListener::bind(("127.0.0.1", port)).unwrap();
    asked.port = None;
    let sandbox = up(&asked).unwrap();
    assert_ne!(value(&sandbox, "SELECT @@port"), port.to_string());
}

#[test]
fn a_stop_ends_what_was_begun() {
    let home = tempfile::tempdir().unwrap();
    let stop = Stop::default();
    let mut pids = Vec::new();
    let error = Sandbox::up(&spec(home.path(), "a"), &stop, &mut |event| {
        if let SandboxEvent::Starting { pid } = event {
            pids.push(pid);
            stop.set();
        }
    })
    .err()
    .unwrap();
    assert!(matches!(error, SandboxError::Stopped { .. }), "{error}");
    assert!(pids.len() == 1 && !is_alive(pids[0]));

    let error = Sandbox::up(&spec(home.path(), "b"), &stop, &mut |_| {}).err().unwrap();
    assert!(matches!(error, SandboxError::Stopped { .. }), "{error}");
    let left = fs::read_dir(home.path().join("sandboxes/b")).unwrap().flatten();
    assert!(left.into_iter().all(|entry| !entry.file_name().to_string_lossy().starts_with("data")));
}

#[test]
fn no_server_starts_on_half_restored_data_until_they_are_restored() {
    let home = tempfile::tempdir().unwrap();
    let wanted = spec(home.path(), "a");
    let sandbox = up(&wanted).unwrap();
    let data = sandbox.dir().join("data");
    sandbox.down(&mut |_| {}).unwrap();
    let snapshot = Snapshot::take(&data, &home.path().join("copy")).unwrap();
    // What a kill in the middle of a restore leaves.
    std::fs::write(data.join("evenkeel-restoring"), "").unwrap();
    std::fs::remove_file(data.join("ibdata1")).unwrap();
    let refused = up(&wanted).map(drop).unwrap_err();
    assert!(matches!(&refused, SandboxError::HalfRestored { name, .. } if name == "a"), "{refused}");
    let told = |refused: &SandboxError, what: &str| refused.hint().is_some_and(|hint| hint.contains(what));
    assert!(told(&refused, "resume the study") && told(&refused, "evenkeel sandbox clean a"), "{refused}");
    std::fs::write(data.with_file_name("snapshot.study"), "20261121-one 1795000000").unwrap();
    let refused = up(&wanted).map(drop).unwrap_err();
    assert!(told(&refused, "`evenkeel runs 20261121-one`"), "{refused}");
    snapshot.restore().unwrap();
    assert!(up(&wanted).unwrap().check().is_ok());
}

/// The program stands for any way round the names: a server that was started otherwise than the sandbox asked.
#[test]
fn a_server_that_asks_for_no_password_or_listens_to_others_is_not_kept() {
    let home = tempfile::tempdir().unwrap();
    let first = up(&spec(home.path(), "a")).unwrap();
    first.down(&mut |_| {}).unwrap();
    for option in ["--skip-grant-tables", "--bind-address=*", "--skip-name-resolve=OFF"] {
        let program = home.path().join("mariadbd");
        let text = format!(
            "#!/bin/sh\ncase \"$*\" in *--version*) set -- ;; esac\n\
             PATH=$PATH:/usr/sbin:/usr/local/sbin:/usr/libexec\n\
             [ $# = 0 ] && exec mariadbd --no-defaults --version\nexec mariadbd \"$@\" {option}\n"
        );
        fs::write(&program, text).unwrap();
        fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        let mut pid = 0;
        let spec = SandboxSpec { server_binary: Some(program), ..spec(home.path(), "a") };
        let outcome = Sandbox::up(&spec, &Stop::default(), &mut |event| {
            if let SandboxEvent::Starting { pid: started } = event {
                pid = started;
            }
        });
        let (why, text) = failure(outcome.map(drop).unwrap_err());
        assert!(matches!(why, Failure::Open(_)), "{option}: {text}");
        assert!(pid > 0 && !is_alive(pid), "{option}: it was started, and is not any more");
    }
}
