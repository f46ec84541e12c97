//! `evenkeel sense` by itself.

use super::{doubts, profile, runs};
use crate::cli::found;
use crate::guard::server::Server;
use crate::sandbox::figures;
use evenkeel_os::Stop;
use evenkeel_os::clock::monotonic;
use evenkeel_site::elsewhere::{Elsewhere, Line, Reading};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Lines, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fs, thread};

/// It, with its input and the lines that it says.
struct Sense {
    child: Child,
    input: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Sense {
    fn start(flags: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
        // Without a home, as by ssh for an account that has none.
        command.arg("sense").args(flags).env_remove("HOME").env_remove("EVENKEEL_HOME");
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = pipes.expect("the binary can be started");
        let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        Self { input: child.stdin.take(), child, lines }
    }

    fn line(&mut self) -> Line {
        let text = self.lines.next().expect("a line").expect("text");
        Line::parse(&text).unwrap_or_else(|| panic!("{text}"))
    }

    fn reading(&mut self) -> Reading {
        loop {
            if let Line::Reading(reading) = self.line() {
                return *reading;
            }
        }
    }

    fn ends(mut self) {
        let status = found("the end of sense", || self.child.try_wait().expect("a child"));
        assert!(status.success(), "{status}");
    }
}

#[test]
fn the_header_says_who_speaks_and_readings_follow_to_the_end_of_the_input() {
    let mut sense = Sense::start(&["--every", "20ms"]);
    let Line::Sense(header) = sense.line() else { panic!("no header") };
    assert!(header.lines == 1 && header.cpus > Some(0), "{header:?}");
    assert!(
        !header.host.is_empty() && header.boot_id.is_some() && header.every_ns == 20_000_000,
        "{header:?}"
    );
    assert!(header.server_pid.is_some() || header.no_server.is_some(), "{header:?}");
    let (before, after) = (sense.reading(), sense.reading());
    assert!(header.at_ns <= before.at_ns && before.at_ns < after.at_ns);
    assert!(before.cpu.expect("CPUs").busy_ns <= after.cpu.expect("CPUs").busy_ns);
    sense.input = None;
    sense.ends();
}

#[test]
fn a_line_is_answered_with_the_clock_at_its_arrival() {
    let mut sense = Sense::start(&["--every", "60s"]);
    sense.line();
    sense.reading();
    let mut input = sense.input.take().expect("its input");
    let sent = monotonic();
    // What it does not know, and what is far too long, it leaves.
    input.write_all(format!("hello\n{}\nping 7\n", "x".repeat(100_000)).as_bytes()).expect("a pipe");
    let Line::Pong { ping, at_ns } = sense.line() else { panic!("no answer") };
    let received = monotonic();
    assert!(
        ping == 7 && (sent.0..=received.0).contains(&at_ns),
        "{at_ns} outside of {sent:?} to {received:?}"
    );
    drop(input);
    sense.ends();
}

#[test]
fn a_server_is_found_by_its_port_and_again_after_a_restart() {
    let mut server = Server::up(&[]);
    let port = server.address().rsplit_once(':').expect("a port").1.to_owned();
    let mut sense = Sense::start(&["--every", "20ms", "--port", &port]);
    let Line::Sense(header) = sense.line() else { panic!("no header") };
    let first = u32::try_from(server.sandbox.pid()).expect("a number");
    assert_eq!(header.server_pid, Some(first), "{header:?}");
    server.sandbox.restart(&BTreeMap::new(), &Stop::default(), &mut |_| {}).expect("a server");
    let second = u32::try_from(server.sandbox.pid()).expect("a number");
    let seen = found("the new process", || sense.reading().server.filter(|server| server.pid != first));
    assert_eq!(seen.pid, second);
    sense.input = None;
    sense.ends();
}

#[test]
fn it_ends_where_nobody_reads_it_at_a_signal_and_when_its_time_is_over() {
    let mut unread = Sense::start(&["--every", "10ms"]);
    unread.line();
    drop(unread.lines);
    let mut child = unread.child;
    found("the end of one that nobody reads", || child.try_wait().expect("a child"));
    drop(unread.input);

    let mut asked = Sense::start(&[]);
    asked.line();
    let told = Command::new("kill").arg(asked.child.id().to_string()).status().expect("kill");
    assert!(told.success());
    let status = found("the end of one that is told to end", || asked.child.try_wait().expect("a child"));
    assert_eq!(status.code(), Some(143), "{status}");

    let mut short = Sense::start(&["--for", "100ms", "--every", "10ms"]);
    let lines = short.lines.by_ref().count();
    assert!(lines >= 2, "{lines} lines");
    short.ends();
}

#[test]
fn one_whose_lines_nobody_takes_ends_with_its_input_all_the_same() {
    let mut stuck = Sense::start(&["--every", "10ms"]);
    stuck.line();
    // A pipe holds 64 KiB: two seconds of lines fill it, and the thread that writes waits in it.
    std::thread::sleep(std::time::Duration::from_secs(2));
    stuck.input = None;
    stuck.ends();
}

/// This machine's own counters as node_exporter shows them.
fn page() -> String {
    let modes = ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"];
    let stat = fs::read_to_string("/proc/stat").expect("CPUs");
    let mut page = String::from("# TYPE node_cpu_seconds_total counter\n");
    for line in stat.lines() {
        let mut words = line.split_ascii_whitespace();
        let Some(cpu) = words.next().and_then(|name| name.strip_prefix("cpu")).filter(|cpu| !cpu.is_empty())
        else {
            continue;
        };
        for (mode, ticks) in modes.iter().zip(words) {
            let seconds = ticks.parse::<f64>().expect("ticks") / 100.0;
            page.push_str(&format!("node_cpu_seconds_total{{cpu=\"{cpu}\",mode=\"{mode}\"}} {seconds}\n"));
        }
    }
    page + "node_uname_info{nodename=\"db1\",release=\"6.1\"} 1\n"
}

/// A server of pages that answers each connection by what `answer` does with it.
fn serve(answer: impl Fn(TcpStream) + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let answer = Arc::new(answer);
    // It ends with the test's process.
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answer = Arc::clone(&answer);
            thread::spawn(move || {
                let mut request =
                    BufReader::new(stream.try_clone().expect("a socket")).lines().map_while(Result::ok);
                if request.any(|line| line.is_empty()) {
                    answer(stream);
                }
            });
        }
    });
    format!("http://{address}/metrics")
}

