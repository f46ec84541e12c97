//! Hosts that share storage, as processes: they hear each other, and say what they do not.

use crate::cli::configured;
use crate::patience::found;
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
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

    /// A fault is told once however many periods it lasts, and its end too. A bus may fail more than once on
    /// a slow machine.
    fn told_each_fault_once(&self) {
        let log = self.log();
        let told = |line: &str| {
            let fault = line.split_once("event=fault ").and_then(|(_, rest)| rest.split_once(" window="));
            fault
                .map(|(fault, _)| Some(fault.to_owned()))
                .or(line.contains("event=recovered").then_some(None))
        };
        let told: Vec<Option<String>> = log.lines().filter_map(told).collect();
        assert!(told.len() > 1 && told.contains(&None), "{log}");
        assert!(told[0].is_some() && told.windows(2).all(|pair| pair[0] != pair[1]), "{log}");
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
fn the_second_of_a_name_does_not_start_and_says_what_to_do() {
    let scene = Scene::new();
    let first = scene.start("a", &["--bus", &scene.slots()]);
    // It listens for two of its periods: the first tells something before, however slow it is.
    let slow = ("a", "[window]\nperiod = '60s'\n");
    let second = scene.command_on("b", slow, &["--bus", &scene.slots()]).output().expect("the binary");
    assert_eq!(second.status.code(), Some(2));
    assert!(told(&second).contains("another live member has the name a"), "{}", told(&second));
    assert!(told(&second).contains("hint: give this host a name of its own"), "{}", told(&second));
    first.until_it_hears(&["a"]);
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
fn a_slot_file_that_cannot_be_written_whole_leaves_nothing_behind() {
    let scene = Scene::new();
    let folder = scene.path("folder");
    fs::create_dir(&folder).expect("a folder");
    let make = |limit: &str| {
        // Blocks of 512 or 1,024 bytes, by the shell: the header fits, 17 blocks of 4 KiB do not.
        let script = format!("trap '' XFSZ; ulimit -f {limit}; exec \"$0\" share slots \"$1\" --slots 16");
        let mut shell = Command::new("sh");
        shell.args(["-c", &script, env!("CARGO_BIN_EXE_evenkeel")]).arg(folder.join("slots"));
        shell.output().expect("a shell")
    };
    let torn = make("16");
    assert_eq!(torn.status.code(), Some(2), "{}", told(&torn));
    assert_eq!(
        fs::read_dir(&folder).expect("it is there").count(),
        0,
        "what is torn would be in the way for good"
    );
    let whole = make("unlimited");
    assert!(whole.status.success(), "{}", told(&whole));
    assert_eq!(fs::read_dir(&folder).expect("it is there").count(), 1);
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

#[test]
fn an_empty_file_is_no_slot_file_and_stays_empty() {
    let scene = Scene::new();
    fs::write(scene.path("slots"), "").expect("a file");
    let host = scene.command("a", &["--bus", &scene.slots()]).output().expect("the binary");
    assert_eq!(host.status.code(), Some(2));
    assert!(told(&host).contains("is not a slot file: it is empty"), "{}", told(&host));
    assert!(told(&host).contains("hint: name a new file"), "{}", told(&host));
    assert_eq!(fs::metadata(scene.path("slots")).expect("it is there").len(), 0);
}

#[test]
fn a_full_slot_file_is_told_with_what_to_do() {
    let scene = Scene::new();
    // The slot of a member that is silent for ten periods may be had: they are longer than any machine stands
    // still.
    let config = |name: &str| {
        let path = scene.path(&format!("{name}.toml"));
        let (disk, socket) = (scene.path(&format!("{name}.img")), scene.path(&format!("{name}.sock")));
        let text = format!(
            "name = '{name}'\nnbd = '{}'\nmetrics = '127.0.0.1:0'\n[window]\nperiod = '3s'\n\
             [bus]\naddress = '{}'\nslots = 1\n[[disk]]\nname = 'd'\nbacking = '{}'\nsize = '1M'\n",
            socket.display(),
            scene.slots(),
            disk.display()
        );
        fs::write(&path, text).expect("a configuration");
        let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
        command.args(["share", "disk", "--config"]).arg(path);
        command
    };
    let holds = Host::start(config("a"), scene.path("a.log"));
    let late = config("b").output().expect("the binary");
    assert_eq!(late.status.code(), Some(2));
    assert!(told(&late).contains("all 1 slots of"), "{}", told(&late));
    assert!(told(&late).contains("hint: stop a member"), "{}", told(&late));
    holds.until_it_hears(&["a"]);
    // Shares, threshold and period are changed while it runs.
    let path = scene.path("a.toml");
    let text = fs::read_to_string(&path).expect("it was written");
    let text = text.replace("'3s'", "'50ms'\nlatency = '30ms'").replace("size =", "share = 5\nsize =");
    fs::write(&path, text).expect("a configuration");
    holds.signal("HUP");
    let changed = |status: &Value| {
        status["disks"][0]["shares"] == 5.0 && status["threshold_s"] == 0.03 && status["period_s"] == 0.05
    };
    holds.until(changed);
    assert!(holds.log().contains("event=reloaded"));
}

/// A server of NATS that asks for a password.
struct Server(Child, String);

impl Server {
    fn start() -> Self {
        let port = TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port").port();
        let program = ["/usr/sbin/nats-server", "/usr/bin/nats-server"];
        let program = program.into_iter().find(|path| Path::new(path).exists()).unwrap_or("nats-server");
        let mut command = Command::new(program);
        command.args(["-a", "127.0.0.1", "-p", &port.to_string(), "--user", "me", "--pass", "the-secret"]);
        let child =
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("nats-server is installed");
        found("a server that listens", || TcpStream::connect(("127.0.0.1", port)).ok());
        Self(child, format!("nats://127.0.0.1:{port}"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // One that is stopped cannot end.
        signal(&self.0, "CONT");
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn hosts_log_in_to_nats_by_a_file_and_keep_their_windows_while_it_stands_still() {
    let (scene, server) = (Scene::new(), Server::start());
    let (right, wrong) = (scene.path("right"), scene.path("wrong"));
    fs::write(&right, "me:the-secret\n").expect("a file");
    fs::write(&wrong, "me:no-secret-of-mine\n").expect("a file");
    let bus = |login: &Path| {
        format!("{QUICK}[bus]\naddress = '{}'\nlogin = '{}'\nrequire = true\n", server.1, login.display())
    };
    let command = |name: &str, login: &Path| scene.command_on(name, (name, &bus(login)), &[]);
    let start = |name: &str| Host::start(command(name, &right), scene.path(&format!("{name}.log")));
    let (a, b) = (start("a"), start("b"));
    a.until_it_hears(&["a", "b"]);
    b.until_it_hears(&["a", "b"]);
    signal(&server.0, "STOP");
    let kept = a.until(|status| status["kept"] == true);
    // For some periods more, in which nothing is told again.
    let at_s = |status: &Value| status["at_s"].as_f64().expect("a number");
    a.until(|status| at_s(status) > at_s(&kept) + 0.3);
    assert!(kept["why"].as_str().is_some_and(|why| why.starts_with("the last window is kept")), "{kept}");
    a.shows("/healthz", "ok: window");
    signal(&server.0, "CONT");
    a.until(|status| status["kept"] == false);
    a.until_it_hears(&["a", "b"]);
    a.told_each_fault_once();
    let refused = command("c", &wrong).output().expect("the binary");
    assert_eq!(refused.status.code(), Some(2));
    let told = told(&refused);
    assert!(told.contains("cannot connect to NATS") && !told.contains("secret"), "{told}");
}
