//! Hosts that share storage, as processes: they hear each other, and say what they do not.

use crate::cli::configured;
use crate::patience::found;
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

/// Settings of a host whose windows follow each other soon.
const QUICK: &str = "[window]\nperiod = '100ms'\n";

/// A folder, and what lies in it.
struct Scene(tempfile::TempDir);

impl Scene {
    /// In memory, where there is no direct I/O on older kernels.
    fn new() -> Self {
        Self(tempfile::tempdir_in("/dev/shm").expect("a folder in memory"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn slots(&self) -> String {
        format!("slot:{}", self.path("slots").display())
    }

    /// A host with one small disk that has its name.
    fn command(&self, name: &str, flags: &[&str]) -> Command {
        self.command_on(name, (name, QUICK), flags)
    }

    /// A host with one small disk, by its name and its file.
    fn command_on(&self, disk: &str, (name, settings): (&str, &str), flags: &[&str]) -> Command {
        let file = configured(&self.path(&format!("{disk}.toml")), settings);
        let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
        command.args(["share", "disk", &file, "--name", name, "--size", "1M", "--metrics", "127.0.0.1:0"]);
        command.arg("--backing").arg(self.path(&format!("{disk}.img")));
        command.arg("--nbd").arg(self.path(&format!("{disk}.sock"))).args(flags);
        command
    }

    fn start(&self, name: &str, flags: &[&str]) -> Host {
        Host::start(self.command(name, flags), self.path(&format!("{name}.log")))
    }
}

/// A host that runs; it is killed when this is dropped.
struct Host {
    child: Child,
    log: PathBuf,
    metrics: String,
}

impl Host {
    /// Once it serves.
    fn start(mut command: Command, log: PathBuf) -> Self {
        let child = command.stderr(fs::File::create(&log).expect("a log")).spawn().expect("the binary");
        let mut host = Self { child, log, metrics: String::new() };
        let metrics = found("a host that serves", || {
            let text = host.log();
            assert!(host.child.try_wait().expect("ours").is_none(), "it ended: {text}");
            text.split_whitespace().find_map(|word| word.strip_prefix("metrics=").map(str::to_owned))
        });
        host.metrics = metrics;
        host
    }

    fn log(&self) -> String {
        fs::read_to_string(&self.log).expect("its log")
    }

    /// What it answers; nothing to a client that it finds too slow.
    fn get(&self, path: &str) -> Option<String> {
        let mut stream = TcpStream::connect(&self.metrics).expect("its metrics");
        write!(stream, "GET {path} HTTP/1.1\r\n\r\n").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned())
    }

    /// Its answer in the end.
    fn shows(&self, path: &str, wanted: &str) {
        found(wanted, || self.get(path).filter(|answer| answer.contains(wanted)));
    }

    /// Its status once this is so.
    fn until(&self, is_so: impl Fn(&Value) -> bool) -> Value {
        let status = || serde_json::from_str(&self.get("/status")?).ok();
        found("its status", || status().filter(|status| is_so(status)))
    }

    fn until_it_hears(&self, names: &[&str]) {
        let heard = |status: &Value| -> Vec<String> {
            let members = status["members"].as_array().cloned().unwrap_or_default();
            members.iter().filter_map(|member| member["name"].as_str().map(str::to_owned)).collect()
        };
        self.until(|status| heard(status) == names);
    }

    fn signal(&self, name: &str) {
        signal(&self.child, name);
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status();
    assert!(status.is_ok_and(|status| status.success()));
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn processes_hear_each_other_by_a_file_and_notice_who_is_killed_and_who_leaves() {
    let scene = Scene::new();
    let a = scene.start("a", &["--bus", &scene.slots()]);
    let b = scene.start("b", &["--bus", &scene.slots(), "--share", "3"]);
    a.until_it_hears(&["a", "b"]);
    // What a member says first, to take its place, is without shares.
    a.until(|status| status["members"][1]["shares"] == 3.0);
    drop(b);
    a.until_it_hears(&["a"]);
    assert!(a.log().contains("event=gone member=b"), "{}", a.log());
    // What a killed one left keeps nobody from its name.
    let b = scene.start("b", &["--bus", &scene.slots()]);
    a.until_it_hears(&["a", "b"]);
    b.signal("TERM");
    a.until_it_hears(&["a"]);
    a.shows("/healthz", "ok: window");
    a.shows("/metrics", "evenkeel_share_member_window{member=\"a\"}");
    found("the picture of a", || {
        let mut top = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
        let top = top.args(["share", "top", &a.metrics, "--once"]).output().expect("top");
        let top = String::from_utf8(top.stdout).expect("text");
        (top.contains("evenkeel share, a,") && top.contains("a *")).then_some(())
    });
}

#[test]
fn a_slot_file_is_nobodys_disk_and_made_once() {
    let scene = Scene::new();
    let evenkeel =
        |args: &[&str]| Command::new(env!("CARGO_BIN_EXE_evenkeel")).args(args).output().expect("the binary");
    let path = scene.path("slots");
    let slots = path.to_str().expect("a plain path");
    let made = evenkeel(&["share", "slots", slots, "--slots", "5"]);
    assert!(made.status.success(), "{}", told(&made));
    assert_eq!(fs::metadata(&path).expect("it was made").len(), 6 * 4_096);
    let again = evenkeel(&["share", "slots", slots]);
    assert_eq!(again.status.code(), Some(2), "what stands there stays");
    let many = evenkeel(&["share", "slots", scene.path("many").to_str().unwrap(), "--slots", "4096"]);
    assert!(told(&many).contains("1 to 1024 slots, not 4096"), "{}", told(&many));
    // By another name, too.
    let link = scene.path("link");
    std::os::unix::fs::symlink(&path, &link).expect("a link");
    let before = fs::read(&path).expect("slots");
    let disk = evenkeel(&[
        "share",
        "disk",
        "--name",
        "d",
        "--backing",
        link.to_str().unwrap(),
        "--size",
        "1M",
        "--nbd",
        scene.path("d.sock").to_str().unwrap(),
        "--bus",
        &scene.slots(),
    ]);
    assert_eq!(disk.status.code(), Some(2), "{}", told(&disk));
    assert!(told(&disk).contains("it is the slot file of --bus"), "{}", told(&disk));
    assert_eq!(fs::read(&path).expect("slots"), before);
}

#[test]
fn a_start_that_is_refused_leaves_no_new_backing_file_behind() {
    let scene = Scene::new();
    fs::write(scene.path("bad.slots"), "no slots").expect("written");
    let bad = format!("slot:{}", scene.path("bad.slots").display());
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = taken.local_addr().expect("an address").to_string();
    let nowhere = scene.path("nowhere/slots");
    let nowhere = format!("slot:{}", nowhere.display());
    let busy = ["--metrics", taken.as_str()];
    for flags in [&["--bus", bad.as_str()][..], &["--bus", nowhere.as_str()], &busy] {
        // The flags of a host name a port of its own, which the last ones replace.
        let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
        command.args(["share", "disk", "--name", "a", "--size", "1M", "--backing"]).arg(scene.path("a.img"));
        command.arg("--nbd").arg(scene.path("a.sock")).args(flags);
        let refused = command.stdin(Stdio::null()).output().expect("the binary");
        assert_eq!(refused.status.code(), Some(2), "{flags:?}: {}", told(&refused));
        assert!(!scene.path("a.img").exists(), "{flags:?} left a file: {}", told(&refused));
        // One that was there stays.
        fs::write(scene.path("a.img"), vec![7; 1 << 20]).expect("written");
        let refused = command.output().expect("the binary");
        assert_eq!(refused.status.code(), Some(2), "{flags:?}: {}", told(&refused));
        assert_eq!(fs::read(scene.path("a.img")).expect("its disk"), vec![7; 1 << 20]);
        fs::remove_file(scene.path("a.img")).expect("removed");
    }
}
