//! A guard as a child process of our own binary, for whoever needs one beside a server of ours.
//!
//! A keeper thread starts it, reads its log and waits for it. The kernel's parent-death signal counts from the
//! thread that started a process, and this one lives as long as the guard: when it dies, so did this process, and
//! the guard is killed. A guard has nothing to save that could be lost.

use super::status::{self, Status};
use crate::clock::Clock;
use anyhow::{Context, Result, anyhow, bail};
use evenkeel_lab::sandbox::ProcessId;
use std::collections::VecDeque;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

/// Lines of its log that are kept for error messages.
const TAIL_MAX: usize = 20;
/// It listens and has ticked within this; on an idle machine it takes a fifth of a second.
const PATIENCE: Duration = Duration::from_secs(20);
/// Time for transactions to end when it is stopped, as the guard's own flag.
const DRAIN: &str = "2s";
/// After so long without an end it is killed.
const DEADLINE: Duration = Duration::from_secs(5);

/// What kind of guard.
#[derive(Clone, Debug, Default)]
pub struct Spec {
    /// The server: host:port or the path of its socket.
    pub backend: String,
    /// Name of the controller; empty: the guard's default.
    pub controller: String,
    /// The limit to begin with; `None`: the guard's default.
    pub limit: Option<u32>,
    /// File for its journal.
    pub journal: Option<PathBuf>,
    /// Hardware counters on all CPUs.
    pub counters: bool,
    /// Further flags of `evenkeel guard`.
    pub extra: Vec<String>,
}

/// A running guard; it ends when this is dropped, and with this process at the latest.
#[derive(Debug)]
pub struct Child {
    id: ProcessId,
    address: String,
    metrics: String,
    tail: Tail,
    keeper: Option<JoinHandle<Option<ExitStatus>>>,
}

/// The last lines of its log.
#[derive(Clone, Debug, Default)]
struct Tail(Arc<Mutex<VecDeque<String>>>);

/// Where it listens, read from its log.
type Places = (String, String);

impl Child {
    /// Starts it on free ports of 127.0.0.1 and returns when it listens and its controller has ticked.
    ///
    /// # Errors
    /// It does not start, or ends at once; then with what it said.
    pub fn start(spec: &Spec) -> Result<Self> {
        let program = std::env::current_exe().context("looking for the program of this process")?;
        Self::start_program(&program, spec)
    }

    fn start_program(program: &Path, spec: &Spec) -> Result<Self> {
        let (started, births) = mpsc::sync_channel(1);
        let (listens, places) = mpsc::sync_channel(1);
        let (command, tail) = (command(program, spec), Tail::default());
        let kept = tail.clone();
        let keep = move || keep(command, &started, &listens, &kept);
        let keeper = std::thread::Builder::new().name("guard-keeper".into()).spawn(keep)?;
        let born = births.recv().unwrap_or_else(|_| Err(std::io::Error::other("its keeper ended")));
        let id = born.with_context(|| format!("starting {} guard", program.display()))?;
        let mut child =
            Self { id, address: String::new(), metrics: String::new(), tail, keeper: Some(keeper) };
        match places.recv_timeout(PATIENCE) {
            Ok((address, metrics)) => (child.address, child.metrics) = (address, metrics),
            Err(_) => bail!("the guard does not listen: {}", child.last_words()),
        }
        child.wait_for_a_tick()?;
        Ok(child)
    }

