//! How long commands end by a signal: by the exit code that shells know it by, with nothing left behind.

use crate::cli::{Running, await_no_server, eventually, found};
use crate::guard::server::signal;
use crate::sandbox::{Home, done};
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

const SIGNALS: [(&str, i32); 3] = [("-INT", 130), ("-TERM", 143), ("-HUP", 129)];

fn start(home: &Path, arguments: &[&str]) -> Running {
    let log = File::create(home.join("log")).expect("a log");
    let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
    command.arg("--home").arg(home).args(arguments).stdin(Stdio::null());
    let command = command.stdout(log.try_clone().expect("a log")).stderr(log);
    Running(command.spawn().expect("the binary can be started"))
}

/// Its exit code after a signal, sent once `works` holds.
fn ended(home: &Path, arguments: &[&str], name: &str, works: impl Fn(&str) -> bool) -> Option<i32> {
    let mut running = start(home, arguments);
    let child = &mut running.0;
    let log = || std::fs::read_to_string(home.join("log")).unwrap_or_default();
    found("its work", || {
        let ended = child.try_wait().expect("ours");
        assert!(ended.is_none(), "{arguments:?} ended by itself, {ended:?}: {}", log());
        works(&log()).then_some(())
    });
    signal(name, child.id() as i32);
    let code = child.wait().expect("ours").code();
    eprintln!("{arguments:?} {name}: {code:?}\n{}", log());
    code
}

#[test]
fn a_load_and_an_explain_end_by_the_exit_code_of_the_signal() {
    let home = Home::up(&[]);
    let sleep = home.workload("sleep", &[("sleep", "SELECT SLEEP(1)")]);
    let load =
        ["load", "sandbox:a/mysql", "-w", &sleep, "--rate", "5", "--duration", "600s", "--warm-up", "0s"];
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
    let sql = "SELECT SUM(a.seq * b.seq) FROM seq_1_to_1000000 a, seq_1_to_1000000 b";
    let long = home.workload("long", &[("long", sql)]);
    let explain = ["explain", "sandbox:a/mysql", "-w", &long];
    assert_eq!(ended(home.path(), &explain, "-INT", asks), Some(130));
    eventually("the end of the statement", || !asks(""));
}

#[test]
fn a_profile_and_a_sandbox_that_comes_up_end_by_the_exit_code_of_the_signal_and_leave_no_server() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let up = ["sandbox", "up", "b"];
    let profile = ["profile", "--ebs", "1", "--items", "100", "--rate", "20", "--duration", "600s"];
    for (signal, code) in &SIGNALS[..2] {
        let begins = |log: &str| log.contains("making a data directory");
        assert_eq!(ended(home.path(), &up, signal, begins), Some(*code));
        await_no_server(home.path());
        assert_eq!(ended(home.path(), &profile, signal, |log| log.contains(" runs in ")), Some(*code));
        await_no_server(home.path());
    }
    let left = std::fs::read_dir(home.path().join("sandboxes/b")).expect("its folder").flatten();
    let names: Vec<String> = left.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    assert!(!names.iter().any(|name| name.starts_with("data")), "{names:?}");
}

#[test]
fn data_that_is_filled_in_and_a_disk_that_is_measured_end_by_the_exit_code_of_the_signal() {
    let home = Home::up(&[]);
    let fill = ["data", "fill", "sandbox:a", "--ebs", "100", "--replace", "--via", "insert"];
    let backing = home.path().join("disk.img");
    File::create(&backing).and_then(|file| file.set_len(64 << 20)).expect("a file");
    let knee = ["share", "knee", "--duration", "600s", "--backing", backing.to_str().expect("UTF-8")];
    for (signal, code) in &SIGNALS[..2] {
        assert_eq!(ended(home.path(), &fill, signal, |log| log.contains("populating")), Some(*code));
        assert_eq!(ended(home.path(), &knee, signal, |log| !log.is_empty()), Some(*code));
    }
}
