//! How long commands end by a signal: by the exit code that shells know it by, with nothing left behind.

use crate::cli::evenkeel;
use crate::patience::{eventually, found};
use crate::sandbox::done;
use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Stdio};

const SIGNALS: [(&str, i32); 3] = [("-INT", 130), ("-TERM", 143), ("-HUP", 129)];

/// A private server that goes with the test, however that ends.
struct Server(tempfile::TempDir);

impl Server {
    fn up() -> Self {
        let home = tempfile::tempdir().expect("a temporary directory");
        done(home.path(), &["sandbox", "up", "a"]);
        Self(home)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        evenkeel(self.0.path(), &["sandbox", "down", "a"]);
    }
}

/// A command that is killed where the test fails.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(home: &Path, arguments: &[&str]) -> Running {
    let log = File::create(home.join("log")).expect("a log");
    let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
    command.arg("--home").arg(home).args(arguments).stdin(Stdio::null());
    let command = command.stdout(log.try_clone().expect("a log")).stderr(log);
    Running(command.spawn().expect("the binary can be started"))
}

/// Its exit code after a signal, sent once `works` holds.
fn ended(home: &Path, arguments: &[&str], signal: &str, works: impl Fn(&str) -> bool) -> Option<i32> {
    let mut running = start(home, arguments);
    let child = &mut running.0;
    let log = || std::fs::read_to_string(home.join("log")).unwrap_or_default();
    found("its work", || {
        let ended = child.try_wait().expect("ours");
        assert!(ended.is_none(), "{arguments:?} ended by itself, {ended:?}: {}", log());
        works(&log()).then_some(())
    });
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill");
    assert!(sent.success());
    let code = child.wait().expect("ours").code();
    eprintln!("{arguments:?} {signal}: {code:?}\n{}", log());
    code
}

fn none_runs(home: &Path) {
    eventually("the end of all servers", || {
        let list = evenkeel(home, &["sandbox", "list", "--json"]);
        list.status.success() && !String::from_utf8_lossy(&list.stdout).contains("running")
    });
}

#[test]
fn a_load_and_an_explain_end_by_the_exit_code_of_the_signal() {
    let server = Server::up();
    let home = &server.0;
    let workload = home.path().join("sleep.toml");
    let text = "name = \"sleep\"\n[[statement]]\nname = \"sleep\"\nsql = \"SELECT SLEEP(1)\"\n";
    std::fs::write(&workload, text).expect("written");
    let workload = workload.to_str().expect("UTF-8");
    let load =
        ["load", "sandbox:a/mysql", "-w", workload, "--rate", "5", "--duration", "600s", "--warm-up", "0s"];
    let explain = ["explain", "sandbox:a/mysql", "-w", workload];
    let asks = |_: &str| {
        let list = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'SELECT S%'";
        let count = done(home.path(), &["sandbox", "shell", "a", "--", "-N", "-e", list]);
        count.trim() != "0"
    };
    for (signal, code) in SIGNALS {
        assert_eq!(ended(home.path(), &load, signal, asks), Some(code));
        // A statement that is left would be taken for one of the next load, which may not hear of signals yet.
        eventually("the end of the statement", || !asks(""));
    }
    // A statement that takes long is not waited for; one that says that it sleeps is not even begun.
    let long = text.replace("SLEEP(1)", "SUM(a.seq * b.seq) FROM seq_1_to_1000000 a, seq_1_to_1000000 b");
    std::fs::write(home.path().join("sleep.toml"), long).expect("written");
    for (signal, code) in SIGNALS {
        assert_eq!(ended(home.path(), &explain, signal, asks), Some(code));
        eventually("the end of the statement", || !asks(""));
    }
}

#[test]
fn a_profile_and_a_sandbox_that_comes_up_end_by_the_exit_code_of_the_signal_and_leave_no_server() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let up = ["sandbox", "up", "b"];
    let profile = ["profile", "--ebs", "1", "--items", "100", "--rate", "20", "--duration", "600s"];
    for (signal, code) in &SIGNALS[..2] {
        assert_eq!(
            ended(home.path(), &up, signal, |log| log.contains("making a data directory")),
            Some(*code)
        );
        none_runs(home.path());
        assert_eq!(ended(home.path(), &profile, signal, |log| log.contains(" runs in ")), Some(*code));
        none_runs(home.path());
    }
    let left = std::fs::read_dir(home.path().join("sandboxes/b")).expect("its folder").flatten();
    let names: Vec<String> = left.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    assert!(!names.iter().any(|name| name.starts_with("data")), "{names:?}");
}

#[test]
fn a_sandbox_whose_filling_is_stopped_leaves_no_server_and_is_filled_by_the_next_try() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let up = ["sandbox", "up", "b", "--ebs", "100", "--via", "script"];
    for (signal, code) in &SIGNALS[..2] {
        assert_eq!(ended(home.path(), &up, signal, |log| log.contains("populating")), Some(*code));
        none_runs(home.path());
    }
    let text = done(home.path(), &["sandbox", "up", "b", "--ebs", "1", "--items", "100"]);
    assert!(text.contains("sandbox:b"), "{text}");
    // One that ran before stays as it was, whatever comes of the data.
    let output = evenkeel(home.path(), &["sandbox", "up", "b", "--ebs", "1", "--items", "200"]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && told.contains("another data set"), "{told}");
    let list = done(home.path(), &["sandbox", "list"]);
    assert!(list.contains("running"), "{list}");
    done(home.path(), &["sandbox", "down", "b"]);
}

#[test]
fn data_that_is_filled_in_and_a_disk_that_is_measured_end_by_the_exit_code_of_the_signal() {
    let server = Server::up();
    let home = &server.0;
    let fill = ["data", "fill", "sandbox:a", "--ebs", "100", "--replace", "--via", "insert"];
    let backing = home.path().join("disk.img");
    File::create(&backing).and_then(|file| file.set_len(64 << 20)).expect("a file");
    let knee = ["share", "knee", "--duration", "600s", "--backing", backing.to_str().expect("UTF-8")];
    for (signal, code) in &SIGNALS[..2] {
        assert_eq!(ended(home.path(), &fill, signal, |log| log.contains("populating")), Some(*code));
        assert_eq!(ended(home.path(), &knee, signal, |log| !log.is_empty()), Some(*code));
    }
}

#[test]
fn a_service_drains_and_ends_by_0() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let socket = home.path().join("a.sock");
    let backing = home.path().join("disk.img");
    let [socket, backing] = [&socket, &backing].map(|path| path.to_str().expect("UTF-8"));
    let disk = ["share", "disk", "--name", "a", "--backing", backing, "--size", "1M", "--nbd", socket];
    let guard = ["guard", "--listen", "127.0.0.1:0", "--backend", "127.0.0.1:1"];
    for (signal, _) in &SIGNALS[..2] {
        assert_eq!(ended(home.path(), &disk, signal, |log| log.contains("event=serving")), Some(0));
        assert_eq!(ended(home.path(), &guard, signal, |log| log.contains("listening")), Some(0));
    }
}