    fn wait_for_a_tick(&self) -> Result<()> {
        let clock = Clock::start();
        while let Err(error) = self.status() {
            if Duration::from(clock.now()) > PATIENCE || !self.is_alive() {
                return Err(error.context(format!("waiting for the guard: {}", self.last_words())));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Where clients connect: `127.0.0.1:port`.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Where it serves /metrics, /status and /journal: `127.0.0.1:port`.
    pub fn metrics(&self) -> &str {
        &self.metrics
    }

    /// Its process, for its CPU time.
    #[allow(dead_code, reason = "the study of throttling reads it")]
    pub fn pid(&self) -> i32 {
        self.id.pid
    }

    /// Whether it runs.
    pub fn is_alive(&self) -> bool {
        self.id.is_alive()
    }

    /// What it says of itself.
    ///
    /// # Errors
    /// It does not answer within some seconds, or has ended.
    pub fn status(&self) -> Result<Status> {
        status::read(&self.metrics)
    }

    /// The last lines of its log, for error messages.
    pub fn last_words(&self) -> String {
        let lines = self.tail.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.is_empty() { "it said nothing".to_owned() } else { Vec::from(lines.clone()).join("; ") }
    }

    /// Lets open transactions end for two seconds, and kills it where it has not ended after five.
    ///
    /// # Errors
    /// It had ended badly before, or had to be killed.
    pub fn stop(mut self) -> Result<()> {
        let status = self.end().ok_or_else(|| anyhow!("the guard's end was not seen"))?;
        if !status.success() {
            bail!("the guard ended with {status}: {}", self.last_words());
        }
        Ok(())
    }

    fn end(&mut self) -> Option<ExitStatus> {
        let keeper = self.keeper.take()?;
        self.id.end(DEADLINE);
        // A panic in it has been told already.
        keeper.join().ok().flatten()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.end();
    }
}

impl Tail {
    fn push(&self, line: String) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() >= TAIL_MAX {
            lines.pop_front();
        }
        lines.push_back(line);
    }
}

fn command(program: &Path, spec: &Spec) -> Command {
    let mut command = Command::new(program);
    command.args(["guard", "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0", "--log", "json"]);
    command.args(["--drain", DRAIN, "--backend", &spec.backend]);
    if !spec.controller.is_empty() {
        command.args(["--controller", &spec.controller]);
    }
    command.args(spec.limit.map(|limit| format!("--limit={limit}")));
    if let Some(journal) = &spec.journal {
        command.arg("--journal").arg(journal);
    }
    command.args(spec.counters.then_some("--counters")).args(&spec.extra);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    // A group of its own: Ctrl-C in the terminal is for us, who end it in order.
    command.process_group(0);
    die_with_parent(&mut command);
    command
}

fn die_with_parent(command: &mut Command) {
    let parent = std::process::id() as i32;
    // SAFETY: the closure runs between fork and exec and only makes system calls on values prepared before; it
    // neither allocates nor takes locks.
    unsafe {
        command.pre_exec(move || {
            if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) < 0 {
                return Err(std::io::Error::last_os_error());
            }
            // The parent may have died before the signal was set.
            if libc::getppid() != parent {
                return Err(std::io::ErrorKind::Interrupted.into());
            }
            Ok(())
        });
    }
}

/// Starts it, reads its log to the end and waits for it.
fn keep(
    mut command: Command,
    started: &mpsc::SyncSender<std::io::Result<ProcessId>>,
    listens: &mpsc::SyncSender<Places>,
    tail: &Tail,
) -> Option<ExitStatus> {
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            // Whoever asked hears of it, or is gone.
            let _ = started.send(Err(error));
            return None;
        }
    };
    // It is still there, at least as a zombie: nobody has waited for it yet.
    let id = ProcessId::of(child.id() as i32);
    let _ = started.send(id.ok_or_else(|| std::io::Error::other("/proc does not show it")));
    if id.is_none() {
        let _ = child.kill();
    }
    if let Some(log) = child.stderr.take() {
        for line in BufReader::new(log).lines().map_while(Result::ok) {
            if let Some(places) = places(&line) {
                let _ = listens.try_send(places);
            }
            tail.push(line);
        }
    }
    child.wait().ok()
}

/// The addresses in the event that tells of them.
fn places(line: &str) -> Option<Places> {
    let event: serde_json::Value = serde_json::from_str(line).ok()?;
    let text = |key: &str| event.get(key)?.as_str().map(str::to_owned);
    (text("event")? == "listening").then_some(())?;
    Some((text("address")?, text("metrics")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The binary beside the folder of this test.
    fn program() -> PathBuf {
        let test = std::env::current_exe().unwrap();
        let program = test.parent().and_then(Path::parent).unwrap().join("evenkeel");
        assert!(program.exists(), "{} is not built: run `cargo build -p evenkeel`", program.display());
        program
    }

    fn start(spec: &Spec) -> Result<Child> {
        Child::start_program(&program(), spec)
    }

    fn fixed(limit: u32) -> Spec {
        // Nobody listens at port 1, and nobody asks for it before a client comes.
        let backend = "127.0.0.1:1".to_owned();
        Spec { backend, controller: "fixed".to_owned(), limit: Some(limit), ..Spec::default() }
    }

    #[test]
    fn a_guard_is_started_asked_and_stopped() {
        let child = start(&fixed(7)).unwrap();
        let (id, status) = (child.id, child.status().unwrap());
        assert_eq!((status.limit, status.controller.as_str()), (7, "fixed"));
        assert!(child.is_alive() && child.pid() == id.pid);
        assert!(std::net::TcpStream::connect(child.address()).is_ok());
        child.stop().unwrap();
        assert!(!id.is_alive());
    }

    #[test]
    fn what_is_dropped_ends_and_leaves_its_journal() {
        let dir = tempfile::tempdir().unwrap();
        let journal = dir.path().join("a journal");
        let child = start(&Spec { journal: Some(journal.clone()), ..fixed(3) }).unwrap();
        let id = child.id;
        drop(child);
        assert!(!id.is_alive());
        assert!(std::fs::read_to_string(journal).unwrap().contains("\"decided\":3"));
    }

    #[test]
    fn a_guard_that_cannot_start_says_why() {
        let wrong = Spec { extra: vec!["--tls-cert=/none".into(), "--tls-key=/none".into()], ..fixed(1) };
        let error = format!("{:#}", start(&wrong).unwrap_err());
        assert!(error.contains("does not listen") && error.contains("/none"), "{error}");
        let missing = Child::start_program(Path::new("/none/evenkeel"), &fixed(1)).unwrap_err();
        assert!(format!("{missing:#}").contains("starting /none/evenkeel"), "{missing:#}");
    }

    #[test]
    fn a_guard_that_was_killed_is_no_success() {
        let child = start(&fixed(1)).unwrap();
        child.id.end(Duration::ZERO);
        let error = child.stop().unwrap_err();
        assert!(error.to_string().contains("signal: 9"), "{error}");
    }

    #[test]
    fn only_the_last_lines_are_kept() {
        let tail = Tail::default();
        (0..100).for_each(|line| tail.push(line.to_string()));
        let lines = tail.0.lock().unwrap();
        assert_eq!((lines.len(), lines.back().unwrap().as_str()), (TAIL_MAX, "99"));
    }
}
