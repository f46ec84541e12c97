//! Hosts that share storage, as processes: they hear each other, and say what they do not.

use crate::cli::{Running, asked, configured, refused, words};
use crate::guard::proxy::signal;
use crate::patience::found;
use crate::sandbox::done;
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Command;

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

    fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    fn slots(&self) -> String {
        format!("slot:{}", self.text("slots"))
    }

    /// A host with one small disk that has its name.
    fn start(&self, name: &str, flags: &[&str]) -> Host {
        let file = configured(&self.path(&format!("{name}.toml")), QUICK);
        let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
        command.args(["share", "disk", &file, "--name", name, "--size", "1M", "--metrics", "127.0.0.1:0"]);
        command.arg("--backing").arg(self.path(&format!("{name}.img")));
        command.arg("--nbd").arg(self.path(&format!("{name}.sock"))).args(flags);
        Host::start(command, self.path(&format!("{name}.log")))
    }
}

/// A host that runs; it is killed when this is dropped.
struct Host {
    child: Running,
    log: PathBuf,
    metrics: String,
}

impl Host {
    /// Once it serves.
    fn start(mut command: Command, log: PathBuf) -> Self {
        let child = command.stderr(fs::File::create(&log).expect("a log")).spawn().expect("the binary");
        let mut host = Self { child: Running(child), log, metrics: String::new() };
        let metrics = found("a host that serves", || {
            let text = host.log();
            assert!(host.child.0.try_wait().expect("ours").is_none(), "it ended: {text}");
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
    signal("-TERM", b.child.0.id() as i32);
    a.until_it_hears(&["a"]);
    a.shows("/healthz", "ok: window");
    a.shows("/metrics", "evenkeel_share_member_window{member=\"a\"}");
    found("the picture of a", || {
        let (_, top) = asked(scene.0.path(), &["share", "top", &a.metrics, "--once"]);
        (top.contains("evenkeel share, a,") && top.contains("a *")).then_some(())
    });
}

#[test]
fn a_slot_file_is_nobodys_disk_and_made_once() {
    let scene = Scene::new();
    let home = scene.0.path();
    let [slots, many, link, socket] = ["slots", "many", "link", "d.sock"].map(|name| scene.text(name));
    done(home, &["share", "slots", &slots, "--slots", "5"]);
    assert_eq!(fs::metadata(&slots).expect("it was made").len(), 6 * 4_096);
    refused(home, &["share", "slots", &slots]);
    let told = refused(home, &["share", "slots", &many, "--slots", "4096"]);
    assert!(told.contains("1 to 1024 slots, not 4096"), "{told}");
    // By another name, too.
    std::os::unix::fs::symlink(&slots, &link).expect("a link");
    let before = fs::read(&slots).expect("slots");
    let line = format!("share disk --name d --backing {link} --size 1M --nbd {socket} --bus slot:{slots}");
    let told = refused(home, &words(&line));
    assert!(told.contains("it is the slot file of --bus"), "{told}");
    assert_eq!(fs::read(&slots).expect("slots"), before);
}

#[test]
fn a_start_that_is_refused_leaves_no_new_backing_file_behind() {
    let scene = Scene::new();
    let [image, socket, bad, nowhere] =
        ["a.img", "a.sock", "bad.slots", "nowhere/slots"].map(|name| scene.text(name));
    fs::write(&bad, "no slots").expect("written");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = listener.local_addr().expect("an address");
    for flags in [format!("--bus slot:{bad}"), format!("--bus slot:{nowhere}"), format!("--metrics {taken}")]
    {
        let line = format!("share disk --name a --size 1M --backing {image} --nbd {socket} {flags}");
        let told = refused(scene.0.path(), &words(&line));
        assert!(!scene.path("a.img").exists(), "{flags} left a file: {told}");
        // One that was there stays.
        fs::write(&image, vec![7; 1 << 20]).expect("written");
        refused(scene.0.path(), &words(&line));
        assert_eq!(fs::read(&image).expect("its disk"), vec![7; 1 << 20]);
        fs::remove_file(&image).expect("removed");
    }
}
