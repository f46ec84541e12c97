//! The process behind a command leads a group of its own, which ends with it.

use evenkeel_os::alone;
use evenkeel_os::process::{has_ended, signal_group};
use std::collections::VecDeque;
use std::io::Read;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;
use std::{io, thread};

const LOOK: Duration = Duration::from_millis(20);
/// The leader of the group, as long as nobody has waited for it: until then its number, and that of the group, is nobody
/// else's.
#[derive(Clone, Debug, Default)]
pub(super) struct Group(Arc<Mutex<Option<Child>>>);

impl Group {
    /// Starts it. When the thread that calls this ends, the kernel kills the leader; the rest of the group sees its standard input end.
    pub(super) fn spawn(script: &str, tail: &Tail) -> io::Result<(Self, ChildStdin, ChildStdout)> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // It has nothing to do with the server's account.
        command.env_remove("EVENKEEL_PASSWORD");
        alone(&mut command);
        let mut child = command.spawn()?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (errors, tail) = (child.stderr.take(), tail.clone());
        let group = Self(Arc::new(Mutex::new(Some(child))));
        // Ends when the group has closed its error stream, at its death at the latest.
        let reader = thread::Builder::new().name("far-errors".into());
        if let Err(error) = reader.spawn(move || errors.map(|errors| tail.read(errors))) {
            group.end(LOOK);
            return Err(error);
        }
        let (stdin, stdout) = pipes.ok_or(io::ErrorKind::BrokenPipe)?;
        Ok((group, stdin, stdout))
    }

    /// Waits for the leader to end by itself, for `patience` at most; `None` where it has not.
    pub(super) fn wait(&self, patience: Duration) -> Option<String> {
        let looks = patience.as_millis() / LOOK.as_millis();
        for _ in 0..=looks {
            if let Some(how) = self.reap() {
                return Some(how);
            }
            thread::sleep(LOOK);
        }
        None
    }

    /// Asks all of the group to end, and kills what has not within `patience`.
    pub(super) fn end(&self, patience: Duration) {
        self.signal(libc::SIGTERM);
        if self.wait(patience).is_none() {
            self.signal(libc::SIGKILL);
            self.wait(patience);
        }
    }

    /// How the leader ended, where it has; what is left of its group ends with it.
    fn reap(&self) -> Option<String> {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(leader) = slot.as_mut() else { return Some("has ended".to_owned()) };
        if !has_ended(leader.id()) {
            return None;
        }
        signal_group(leader.id(), libc::SIGKILL);
        let how = leader.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
        *slot = None;
        Some(format!("ended ({how})"))
    }

    fn signal(&self, signal: i32) {
        let slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(leader) = slot.as_ref() {
            signal_group(leader.id(), signal);
        }
    }
}

const KEPT_BYTES: usize = 2_000;
/// After the end of a process its last words are awaited this long: another thread reads them.
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Clone, Debug, Default)]
pub(super) struct Tail(Arc<(Mutex<Kept>, Condvar)>);

#[derive(Debug, Default)]
struct Kept {
    bytes: VecDeque<u8>,
    is_over: bool,
}

impl Tail {
    /// Reads to the end, and keeps the end.
    pub(super) fn read(&self, mut stream: impl Read) {
        let mut buffer = [0; 1024];
        while let Ok(count @ 1..) = stream.read(&mut buffer) {
            let mut kept = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
            kept.bytes.extend(&buffer[..count]);
            let surplus = kept.bytes.len().saturating_sub(KEPT_BYTES);
            kept.bytes.drain(..surplus);
        }
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner).is_over = true;
        self.0.1.notify_all();
    }

    /// What was said so far, in one line.
    pub(super) fn now(&self) -> String {
        words(&self.0.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The same of a process that has ended: all of it.
    pub(super) fn settled(&self) -> String {
        let kept = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.0.1.wait_timeout_while(kept, PATIENCE, |kept| !kept.is_over);
        words(&waited.unwrap_or_else(PoisonError::into_inner).0)
    }
}

/// Without control characters, which would play with the reader's terminal.
fn words(kept: &Kept) -> String {
    let bytes: Vec<u8> = kept.bytes.iter().copied().collect();
    let text = String::from_utf8_lossy(&bytes);
    let lines = text.lines().map(|line| line.replace(char::is_control, " ").trim().to_owned());
    let said: Vec<String> = lines.filter(|line| !line.is_empty()).collect();
    if said.is_empty() { "it printed nothing on standard error".to_owned() } else { said.join("; ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn shell(script: &str) -> (Group, ChildStdin, ChildStdout, Tail) {
        let tail = Tail::default();
        let (group, stdin, stdout) = Group::spawn(script, &tail).expect("a shell");
        (group, stdin, stdout, tail)
    }

    /// A group of which one does not want to end, and the other one's number.
    fn stubborn() -> (Group, ChildStdin, String) {
        let (group, stdin, mut stdout, _) = shell("trap '' TERM; sleep 1000 & echo $!; exec sleep 1000");
        let mut number = [0; 16];
        let read = stdout.read(&mut number).expect("a number");
        (group, stdin, String::from_utf8_lossy(&number[..read]).trim().to_owned())
    }

    fn runs(number: &str) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
        !stat.is_empty() && !stat.contains(") Z ")
    }

    /// Whether it ends: who is killed is gone a moment later.
    fn ends(number: &str) -> bool {
        (0..500).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            !runs(number)
        })
    }

    #[test]
    fn all_of_a_group_ends_even_where_it_does_not_want_to() {
        let (group, _stdin, number) = stubborn();
        assert!(runs(&number), "{number}");
        group.end(Duration::from_millis(200));
        assert!(group.reap().is_some() && ends(&number));
    }

    #[test]
    fn how_it_ended_and_what_it_said_is_known() {
        let (group, _stdin, _stdout, tail) = shell("echo no such host >&2; exit 7");
        let how = group.wait(Duration::from_secs(60)).expect("an end");
        assert_eq!(how, "ended (exit status: 7)");
        assert!(tail.settled().contains("no such host"), "{}", tail.settled());
    }

    #[test]
    fn the_last_words_are_kept_and_are_harmless() {
        let tail = Tail::default();
        assert!(tail.now().contains("nothing"));
        tail.read(&b"Warning\x1b[2J\n\nPermission denied\n"[..]);
        assert_eq!(tail.settled(), "Warning [2J; Permission denied");
        tail.read(std::io::repeat(b'x').take(1 << 20));
        assert!(tail.now().len() <= KEPT_BYTES && tail.now().ends_with('x'));
    }
}
