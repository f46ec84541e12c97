//! Disks of hosts that share storage, as a user runs them.

use super::cli::{Running, configured, evenkeel};
use crate::guard::proxy::signal;
use crate::patience::eventually;
use crate::sandbox::done;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{ChildStderr, Command, Stdio};

/// A host that serves, until it is dropped.
struct Host {
    process: Running,
    log: BufReader<ChildStderr>,
    /// The line that says where it serves.
    serving: String,
}

impl Host {
    fn start(arguments: &[&str]) -> Self {
        Self::start_till(arguments, "event=serving")
    }

    /// Up to a line of its log; that one says nothing of where it serves unless it is that line.
    fn start_till(arguments: &[&str], till: &str) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
        command.args(["share", "disk"]).args(arguments).stdin(Stdio::null()).stderr(Stdio::piped());
        let mut process = command.spawn().expect("the binary can be started");
        let mut log = BufReader::new(process.stderr.take().expect("stderr is piped"));
        let serving = line(&mut log, till);
        Self { process: Running(process), log, serving }
    }

    /// A field of the line that says where it serves.
    fn field(&self, name: &str) -> &str {
        let start = self.serving.split_once(&format!("{name}=")).expect("the field is there").1;
        start.split_whitespace().next().unwrap_or_default().trim_matches('"')
    }

    fn signal(&self, name: &str) {
        signal(name, self.process.0.id() as i32);
    }

    fn stop(mut self) {
        self.signal("-TERM");
        assert_eq!(self.process.0.wait().expect("it ends").code(), Some(0));
    }
}

/// Reads up to the line that has this in it.
fn line(log: &mut impl BufRead, wanted: &str) -> String {
    let mut before = String::new();
    loop {
        let mut line = String::new();
        assert_ne!(log.read_line(&mut line).expect("readable"), 0, "no {wanted} in {before}");
        if line.contains(wanted) {
            return line;
        }
        before.push_str(&line);
    }
}

pub fn text(path: &Path) -> String {
    path.display().to_string()
}

/// Bytes that no disk has by itself.
fn noise(path: &Path, bytes: usize) {
    let mut state = 88_172_645_463_325_252_u64;
    let noise = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    });
    fs::write(path, noise.take(bytes).collect::<Vec<u8>>()).expect("a file can be written");
}

fn uri(disk: &str, socket: &Path) -> String {
    format!("nbd+unix:///{disk}?socket={}", socket.display())
}

/// The picture of a host; nothing where it has none yet.
fn shown(home: &Path, metrics: &str) -> String {
    let shown = evenkeel(home, &["share", "top", metrics, "--once", "--every", "100ms"]);
    String::from_utf8_lossy(&shown.stdout).into_owned()
}

fn run(program: &str, arguments: &[&str]) {
    let output = Command::new(program).args(arguments).output().expect("the program is installed");
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn what_a_client_copies_to_a_disk_is_in_its_backing_when_the_host_has_stopped() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let at = |name: &str| -> PathBuf { folder.path().join(name) };
    noise(&at("noise"), 4 << 20);
    done(folder.path(), &["share", "array", &text(&at("array")), "--service", "20us"]);
    let settings = format!(
        "name = 'web1'\nnbd = '{}'\nmetrics = '127.0.0.1:0'\n[window]\nperiod = '100ms'\n\
         [bus]\naddress = 'slot:{}'\n\
         [[disk]]\nname = 'web1'\nbacking = '{}'\nsize = '4M'\nsimulated = '{}'\n",
        text(&at("socket")),
        text(&at("slots")),
        text(&at("disk")),
        text(&at("array"))
    );
    let host = Host::start(&[&configured(&at("share.toml"), &settings)]);
    run("nbdcopy", &[&text(&at("noise")), &uri("web1", &at("socket"))]);
    run("nbdcopy", &[&uri("web1", &at("socket")), &text(&at("copy"))]);
    assert!(
        fs::read(at("noise")).unwrap() == fs::read(at("copy")).unwrap(),
        "what was read is not what was written"
    );
    eventually("a picture", || {
        let shown = shown(folder.path(), host.field("metrics"));
        shown.contains("web1") && shown.contains("window")
    });
    host.stop();
    assert!(fs::read(at("noise")).unwrap() == fs::read(at("disk")).unwrap());
    assert!(!at("socket").exists(), "a socket is left behind");
}

