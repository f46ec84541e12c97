//! What an operator is told: every change of the limit, what a reload did, what a start saw, and health at any time.

use super::client::{Client, MODERN};
use super::logins::certificate;
use super::operation::{Process, evenkeel};
use super::proxy::{eventually, signal};
use super::server::Server;
use crate::patience::found;
use std::io::Write;
use std::net::TcpStream;
use std::os::unix::net::UnixListener;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The numbers behind `key=` in lines of an event.
fn numbers(log: &str, event: &str, key: &str) -> Vec<u64> {
    let lines = log.lines().filter(|line| line.contains(&format!(" event={event} ")));
    let number = |line: &str| {
        let value = line.split(&format!(" {key}=")).nth(1)?.split(' ').next()?;
        value.parse::<u64>().ok()
    };
    lines.map(|line| number(line).unwrap_or_else(|| panic!("no {key} in {line}"))).collect()
}

/// Changes of the limit that a log tells, each and together.
fn changes(log: &str) -> u64 {
    numbers(log, "limit", "to").len() as u64 + numbers(log, "limits", "changes").iter().sum::<u64>()
}

/// Ticks of a journal that changed the limit.
fn journalled(journal: &str) -> u64 {
    let ticks = journal.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
    ticks.filter(|tick| tick["limit"] != tick["decided"]).count() as u64
}

fn counted(process: &Process) -> u64 {
    let name = "\nevenkeel_guard_limit_changes_total ";
    let text = process.shows("/metrics", name);
    let value = text.split(name).nth(1).and_then(|rest| rest.lines().next());
    value.and_then(|value| value.parse().ok()).expect("a number")
}

/// Keeps a guard at work with more clients than it admits until its limit has changed so often.
fn work_until(process: &Process, changes: u64) {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for number in 0..12 {
            let done = &done;
            scope.spawn(move || {
                let mut client = Client::connect(&process.address, MODERN);
                while !done.load(Ordering::Relaxed) {
                    client.query(&format!("UPDATE item SET stock = stock + 1 WHERE id = {}", number % 3 + 1));
                }
            });
        }
        eventually("changes of the limit", || counted(process) >= changes);
        done.store(true, Ordering::Relaxed);
    });
}

#[test]
fn the_changes_told_in_the_log_add_up_to_those_that_were_made() {
    let server = Server::up(&[]);
    for told in ["decisive", "all"] {
        let journal = server.file(told);
        let top = format!("log_decisions = '{told}'");
        let control = format!("initial_limit = 2\njournal = '{}'", journal.display());
        let mut process = Process::start_with(&server, &top, &control, evenkeel);
        work_until(&process, 6);
        let seen = counted(&process);
        process.end();
        let (log, made) = (process.log(), journalled(&std::fs::read_to_string(&journal).expect("a journal")));
        assert!(changes(&log) == made && made >= seen && seen >= 6, "{made} made, {seen} seen:\n{log}");
        let gathered = numbers(&log, "limits", "changes").len();
        assert_eq!(gathered > 0, told == "decisive", "{log}");
        let why = log.lines().filter(|line| line.contains(" event=limit"));
        assert!(why.clone().all(|line| line.contains(", because ")), "{log}");
    }
}

#[test]
fn a_reload_says_what_holds_and_what_does_not() {
    let server = Server::up(&[]);
    let fixed = |limit: u32| format!("controller = 'fixed'\ninitial_limit = {limit}");
    let process = Process::start(&server, &fixed(3));
    let top = "login_max = '20s'\nproxy_protocol = true";
    process.configure(&server, &format!("{top}\n[control]\ntick = '50ms'\n{}", fixed(5)));
    process.signal(libc::SIGHUP);
    eventually("the new limit", || process.limit() == 5);
    eventually("what it says", || process.log().contains("event=reloaded"));
    let log = process.log();
    let line = log.lines().find(|line| line.contains("event=reloaded")).unwrap_or_default();
    assert!(line.contains("level=warn") && line.contains(" applied=initial_limit "), "{line}");
    assert!(line.contains("restart_needed=\"login_max, proxy_protocol\""), "{line}");
    // Clients can still log in: the old configuration stays in force where the new one cannot.
    Client::connect(&process.address, MODERN).query("SELECT 1");
}

#[test]
fn a_configuration_that_has_become_a_pipe_is_not_waited_for() {
    let server = Server::up(&[]);
    let process = Process::start(&server, "controller = 'fixed'\ninitial_limit = 3");
    std::fs::remove_file(&process.config).expect("the file");
    assert!(Command::new("mkfifo").arg(&process.config).status().expect("mkfifo is there").success());
    process.signal(libc::SIGHUP);
    eventually("the refusal", || process.log().contains("not a file that can be read again"));
    Client::connect(&process.address, MODERN).query("SELECT 1");
}

#[test]
fn a_guard_that_would_be_its_own_server_is_refused() {
    for (listen, backend) in [("127.0.0.1:3306", "127.0.0.1:3306"), ("0.0.0.0:3306", "localhost:3306")] {
        let output =
            evenkeel(&["--listen", listen, "--backend", backend, "--check"]).output().expect("it runs");
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains(listen) && told.contains("its own server"), "{told}");
    }
}

/// A URL of an account that the server lets in, and one that it does not.
fn monitors(server: &Server) -> (String, String) {
    server.sql(
        "CREATE USER watch@'%' IDENTIFIED BY 'open'; GRANT SELECT (User, Host) ON mysql.user TO watch@'%'",
    );
    let url = |password: &str| format!("monitor = 'mysql://watch:{password}@{}'", server.address());
    (url("open"), url("secret"))
}

