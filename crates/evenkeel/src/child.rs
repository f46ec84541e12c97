//! Another `evenkeel` as a child process, for whoever needs a guard or a host beside what it does.
//!
//! A thread of its own starts it, reads its log and waits for it. The kernel's parent-death signal counts from the
//! thread that started a process, and this one lives as long as the child: when it dies, so did this process, and
//! the child is killed. It has nothing to save that could be lost.

use anyhow::{Context, Result, anyhow, bail};
use evenkeel_os::alone;
use evenkeel_site::sandbox::{Exit, ProcessId, spawn_kept};
use serde_json::Value;
use std::collections::VecDeque;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

/// Lines of its log that are kept for error messages.
const TAIL_MAX: usize = 20;
/// It works within this; on an idle machine it takes a fifth of a second.
pub const PATIENCE: Duration = Duration::from_secs(20);
/// Time to end for one that has little to end.
pub const DEADLINE: Duration = Duration::from_secs(5);

/// The program of this process.
pub fn program() -> Result<PathBuf> {
    std::env::current_exe().context("looking for the program of this process")
}

/// What to start, and how long it may take.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    /// Our own, or another.
    pub program: &'a Path,
    /// What it is, for errors, as "guard".
    pub what: &'static str,
    /// They have it log as JSON.
    pub arguments: &'a [String],
    /// It works within this.
    pub patience: Duration,
    /// After so long without an end it is killed.
    pub deadline: Duration,
}

/// A child that works; it ends when this is dropped, and with this process at the latest.
#[derive(Debug)]
pub struct Child {
    what: &'static str,
    id: ProcessId,
    deadline: Duration,
    tail: Tail,
    exit: Exit,
}

/// The last lines of its log.
#[derive(Clone, Debug, Default)]
struct Tail(Arc<Mutex<VecDeque<String>>>);

impl Child {
    /// Starts it and returns when it has told in an event of its log what `hears` understands.
    /// Errors: it does not start, or ends at once; then with what it said.
    pub fn start<T: Send + 'static>(plan: &Plan<'_>, hears: fn(&Value) -> Option<T>) -> Result<(Self, T)> {
        let Plan { program, what, arguments, patience, deadline } = *plan;
        let (tells, told) = mpsc::sync_channel(1);
        let (command, tail) = (command(program, arguments), Tail::default());
        let kept = tail.clone();
        let heard = move |line: &str| {
            if let Some(heard) = serde_json::from_str(line).ok().and_then(|event| hears(&event)) {
                // Only the first is waited for.
                let _ = tells.try_send(heard);
            }
            kept.push(line.to_owned());
        };
        let read = move |child: &mut std::process::Child| {
            let log = child.stderr.take().map(BufReader::new);
            log.into_iter().flat_map(|log| log.lines().map_while(Result::ok)).for_each(|line| heard(&line));
        };
        let born = spawn_kept(&format!("{what}-waiter"), command, read);
        let (id, exit) = born.with_context(|| format!("starting {} as a {what}", program.display()))?;
        let child = Self { what, id, deadline, tail, exit };
        match told.recv_timeout(patience) {
            Ok(told) => Ok((child, told)),
            Err(_) => bail!("the {what} does not listen: {}", child.last_words()),
        }
    }

    /// The process, which no other one of its number is taken for.
    pub fn id(&self) -> ProcessId {
        self.id
    }

    /// The last lines of its log, for error messages.
    pub fn last_words(&self) -> String {
        let lines = self.tail.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.is_empty() { "it printed nothing".to_owned() } else { Vec::from(lines.clone()).join("; ") }
    }

    /// Asks it to end, and kills it where it has not ended after its deadline.
    /// Errors: it had ended badly before, or had to be killed.
    pub fn stop(self) -> Result<()> {
        let status = self.end().ok_or_else(|| anyhow!("the {}'s end was not seen", self.what))?;
        if !status.success() {
            bail!("the {} ended with {status}: {}", self.what, self.last_words());
        }
        Ok(())
    }

    fn end(&self) -> Option<ExitStatus> {
        self.id.end(self.deadline);
        *self.exit.wait()
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

fn command(program: &Path, arguments: &[String]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    alone(&mut command);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_lines_are_kept() {
        let tail = Tail::default();
        (0..100).for_each(|line| tail.push(line.to_string()));
        let lines = tail.0.lock().unwrap();
        assert_eq!((lines.len(), lines.back().unwrap().as_str()), (TAIL_MAX, "99"));
    }

    #[test]
    fn one_that_ends_without_a_word_is_told_of() {
        let program = Path::new("/bin/false");
        let plan = Plan { program, what: "host", arguments: &[], patience: PATIENCE, deadline: DEADLINE };
        let error = Child::start(&plan, |_| Some(())).unwrap_err();
        assert_eq!(error.to_string(), "the host does not listen: it printed nothing");
    }
}
