//! The demo: each way in its turns, which to take, and nothing left behind.

use super::server::signal;
use evenkeel_site::sandbox::ProcessId;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

fn demo(home: &Path, duration: &str, plugin: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
    command.arg("--home").arg(home).args(["guard", "demo", "--clients", "32", "--duration", duration]);
    command.arg("--plugin").arg(plugin);
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

/// A home, and a plugin that is built, or a file that is none.
fn demo_folders(is_plugin: bool) -> (tempfile::TempDir, tempfile::TempDir, PathBuf) {
    let [home, plugins] = [(); 2].map(|()| tempfile::tempdir().expect("a temporary directory"));
    let file = plugins.path().join("evenkeel_guard.so");
    match is_plugin {
        true => std::fs::copy(&*super::inside::BUILT, &file).map(drop),
        false => std::fs::write(&file, "no plugin"),
    }
    .expect("a file");
    (home, plugins, file)
}

/// The demo plays these loads, sums each up once, and says this at its end.
fn demo_plays(is_plugin: bool, loads: &[&str], said: &[&str]) {
    let (home, _plugins, file) = demo_folders(is_plugin);
    let output = demo(home.path(), "3s", &file).output().expect("the demo starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    // Lines of seconds begin with their number.
    for load in loads {
        assert_eq!(text.lines().filter(|line| line.starts_with(load)).count(), 1, "{load}: {text}");
    }
    for said in said {
        assert!(text.contains(said), "{said}: {text}");
    }
    assert!(is_empty(home.path()), "files stayed behind");
}

#[test]
fn the_demo_plays_each_way_in_turns_and_says_which_to_take() {
    let loads = ["direct, 8 clients", "direct, 32 clients", "plugin, 32 clients", "proxy, 32 clients"];
    demo_plays(true, &loads, &["limit ", "Take ", "Try it on yours, inside the server"]);
}

#[test]
fn the_demo_does_without_a_plugin_that_the_server_does_not_take_and_says_why() {
    let loads = ["direct, 8 clients", "direct, 32 clients", "proxy, 32 clients"];
    demo_plays(false, &loads, &["The guard inside the server was not shown", "limit ", "Try it on yours"]);
}

#[test]
fn an_interrupt_in_front_of_the_guard_leaves_no_process_and_no_file() {
    let (home, _plugins, file) = demo_folders(false);
    // Under the guard it plays for twice as long: nobody sees the first second of it so late that it is over.
    let mut child = demo(home.path(), "8s", &file).spawn().expect("the demo starts");
    let (stdout, stderr) = (child.stdout.take().expect("piped"), child.stderr.take().expect("piped"));
    let mut stdout = BufReader::new(stdout);
    wait_for("proxy, ", &mut stdout);
    let started = children(child.id());
    assert!(started.len() >= 2, "a server and a guard, not {started:?}");
    signal("-INT", child.id() as i32);
    ends_as_stopped(&mut child, stderr);
    assert!(started.iter().all(|process| !process.is_alive()), "{started:?}");
    assert!(is_empty(home.path()), "files stayed behind");
}