fn few_files(arguments: &[&str]) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 256 && exec \"$0\" guard \"$@\"", env!("CARGO_BIN_EXE_evenkeel")]);
    command.args(arguments);
    command
}

#[test]
fn a_start_warns_of_what_an_operator_may_not_want() {
    let home = tempfile::tempdir().expect("a folder");
    let (chain, key) = certificate(home.path(), "server");
    let files = [chain, key].map(|path| path.display().to_string());
    let server = Server::up(&[("ssl_cert", &files[0]), ("ssl_key", &files[1]), ("max_connections", "151")]);
    let (open, secret) = monitors(&server);
    let process = Process::start_with(&server, "", &open, few_files);
    for about in ["tls", "open_files", "host_accounts"] {
        let wanted = format!("event=warning about={about} ");
        eventually(about, || process.log().contains(&wanted));
    }
    let log = process.log();
    assert!(log.contains("`self_signed`") && log.contains("app@localhost"), "{log}");
    assert!(log.contains("256 open files") && log.contains("takes 151"), "{log}");
    drop(process);
    let denied = Process::start_with(&server, "", &secret, evenkeel);
    eventually("a refusal", || denied.log().contains("event=warning about=monitor "));
    assert!(!denied.log().contains("secret"), "{}", denied.log());
}

/// The greeting of a MariaDB that offers TLS.
const GREETING: &[u8] =
    b"\x54\0\0\0\x0a10.11.14-MariaDB\0\x01\0\0\0abcdefgh\0\xfe\xff\x2d\x02\0\xff\x81\x15\0\0\0\0\0\0\
    \x1d\0\0\0ijklmnopqrst\0mysql_native_password\0";

#[test]
fn a_server_that_comes_later_is_looked_at_when_it_is_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("server.sock");
    let path = folder.path().join("log");
    let log = || std::fs::read_to_string(&path).unwrap_or_default();
    let backend = socket.display().to_string();
    let mut command = evenkeel(&["--listen", "127.0.0.1:0", "--backend", &backend]);
    let stderr = std::fs::File::create(&path).expect("a log");
    let _guard = Killed(command.stderr(stderr).spawn().expect("it starts"));
    eventually("its start", || log().contains("event=listening"));
    assert!(!log().contains("event=warning"), "{}", log());
    let server = UnixListener::bind(&socket).expect("a socket");
    server.set_nonblocking(true).expect("a socket");
    found("the warning", || {
        // Whoever looks for the server's process connects too, and waits for no greeting.
        if let Ok((mut stream, _)) = server.accept() {
            let _ = stream.write_all(GREETING);
        }
        log().contains("event=warning about=tls ").then_some(())
    });
}

/// Ends with the test, however that ends.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_start_without_reasons_warns_of_nothing() {
    let server = Server::up(&[("max_connections", "20")]);
    let (open, _) = monitors(&server);
    let process = Process::start_with(&server, "refuse_host_accounts = true", &open, evenkeel);
    // The account is asked for what a start looks at before its first status is there.
    eventually("the status", || process.log().contains("status=true"));
    assert!(!process.log().contains("event=warning"), "{}", process.log());
}

#[test]
fn a_guard_ends_although_the_server_that_its_monitor_asks_stands_still() {
    let server = Server::up(&[]);
    let (open, _) = monitors(&server);
    let mut process = Process::start_with(&server, "", &open, evenkeel);
    eventually("the status", || process.log().contains("status=true"));
    signal("-STOP", server.sandbox.pid());
    // Time to ask once more.
    std::thread::sleep(Duration::from_secs(1));
    process.signal(libc::SIGTERM);
    let ended = found("its end", || process.ended());
    assert!(ended.success(), "{}", process.log());
    signal("-CONT", server.sandbox.pid());
}

#[test]
fn lines_of_the_log_begin_with_a_time_that_people_can_read() {
    let server = Server::up(&[]);
    let process = Process::start(&server, "controller = 'fixed'");
    eventually("a line", || process.log().contains('\n'));
    for line in process.log().lines() {
        let time = line.strip_prefix("time=").and_then(|rest| rest.split(' ').next()).unwrap_or_default();
        let form = |(letter, wanted): (char, char)| {
            if wanted == '0' { letter.is_ascii_digit() } else { letter == wanted }
        };
        let wanted = "0000-00-00T00:00:00.000Z";
        assert!(time.len() == wanted.len() && time.chars().zip(wanted.chars()).all(form), "{line}");
    }
}

#[test]
fn health_is_told_while_two_hundred_clients_say_nothing_or_do_not_read() {
    let server = Server::up(&[]);
    let process = Process::start(&server, "controller = 'fixed'");
    let words: [&[u8]; 4] =
        [b"", b"GET /heal", b"GET /status HTTP/1.1\r\n\r\n", b"GET /metrics HTTP/1.1\r\n\r\n"];
    let mut slow = Vec::new();
    for number in 0..200 {
        let mut stream = TcpStream::connect(&process.metrics).expect("a connection");
        stream.write_all(words[number % 4]).expect("room for a few bytes");
        slow.push(stream);
    }
    for _ in 0..10 {
        assert!(process.get("/healthz").contains("200 OK"), "the first request of one client is answered");
    }
}