#[test]
fn shares_change_while_the_host_serves_and_a_bad_file_changes_nothing() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let at = |name: &str| -> PathBuf { folder.path().join(name) };
    let config = |share: &str| {
        let disk = format!(
            "[[disk]]\nname = 'd'\nbacking = '{}'\nsize = '1M'\nshare = {share}\n",
            text(&at("disk"))
        );
        let host = format!("name = 'h'\nnbd = '{}'\nmetrics = '127.0.0.1:0'\n", text(&at("socket")));
        configured(&at("share.toml"), &format!("{host}[window]\nperiod = '50ms'\n{disk}"))
    };
    let mut host = Host::start(&[&config("1")]);
    config("'much'");
    host.signal("-HUP");
    assert!(line(&mut host.log, "event=reload_failed").contains("must be a number"));
    config("4");
    host.signal("-HUP");
    assert!(line(&mut host.log, "event=reloaded").contains("level=info"));
    let before = fs::read_to_string(at("share.toml")).expect("the file");
    fs::write(at("share.toml"), format!("memory = '1M'\n{before}")).expect("a file can be written");
    let more = format!("[[disk]]\nname = 'late'\nbacking = '{}'\nsize = '1M'\n", text(&at("late")));
    let file = fs::read_to_string(at("share.toml")).expect("the file");
    fs::write(at("share.toml"), format!("{file}{more}nbd = '{}'\n", text(&at("late.sock")))).expect("a file");
    host.signal("-HUP");
    let told = line(&mut host.log, "event=reloaded");
    assert!(told.contains("level=warn") && told.contains("memory, disk `late` is new"), "{told}");
    let metrics = host.field("metrics").to_owned();
    eventually("the new share", || {
        let shown = shown(folder.path(), &metrics);
        shown.lines().any(|line| line.trim_start().starts_with("d ") && line.contains(" 4"))
    });
    host.stop();
}

#[test]
fn a_disk_that_is_cut_while_it_is_served_is_told_and_the_host_is_not_well() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let at = |name: &str| -> PathBuf { folder.path().join(name) };
    noise(&at("disk"), 4 << 20);
    let (disk, socket) = (text(&at("disk")), text(&at("socket")));
    let place = ["--name", "d", "--backing", &disk, "--nbd", &socket];
    let file = configured(&at("share.toml"), "[window]\nperiod = '50ms'\n");
    let mut host = Host::start(&[&place[..], &["--metrics", "127.0.0.1:0", &file]].concat());
    let metrics = host.field("metrics").to_owned();
    let is_well = || {
        let url = format!("http://{metrics}/healthz");
        Command::new("curl").args(["-sf", &url]).output().expect("curl is there").status.success()
    };
    eventually("a period", is_well);
    fs::OpenOptions::new().write(true).open(at("disk")).and_then(|file| file.set_len(4_096)).expect("a cut");
    let copied = Command::new("nbdcopy").args([&uri("d", &at("socket")), &text(&at("copy"))]).output();
    assert!(!copied.expect("nbdcopy is there").status.success(), "what is gone was read");
    assert!(line(&mut host.log, "event=lost").contains("disk=d"));
    assert!(line(&mut host.log, "event=io_failed").contains("Input/output error"));
    eventually("a host that is not well", || !is_well());
    host.signal("-TERM");
    assert_ne!(host.process.0.wait().expect("it ends").code(), Some(0), "the last flush cannot be true");
}
