//! `evenkeel sense`: what this machine does, line by line, for somebody on another one.
//!
//! It leaves nothing behind: where its standard input or output is closed, as ssh does when its other side has gone, it ends.
//! The main thread only waits for that, so that a write that nobody takes cannot keep the process.

use super::Session;
use crate::config::units;
use crate::failure::WithHint;
use crate::signals;
use anyhow::{Context, Result, anyhow};
use evenkeel_core::Nanos;
use evenkeel_os::clock::monotonic;
use evenkeel_sense::far::{self, FarProbe, Wanted};
use evenkeel_sense::machine::Machine;
use evenkeel_site::elsewhere::{Header, LINES, Line, Reading, next_line};
use std::io::{self, BufReader, ErrorKind, Write};
use std::process::ExitCode;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

/// Shortest time between two readings: the kernel counts the time of CPUs in ticks of mostly 10 ms.
const EVERY_MIN: Nanos = Nanos::from_millis(10);
const EVERY_MAX: Nanos = Nanos::from_secs(60);
/// Longest line on standard input that is read.
const ASKED_BYTES_MAX: usize = 64;
/// How often signals are looked at.
const LOOK: Duration = Duration::from_millis(50);

/// Flags of `evenkeel sense`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  evenkeel sense --for 5s
      ten lines per second for five seconds; all counters count since the boot of the machine
  ssh db1 evenkeel sense --port 3307
      the same on another machine, for the server there that listens on this port
  evenkeel profile mysql://bench@db1/tpcw --sense-with 'ssh db1 evenkeel sense'
      a profile whose CPU figures are those of db1

The first line is {\"sense\":{...}}, all others are {\"reading\":{...}}. A line `ping N` on standard input is answered by \
{\"pong\":{...}}. It ends with exit code 0 when standard input or output is closed or --for is over, and after a signal with the \
code of the signal. It changes nothing and needs no privileges. Only root and the server's own account see the bytes that the \
server reads and writes.")]
pub struct Args {
    /// Time between two readings, 10ms to 60s
    #[arg(long, value_name = "TIME", default_value = "100ms")]
    every: String,
    /// End after this time [default: when standard input is closed]
    #[arg(long = "for", value_name = "TIME")]
    length: Option<String>,
    /// Process of the server [default: the only one named mysqld or mariadbd]
    #[arg(long, value_name = "N", conflicts_with = "port")]
    pid: Option<u32>,
    /// TCP port of the server, if there are several servers
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
}

/// Says what the machine does until nobody listens any more.
/// Errors: a flag that has no meaning, or no thread to be had.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let plan = Plan::read(args)?;
    let mut probe = FarProbe::new(plan.wanted, monotonic());
    if let (Some(_), Err(missing)) = (args.pid, probe.server()) {
        return Err(anyhow!("{missing}"))
            .hint("name the server's process by --pid, or its --port, or leave both out");
    }
    if let Err(error) = say(&Line::Sense(Box::new(plan.header(&probe)))) {
        return over(Err(error));
    }
    let (ends, ended) = mpsc::channel();
    let asked = ends.clone();
    thread::Builder::new().name("asked".into()).spawn(move || answer(&asked))?;
    thread::Builder::new().name("sense".into()).spawn(move || plan.say(&mut probe, &ends))?;
    loop {
        match ended.recv_timeout(LOOK) {
            Err(RecvTimeoutError::Timeout) if session.stop.is_set() => return Ok(signals::exit_code()),
            Err(RecvTimeoutError::Timeout) => {}
            Ok(ended) => return over(ended),
            Err(RecvTimeoutError::Disconnected) => return Ok(ExitCode::SUCCESS),
        }
    }
}

/// How it ends: that nobody reads any more is no error, that what is said finds no room is one.
fn over(said: io::Result<()>) -> Result<ExitCode> {
    match said {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).context("writing readings to standard output")
        }
        _ => Ok(ExitCode::SUCCESS),
    }
}

struct Plan {
    every: Nanos,
    length: Option<Nanos>,
    wanted: Wanted,
}

impl Plan {
    fn read(args: &Args) -> Result<Self> {
        let every = units::duration(&args.every).context("reading --every")?;
        if !(EVERY_MIN..=EVERY_MAX).contains(&every) {
            return Err(anyhow!("--every {} is not from 10ms to 60s", args.every))
                .hint("the kernel counts the time of CPUs in steps of mostly 10 ms; 100ms is fine for most");
        }
        let length = args.length.as_deref().map(units::duration).transpose().context("reading --for")?;
        let wanted = match (args.pid, args.port) {
            (Some(pid), _) => Wanted::Pid(pid),
            (None, Some(port)) => Wanted::Port(port),
            (None, None) => Wanted::Only,
        };
        Ok(Self { every, length, wanted })
    }

    /// Readings at absolute instants; one that is late leaves out those that it has missed.
    fn say(&self, probe: &mut FarProbe, ends: &Sender<io::Result<()>>) {
        let begun = monotonic();
        let (mut next, mut listened) = (begun, Ok(()));
        while listened.is_ok() && self.length.is_none_or(|length| next <= begun + length) {
            thread::sleep((next - monotonic()).into());
            let reading = Reading::from(&probe.read(monotonic()));
            listened = say(&Line::Reading(Box::new(reading)));
            let missed = (monotonic() - next).0 / self.every.0;
            next += Nanos(self.every.0 * (missed + 1));
        }
        // Nobody waits where the other end was first.
        let _ = ends.send(listened);
    }

    fn header(&self, probe: &FarProbe) -> Header {
        let machine = Machine::read(None);
        let hypervisor = machine.hypervisor;
        Header {
            lines: LINES,
            tool: env!("CARGO_PKG_VERSION").to_owned(),
            host: far::host_name().unwrap_or_default(),
            kernel: machine.kernel,
            cpus: machine.cpus.and_then(|cpus| u32::try_from(cpus.len()).ok()),
            boot_id: far::boot_id(),
            governor: machine.governor,
            hypervisor: hypervisor.name.or_else(|| hypervisor.present.map(|is| is.to_string())),
            memory_bytes: machine.memory_bytes,
            every_ns: self.every.0,
            at_ns: monotonic().0,
            server_pid: probe.server().as_ref().ok().copied(),
            no_server: probe.server().as_ref().err().map(ToString::to_string),
        }
    }
}

/// Answers each `ping N` with the clock at its arrival, to the end of standard input.
fn answer(ends: &Sender<io::Result<()>>) {
    let mut listened = Ok(());
    let mut stream = BufReader::new(io::stdin());
    while let Ok(Some(line)) = next_line(&mut stream, ASKED_BYTES_MAX) {
        let at_ns = monotonic().0;
        let Some(ping) = line.strip_prefix("ping ").and_then(|number| number.trim().parse().ok()) else {
            continue;
        };
        listened = say(&Line::Pong { ping, at_ns });
        if listened.is_err() {
            break;
        }
    }
    // Nobody waits where the other end was first.
    let _ = ends.send(listened);
}

/// A line on standard output, whole and at once.
fn say(line: &Line) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(format!("{}\n", line.text()).as_bytes())?;
    out.flush()
}
