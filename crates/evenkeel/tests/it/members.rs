//! Hosts that share storage, as processes: they hear each other, and say what they do not.

use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

const NAP: Duration = Duration::from_millis(20);

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
        self.command_on(name, name, flags)
    }

    /// A host with one small disk.
    fn command_on(&self, disk: &str, name: &str, flags: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
        command.args([
            "share",
            "disk",
            "--name",
            name,
            "--size",
            "1M",
            "--period",
            "100ms",
            "--metrics",
            "127.0.0.1:0",
        ]);
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
        let found = until(|| {
            let text = host.log();
            assert!(host.child.try_wait().expect("ours").is_none(), "it ended: {text}");
            text.split_whitespace().find_map(|word| word.strip_prefix("metrics=").map(str::to_owned))
        });
        host.metrics = found;
        host
    }

    fn log(&self) -> String {
        fs::read_to_string(&self.log).expect("its log")
    }

    fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.metrics).expect("its metrics");
        write!(stream, "GET {path} HTTP/1.1\r\n\r\n").expect("a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default()
    }

    /// Its status once this is so.
    fn until(&self, is_so: impl Fn(&Value) -> bool) -> Value {
        until(|| serde_json::from_str(&self.get("/status")).ok().filter(|status| is_so(status)))
    }

    fn until_it_hears(&self, names: &[&str]) -> Value {
        let heard = |status: &Value| -> Vec<String> {
            let members = status["members"].as_array().cloned().unwrap_or_default();
            members.iter().filter_map(|member| member["name"].as_str().map(str::to_owned)).collect()
        };
        self.until(|status| heard(status) == names)
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

fn until<T>(mut found: impl FnMut() -> Option<T>) -> T {
    loop {
        match found() {
            Some(found) => return found,
            None => std::thread::sleep(NAP),
        }
    }
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn processes_hear_each_other_by_a_file_and_notice_who_is_killed_and_who_leaves() {
    let scene = Scene::new();
    let a = scene.start("a", &["--bus", &scene.slots()]);
    let b = scene.start("b", &["--bus", &scene.slots(), "--share", "3"]);
    let status = a.until_it_hears(&["a", "b"]);
    assert_eq!(status["members"][1]["shares"], 3.0);
    drop(b);
    a.until_it_hears(&["a"]);
    assert!(a.log().contains("event=gone member=b"), "{}", a.log());
    // What a killed one left keeps nobody from its name.
    let b = scene.start("b", &["--bus", &scene.slots()]);
    a.until_it_hears(&["a", "b"]);
    b.signal("TERM");
    a.until_it_hears(&["a"]);
    assert!(a.get("/healthz").starts_with("ok: window"));
    assert!(a.get("/metrics").contains("evenkeel_share_member_window{member=\"a\"}"));
    let top =
        Command::new(env!("CARGO_BIN_EXE_evenkeel")).args(["share", "top", &a.metrics, "--once"]).output();
    let top = String::from_utf8(top.expect("top").stdout).expect("text");
    assert!(top.contains("evenkeel share, a,") && top.contains("a *"), "{top}");
}

#[test]
fn the_second_of_a_name_does_not_start_and_says_what_to_do() {
    let scene = Scene::new();
    let first = scene.start("a", &["--bus", &scene.slots()]);
    let second = scene.command_on("b", "a", &["--bus", &scene.slots()]).output().expect("the binary");
    assert_eq!(second.status.code(), Some(2));
    assert!(told(&second).contains("another member of the name a is live"), "{}", told(&second));
    assert!(told(&second).contains("hint: give this host a name of its own"), "{}", told(&second));
    first.until_it_hears(&["a"]);
}

#[test]
fn a_full_slot_file_is_told_with_what_to_do() {
    let scene = Scene::new();
    let config = |name: &str| {
        let path = scene.path(&format!("{name}.toml"));
        let (disk, socket) = (scene.path(&format!("{name}.img")), scene.path(&format!("{name}.sock")));
        let text = format!(
            "name = '{name}'\nnbd = '{}'\nmetrics = '127.0.0.1:0'\n[window]\nperiod = '100ms'\n\
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
    assert!(told(&late).contains("hint: end a member"), "{}", told(&late));
    holds.until_it_hears(&["a"]);
    // Shares, threshold and period are changed while it runs.
    let path = scene.path("a.toml");
    let text = fs::read_to_string(&path).expect("it was written");
    let text = text.replace("'100ms'", "'50ms'\nlatency = '30ms'").replace("size =", "share = 5\nsize =");
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
        until(|| TcpStream::connect(("127.0.0.1", port)).ok());
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
        ["--bus", &server.1, "--bus-login", login.to_str().expect("a name")].map(str::to_owned)
    };
    let flags = bus(&right);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let (a, b) = (scene.start("a", &flags), scene.start("b", &flags));
    a.until_it_hears(&["a", "b"]);
    b.until_it_hears(&["a", "b"]);
    signal(&server.0, "STOP");
    let kept = a.until(|status| status["kept"] == true);
    assert!(kept["why"].as_str().is_some_and(|why| why.starts_with("the last window is kept")), "{kept}");
    assert!(a.get("/healthz").starts_with("ok: window"));
    signal(&server.0, "CONT");
    a.until(|status| status["kept"] == false);
    a.until_it_hears(&["a", "b"]);
    let log = a.log();
    assert_eq!((log.matches("event=fault").count(), log.matches("event=recovered").count()), (1, 1), "{log}");
    let flags = bus(&wrong);
    let mut refused = scene.command("c", &["--require-bus"]);
    let refused = refused.args(flags).output().expect("the binary");
    assert_eq!(refused.status.code(), Some(2));
    let told = told(&refused);
    assert!(told.contains("cannot connect to NATS") && !told.contains("secret"), "{told}");
}
