//! What a profile does to a server, by what the server counts itself: every request leaves a row.

use crate::cli::evenkeel;
use crate::guard::server::Server;
use crate::patience::{eventually, found};
use serde_json::Value;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

const WORKLOAD: &str =
    "name = \"ask\"\n[[statement]]\nname = \"one\"\nsql = \"INSERT INTO asked (id) VALUES (NULL)\"\n";

/// What became of the arrivals of all runs of the only study, also of those that were set aside.
fn counts(home: &Path) -> Vec<Value> {
    let studies = fs::read_dir(home.join("runs")).expect("studies").flatten();
    let runs = studies.flat_map(|study| fs::read_dir(study.path().join("runs")).expect("runs").flatten());
    let run =
        |path: &Path| -> Value { serde_json::from_slice(&fs::read(path).expect("a run")).expect("JSON") };
    runs.map(|entry| run(&entry.path().join("run.json"))["counts"].clone()).collect()
}

fn sum(counts: &[Value], name: &str) -> u64 {
    counts.iter().map(|counts| counts[name].as_u64().expect("a count")).sum()
}

#[test]
fn a_server_counts_as_many_requests_as_a_profile_says_that_it_answered() {
    let server = Server::up(&[]);
    server.sql("CREATE TABLE shop.asked (id BIGINT PRIMARY KEY AUTO_INCREMENT)");
    let (home, workload) = (server.file("home"), server.file("ask.toml"));
    fs::write(&workload, WORKLOAD).expect("a file");
    let url = format!("mysql://app@{}/shop", server.address());
    let profile = ["-q", "profile", &url, "--workload", workload.to_str().expect("a path in UTF-8")];
    let short = [
        "--rate",
        "50,100",
        "--whole-sweep",
        "--repeats",
        "2",
        "--duration",
        "2s",
        "--warm-up",
        "0s",
        "--allow-writes",
    ];
    let output = evenkeel(&home, &[&profile[..], &short].concat());
    let said = String::from_utf8_lossy(&output.stderr);
    // Too short to be valid on a busy machine, and told in its counts all the same.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}: {said}", output.status);

    let counts = counts(&home);
    assert!(counts.len() >= 4, "two rates, two repeats: {counts:?}");
    let (arrivals, completed) = (sum(&counts, "arrivals"), sum(&counts, "completed"));
    assert!(counts.iter().all(|counts| counts["failed"] == Value::Object(Default::default())), "{counts:?}");
    // The server may have done what was given up; what was never sent it has not.
    let given_up = sum(&counts, "timed_out");
    assert_eq!(arrivals, completed + given_up + sum(&counts, "unsent"), "{counts:?}");
    let rows: u64 = server.sql("SELECT COUNT(*) FROM shop.asked").parse().expect("a count");
    assert!(rows >= completed && rows <= completed + given_up, "{rows} rows: {counts:?}");
    assert!(completed > 0, "{counts:?}");
}

/// A server that stands still, until the value is dropped.
struct Still(i32);

impl Still {
    fn hold(pid: i32) -> Self {
        signal(pid, libc::SIGSTOP);
        let still = Self(pid);
        // It is stopped when the kernel says so, and not before.
        eventually("the server stands still", || state(pid) == Some('T'));
        still
    }
}

impl Drop for Still {
    fn drop(&mut self) {
        signal(self.0, libc::SIGCONT);
    }
}

fn signal(pid: i32, signal: i32) {
    // SAFETY: kill takes two numbers, and the process is one that this test has started.
    unsafe { libc::kill(pid, signal) };
}

fn state(pid: i32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

/// The binary at work on a server of the user's.
fn profiling(server: &Server) -> Child {
    let url = format!("mysql://app@{}/shop", server.address());
    fs::write(server.file("look.toml"), WORKLOAD.replace("INSERT INTO asked (id) VALUES (NULL)", "SELECT 1"))
        .expect("a file");
    Command::new(env!("CARGO_BIN_EXE_evenkeel"))
        .arg("--home")
        .arg(server.file("home"))
        .args([
            "profile",
            &url,
            "--rate",
            "50",
            "--repeats",
            "2",
            "--duration",
            "10m",
            "--no-reset",
            "--json",
        ])
        .arg("--workload")
        .arg(server.file("look.toml"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary can be started")
}

/// What it said, once it has ended; one that does not end is killed.
fn end_of(mut profile: Child) -> (Option<i32>, String) {
    let mut said = profile.stderr.take().expect("a pipe");
    let reads = thread::spawn(move || {
        let mut text = String::new();
        said.read_to_string(&mut text).expect("UTF-8");
        text
    });
    let status = (0..1_200).find_map(|_| {
        thread::sleep(Duration::from_millis(50));
        profile.try_wait().expect("a child")
    });
    if status.is_none() {
        profile.kill().expect("it can be killed");
        profile.wait().expect("a child");
    }
    let text = reads.join().expect("read");
    (status.unwrap_or_else(|| panic!("it did not end: {text}")).code(), text)
}

#[test]
fn sigterm_ends_a_profile_whose_server_stands_still_in_a_run() {
    let server = Server::up(&[]);
    let profile = profiling(&server);
    found("a run", || {
        fs::read_dir(server.file("home/runs")).ok()?.flatten().find(|study| {
            let runs = fs::read_dir(study.path().join("runs")).into_iter().flatten().flatten();
            runs.into_iter().any(|run| run.path().extension().is_some_and(|end| end == "part"))
        })
    });
    // The run has begun; its load and its observers do so within a second or some more.
    thread::sleep(Duration::from_secs(3));
    let still = Still::hold(server.sandbox.pid());
    thread::sleep(Duration::from_secs(2));
    signal(profile.id() as i32, libc::SIGTERM);
    let (code, text) = end_of(profile);
    assert_eq!(code, Some(143), "{text}");
    assert_eq!(state(server.sandbox.pid()), Some('T'), "a server of the user's is the user's");
    drop(still);
}

#[test]
fn a_signal_ends_a_profile_whose_server_stands_still_before_it_was_asked_anything() {
    let server = Server::up(&[]);
    let still = Still::hold(server.sandbox.pid());
    // One beside the other: each waits for the same server.
    let both =
        [(libc::SIGTERM, 143), (libc::SIGINT, 130)].map(|(sent, code)| (profiling(&server), sent, code));
    thread::sleep(Duration::from_secs(2));
    for (profile, sent, expected) in both {
        signal(profile.id() as i32, sent);
        let (code, text) = end_of(profile);
        assert_eq!(code, Some(expected), "signal {sent}: {text}");
        assert!(text.contains("stopped"), "signal {sent}: {text}");
    }
    drop(still);
    assert_eq!(server.sql("SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'app'"), "0");
}
