//! A command of the user's that may take as long as it likes, until somebody asks to stop.

use super::StudyError;
use evenkeel_os::stop::Stop;
use evenkeel_site::sandbox::ProcessId;
use evenkeel_site::server::Target;
use std::fs;
use std::io;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Looks that a command has to end by itself after SIGTERM.
const GRACE: u32 = 20;

/// Runs a shell command, which finds in its environment which server is meant, without its password; its failure is one of the
/// reset.
pub(super) fn run(command: &str, label: &str, target: &Target, stop: &Stop) -> Result<(), StudyError> {
    let failed = |how: String| StudyError::Reset { command: command.to_owned(), how };
    let cannot = |error: io::Error| failed(format!("cannot be run: {error}"));
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", command]).stdin(Stdio::null()).stdout(Stdio::null());
    shell.env("EVENKEEL_TARGET", label).env("EVENKEEL_URL", target.to_string());
    let mut child = shell.spawn().map_err(cannot)?;
    match ended(&mut child, stop).map_err(cannot)? {
        Some(status) if status.success() => Ok(()),
        Some(status) => Err(failed(format!("ended with {status}"))),
        None => Err(StudyError::Stopped),
    }
}

/// How it ended; `None` where it was ended because somebody asked to stop.
fn ended(child: &mut Child, stop: &Stop) -> io::Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if stop.is_set() {
            end(child)?;
            return Ok(None);
        }
        thread::sleep(LOOK_EVERY);
    }
}

/// Ends a command with all that it has started. It has our process group and our terminal, so that it may ask for a password;
/// its processes are therefore looked up one by one.
fn end(child: &mut Child) -> io::Result<()> {
    let family: Vec<ProcessId> = family(child.id()).into_iter().filter_map(ProcessId::of).collect();
    signal(&family, libc::SIGTERM);
    for _ in 0..GRACE {
        if child.try_wait()?.is_some() {
            break;
        }
        thread::sleep(LOOK_EVERY);
    }
    signal(&family, libc::SIGKILL);
    child.wait().map(drop)
}

fn signal(processes: &[ProcessId], signal: i32) {
    for process in processes.iter().filter(|process| process.is_alive()) {
        // SAFETY: kill takes two numbers; the process was just seen to be of the command.
        unsafe { libc::kill(process.pid, signal) };
    }
}

/// A process and all below it.
fn family(root: u32) -> Vec<i32> {
    let number = |entry: fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    let all = fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(number);
    let all: Vec<(i32, i32)> = all.filter_map(|pid| Some((pid, parent(pid)?))).collect();
    let mut family: Vec<i32> = root.try_into().into_iter().collect();
    let mut next = 0;
    while let Some(&pid) = family.get(next) {
        family.extend(all.iter().filter(|(_, parent)| *parent == pid).map(|(pid, _)| *pid));
        next += 1;
    }
    family
}

fn parent(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    fn target() -> Target {
        Target::parse("mysql://app:secret@127.0.0.1:1/shop").unwrap()
    }

    #[test]
    fn a_command_ends_with_all_that_it_started_when_somebody_asks_to_stop() {
        let stop = Stop::default();
        let (sender, outcome) = mpsc::channel();
        let switch = stop.clone();
        thread::spawn(move || {
            sender.send(run("trap '' TERM; sleep 987654 & sleep 987654; true", "a", &target(), &switch))
        });
        let sleepers = || {
            let is_one = |pid: &i32| {
                fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|text| text == b"sleep\0987654\0")
            };
            family(std::process::id()).into_iter().filter(is_one).collect::<Vec<_>>()
        };
        while sleepers().len() < 2 {
            thread::sleep(LOOK_EVERY);
        }
        let started = sleepers();
        stop.set();
        let outcome = outcome.recv_timeout(Duration::from_secs(60)).expect("it goes on");
        assert!(matches!(outcome, Err(StudyError::Stopped)), "{outcome:?}");
        let gone = |pid: &i32| {
            !fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|text| text == b"sleep\0987654\0")
        };
        while !started.iter().all(gone) {
            thread::sleep(LOOK_EVERY);
        }
    }

    #[test]
    fn a_command_that_fails_says_how() {
        let told = run("exit 7", "a", &target(), &Stop::default()).unwrap_err().to_string();
        assert!(told.contains("\"exit 7\"") && told.contains("7"), "{told}");
        let told = "test \"$EVENKEEL_TARGET $EVENKEEL_URL\" = 'a mysql://app@127.0.0.1:1/shop'";
        assert!(run(told, "a", &target(), &Stop::default()).is_ok(), "it is told which server is meant");
        assert!(run("true", "a", &target(), &Stop::default()).is_ok());
    }
}
