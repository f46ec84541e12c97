//! `evenkeel sense` by itself.

use crate::guard::server::Server;
use crate::patience::found;
use evenkeel_os::clock::monotonic;
use evenkeel_os::stop::Stop;
use evenkeel_site::elsewhere::{Line, Reading};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

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
