//! What is left when evenkeel is killed: nothing.

use super::{eventually, is_alive, spec, up, value};
use evenkeel_os::Stop;
use evenkeel_site::sandbox::{Lifetime, Sandbox, SandboxEvent, SandboxSpec};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Tells the test binary to play the evenkeel that is killed.
const VICTIM_HOME: &str = "EVENKEEL_TEST_VICTIM_HOME";

/// Plays the evenkeel that is killed, if this process was started for that: brings a sandbox up, writes what
/// the test wants to know to a file, and hangs.
fn play_victim(lifetime: Lifetime, when: &str) {
    let Some(home) = std::env::var_os(VICTIM_HOME).map(PathBuf::from) else { return };
    let report = |text: String| {
        fs::write(home.join("new"), text).unwrap();
        fs::rename(home.join("new"), home.join("report")).unwrap();
        std::thread::sleep(Duration::from_secs(600));
    };
    let spec = SandboxSpec { domain: "cpus=0".parse().unwrap(), lifetime, ..spec(&home, "victim") };
    let sandbox = Sandbox::up(&spec, &Stop::default(), &mut |event| {
        if let (SandboxEvent::Starting { pid }, "starting") = (&event, when) {
            report(pid.to_string());
        }
    })
    .unwrap();
    let groups = sandbox.cgroups();
    let groups: Vec<_> = groups.iter().map(|group| group.path.to_str().unwrap().to_owned()).collect();
    report([vec![sandbox.pid().to_string()], groups].concat().join("\n"));
    std::process::abort();
}

/// Starts this binary again for one test in the part of the victim, kills it when it has reported, and
/// returns the server's process and its groups.
fn kill_victim(test: &str) -> (i32, Vec<PathBuf>, tempfile::TempDir) {
    let home = tempfile::tempdir().unwrap();
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test])
        .env(VICTIM_HOME, home.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    eventually("the victim's report", || home.path().join("report").exists());
    let report = fs::read_to_string(home.path().join("report")).unwrap();
    let mut lines = report.lines();
    let pid = lines.next().unwrap().parse().unwrap();
    assert!(is_alive(pid));
    victim.kill().unwrap();
    victim.wait().unwrap();
    (pid, lines.map(PathBuf::from).collect(), home)
}

#[test]
fn a_killed_evenkeel_leaves_no_ephemeral_server_and_no_groups() {
    play_victim(Lifetime::Ephemeral, "ready");
    let (pid, groups, home) =
        kill_victim("sandbox::crash::a_killed_evenkeel_leaves_no_ephemeral_server_and_no_groups");
    eventually("the server's end", || !is_alive(pid));
    eventually("the removal of the groups", || groups.iter().all(|group| !group.exists()));
    let sandbox = up(&spec(home.path(), "victim")).unwrap();
    assert_eq!(value(&sandbox, "SELECT 1"), "1");
}

#[test]
fn an_evenkeel_killed_while_a_detached_server_starts_leaves_no_server() {
    play_victim(Lifetime::Detached, "starting");
    let (pid, _, _home) =
        kill_victim("sandbox::crash::an_evenkeel_killed_while_a_detached_server_starts_leaves_no_server");
    eventually("the server's end", || !is_alive(pid));
}
