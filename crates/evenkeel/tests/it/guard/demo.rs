//! `evenkeel guard demo`: it plays to the end, and an interrupt leaves nothing behind.

use super::server::signal;
use evenkeel_site::sandbox::ProcessId;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

fn demo(home: &Path, duration: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
    command.arg("--home").arg(home).args(["guard", "demo", "--clients", "32", "--duration", duration]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn is_empty(home: &Path) -> bool {
    std::fs::read_dir(home).expect("the home can be listed").count() == 0
}

/// Reads lines until one contains `text`.
fn wait_for(text: &str, output: &mut impl BufRead) {
    let mut line = String::new();
    while !line.contains(text) {
        line.clear();
        assert!(output.read_line(&mut line).expect("readable") > 0, "it ended before it said {text:?}");
    }
}

/// Processes that this one has started and not waited for.
fn children(of: u32) -> Vec<ProcessId> {
    let processes = std::fs::read_dir("/proc").expect("/proc can be listed").flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let parent = |pid: i32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse::<u32>().ok()
    };
    pids.filter(|pid| parent(*pid) == Some(of)).filter_map(ProcessId::of).collect()
}

fn ends_as_stopped(child: &mut Child, mut stderr: impl Read) {
    let mut told = String::new();
    stderr.read_to_string(&mut told).expect("readable");
    let status = child.wait().expect("it ends");
    assert_eq!(status.code(), Some(130), "{told}");
    assert!(told.contains("the server, the guard and their files are gone"), "{told}");
}

#[test]
fn the_demo_plays_three_loads_and_sums_them_up() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let output = demo(home.path(), "3s").output().expect("the demo starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    // Lines of seconds begin with their number.
    for load in ["direct, 8 clients", "direct, 32 clients", "guarded, 32 clients"] {
        assert_eq!(text.lines().filter(|line| line.starts_with(load)).count(), 1, "{load}: {text}");
    }
    assert!(text.contains("limit ") && text.contains("Try it on yours"), "{text}");
    assert!(is_empty(home.path()), "files stayed behind");
}

#[test]
fn an_interrupt_in_front_of_the_guard_leaves_no_process_and_no_file() {
    let home = tempfile::tempdir().expect("a temporary directory");
    // Under the guard it plays for twice as long: nobody sees the first second of it so late that it is over.
    let mut child = demo(home.path(), "8s").spawn().expect("the demo starts");
    let (stdout, stderr) = (child.stdout.take().expect("piped"), child.stderr.take().expect("piped"));
    let mut stdout = BufReader::new(stdout);
    wait_for("guarded, ", &mut stdout);
    let started = children(child.id());
    assert!(started.len() >= 2, "a server and a guard, not {started:?}");
    signal("-INT", child.id() as i32);
    ends_as_stopped(&mut child, stderr);
    assert!(started.iter().all(|process| !process.is_alive()), "{started:?}");
    assert!(is_empty(home.path()), "files stayed behind");
}
