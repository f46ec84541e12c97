//! Disks of hosts that share storage, as a user runs them.

use crate::cli::{Running, asked, configured, evenkeel, eventually, found, refused, words};
use crate::guard::server::signal;
use crate::sandbox::done;
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

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
    let host = Host::start(&[&configured(&at("share.toml"), &settings)], at("log"));
    run("nbdcopy", &[&text(&at("noise")), &uri("web1", &at("socket"))]);
    run("nbdcopy", &[&uri("web1", &at("socket")), &text(&at("copy"))]);
    assert!(
        fs::read(at("noise")).unwrap() == fs::read(at("copy")).unwrap(),
        "what was read is not what was written"
    );
    eventually("a picture", || {
        let shown = shown(folder.path(), &host.metrics);
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
    let host = Host::start(&[&config("1")], at("log"));
    config("'much'");
    host.signal("-HUP");
    assert!(host.told("event=reload_failed").contains("must be a number"));
    config("4");
    host.signal("-HUP");
    host.told("level=info event=reloaded");
    let before = fs::read_to_string(at("share.toml")).expect("the file");
    fs::write(at("share.toml"), format!("memory = '1M'\n{before}")).expect("a file can be written");
    let more = format!("[[disk]]\nname = 'late'\nbacking = '{}'\nsize = '1M'\n", text(&at("late")));
    let file = fs::read_to_string(at("share.toml")).expect("the file");
    fs::write(at("share.toml"), format!("{file}{more}nbd = '{}'\n", text(&at("late.sock")))).expect("a file");
    host.signal("-HUP");
    let told = host.told("level=warn event=reloaded");
    assert!(told.contains("memory, disk `late` is new"), "{told}");
    eventually("the new share", || {
        let shown = shown(folder.path(), &host.metrics);
        shown.lines().any(|line| line.trim_start().starts_with("d ") && line.contains(" 4"))
    });
    host.stop();
}

#[test]
fn a_disk_ends_also_while_a_process_has_its_file_open() {
    if !crate::mounted::can_mount() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary directory");
    let at = |name: &str| -> PathBuf { folder.path().join(name) };
    fs::create_dir(at("shown")).expect("a folder");
    let (backing, shown) = (text(&at("disk")), text(&at("shown")));
    let disk = format!("[[disk]]\nname = 'd'\nbacking = '{backing}'\nsize = '1M'\nfuse = '{shown}'\n");
    let file = configured(&at("share.toml"), &format!("name = 'h'\nmetrics = '127.0.0.1:0'\n{disk}"));
    let host = Host::start(&[&file], at("log"));
    let mounts = || fs::read_to_string("/proc/self/mounts").expect("the mounts").contains(&shown);
    let mut open = fs::File::open(at("shown/d")).expect("the disk as a file");
    assert!(mounts());
    host.stop();
    assert!(fs::read_to_string(at("log")).expect("a log").contains("event=still_open"));
    assert!(!mounts() && open.read(&mut [0; 16]).is_err(), "it is gone");
}

#[test]
fn a_disk_that_is_cut_while_it_is_served_is_told_and_the_host_is_not_well() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let at = |name: &str| -> PathBuf { folder.path().join(name) };
    noise(&at("disk"), 4 << 20);
    let (disk, socket) = (text(&at("disk")), text(&at("socket")));
    let place = ["--name", "d", "--backing", &disk, "--nbd", &socket];
    let file = configured(&at("share.toml"), "[window]\nperiod = '50ms'\n");
    let mut host = Host::start(&[&place[..], &["--metrics", "127.0.0.1:0", &file]].concat(), at("log"));
    let is_well = |host: &Host| host.get("/healthz").is_some_and(|said| said.starts_with("ok: "));
    eventually("a period", || is_well(&host));
    fs::OpenOptions::new().write(true).open(at("disk")).and_then(|file| file.set_len(4_096)).expect("a cut");
    let copied = Command::new("nbdcopy").args([&uri("d", &at("socket")), &text(&at("copy"))]).output();
    assert!(!copied.expect("nbdcopy is there").status.success(), "what is gone was read");
    assert!(host.told("event=lost").contains("disk=d"));
    assert!(host.told("event=io_failed").contains("Input/output error"));
    eventually("a host that is not well", || !is_well(&host));
    host.signal("-TERM");
    assert_ne!(host.child.0.wait().expect("it ends").code(), Some(0), "the last flush cannot be true");
}

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
        let [image, socket, log] = ["img", "sock", "log"].map(|kind| self.text(&format!("{name}.{kind}")));
        let place = ["--name", name, &file, "--backing", &image, "--size", "1M", "--nbd", &socket];
        let all = [&place[..], &["--metrics", "127.0.0.1:0"], flags].concat();
        Host::start(&all, log.into())
    }
}

/// A host that runs; it is killed when this is dropped.
struct Host {
    child: Running,
    log: PathBuf,
    metrics: String,
}

impl Host {
    /// `evenkeel share disk` once it serves, with metrics.
    fn start(arguments: &[&str], log: PathBuf) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
        command.args(["share", "disk"]).args(arguments).stdin(Stdio::null());
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

    /// The first line of its log that has this in it, once there is one.
    fn told(&self, wanted: &str) -> String {
        found(wanted, || self.log().lines().find(|line| line.contains(wanted)).map(str::to_owned))
    }

    fn signal(&self, name: &str) {
        signal(name, self.child.0.id() as i32);
    }

    fn stop(mut self) {
        self.signal("-TERM");
        assert_eq!(self.child.0.wait().expect("it ends").code(), Some(0));
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
    b.signal("-TERM");
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