fn send(mut stream: TcpStream, body: &str) {
    let head =
        format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n", body.len());
    // Who asked may have gone.
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes()));
}

#[test]
fn theta_is_that_of_the_machine_and_what_breaks_off_is_not_available() {
    let is_broken = Arc::new(AtomicBool::new(false));
    let broken = Arc::clone(&is_broken);
    let url = serve(move |stream| match broken.load(Ordering::Relaxed) {
        false => send(stream, &page()),
        true => send(stream, "<html>Bad gateway</html>"),
    });
    let server = Server::up(&[]);
    let home = server.file("home");
    let mut child = profile(&server, "20,30,40", &["--duration", "6s", "--sense-from", &url]);
    let watcher = thread::spawn({
        let home = home.clone();
        move || {
            crate::cli::found("the first run", || {
                let folders = fs::read_dir(super::study(&home).ok()?.join("runs")).ok()?.flatten();
                folders.map(|folder| folder.path().join("run.json")).find(|path| path.exists())
            });
            is_broken.store(true, Ordering::Relaxed);
        }
    });
    let (said, _) = figures(&child.output().expect("it starts"));
    watcher.join().expect("a run");
    let runs = runs(&home);
    assert_eq!(runs[0]["sensed"]["by"].as_str(), Some("node_exporter"), "{:#}", runs[0]);
    let theta = &runs[0]["theta"];
    assert_eq!((theta["domain"].as_str(), runs[0]["sensed"]["host"].as_str()), (Some("host"), Some("db1")));
    let total = theta["total_percent"].as_f64().expect("theta");
    assert!(total > 0.0 && total < 110.0, "{:#}", runs[0]);
    assert!(theta["steal_percent"].is_f64() && runs[0]["sensed"]["resolution_ms"].as_f64() == Some(10.0));
    assert!(runs[0]["sensed"]["gap_ms"].as_f64() >= Some(900.0), "{:#}", runs[0]);
    assert!(runs[2]["theta"].is_null() && doubts(&runs[2]).contains(&"not-available"), "{:#}", runs[2]);
    assert!(
        runs[2]["sensed"]["missing"].as_str().is_some_and(|why| why.contains("CPU times")),
        "{:#}",
        runs[2]
    );
    assert!(said.contains("server sensed by node_exporter"), "{said}");
}

/// Why a page cannot be used.
fn refusal(answer: impl Fn(TcpStream) + Send + Sync + 'static) -> String {
    let url = serve(answer);
    let far = Elsewhere::metrics(&url).expect("an address");
    let error = far.start(&Stop::default()).expect_err("no page");
    assert!(error.hint().is_some());
    error.to_string()
}

#[test]
fn garbage_endless_pages_and_slow_ones_are_told_within_bounds() {
    let garbage = refusal(|mut stream| drop(stream.write_all(&[0xff; 4096])));
    assert!(garbage.contains("HTTP"), "{garbage}");
    let other = refusal(|stream| send(stream, "go_goroutines 8\n"));
    assert!(other.contains("does not show CPU times"), "{other}");
    let endless = |mut stream: TcpStream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
        while stream.write_all(&[b'x'; 1 << 16]).is_ok() {}
    };
    let endless = refusal(endless);
    assert!(endless.contains("MiB") || endless.contains("within"), "{endless}");
    let headers = |mut stream: TcpStream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n");
        while stream.write_all(b"X: y\r\n").is_ok() {}
    };
    let headers = refusal(headers);
    assert!(headers.contains("MiB") || headers.contains("within"), "{headers}");
    // Drop by drop it is late as well: the time is that of the whole page.
    let slow = |mut stream: TcpStream| {
        while stream.write_all(b"H").is_ok() {
            thread::sleep(std::time::Duration::from_millis(200));
        }
    };
    let slow = refusal(slow);
    assert!(slow.contains("no complete answer within 5 s"), "{slow}");
}
