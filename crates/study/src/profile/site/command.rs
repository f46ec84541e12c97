//! A command of the user's that may take as long as it likes, until somebody asks to stop.

use super::StudyError;
use evenkeel_os::clock::monotonic;
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
/// Looks for what is left of it after that, each with a SIGKILL; nothing but a disk that does not answer outlives the first.
const KILLS: u32 = 40;

/// In its environment, and in that of all that it starts, a command has a word of its own by which they are found again.
const MARK: &str = "EVENKEEL_RESET";

/// Runs a shell command, which finds in its environment which server is meant, without its password; its failure is one of the
/// reset.
pub(super) fn run(command: &str, label: &str, target: &Target, stop: &Stop) -> Result<(), StudyError> {
    let failed = |how: String| StudyError::Reset { command: command.to_owned(), how };
    let cannot = |error: io::Error| failed(format!("cannot be run: {error}"));
    let mark = format!("{}-{}", std::process::id(), monotonic().0);
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", command]).stdin(Stdio::null()).stdout(Stdio::null());
    shell.env("EVENKEEL_TARGET", label).env("EVENKEEL_URL", target.to_string()).env(MARK, &mark);
    let mut child = shell.spawn().map_err(cannot)?;
    match ended(&mut child, &mark, stop).map_err(cannot)? {
        Some(status) if status.success() => Ok(()),
        Some(status) => Err(failed(format!("ended with {status}"))),
        None => Err(StudyError::Stopped),
    }
}

/// How it ended; `None` where it was ended because somebody asked to stop.
fn ended(child: &mut Child, mark: &str, stop: &Stop) -> io::Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if stop.is_set() {
            end(child, mark)?;
            return Ok(None);
        }
        thread::sleep(LOOK_EVERY);
    }
}

/// Ends a command with all that it has started. It has our process group and our terminal, so that it may ask for a password;
/// its processes are therefore looked up one by one, and again after SIGTERM, at which it may have started others.
fn end(child: &mut Child, mark: &str) -> io::Result<()> {
    let asked = family(Some(child.id()), mark);
    signal(&asked, libc::SIGTERM);
    for _ in 0..GRACE {
        if child.try_wait()?.is_some() {
            break;
        }
        thread::sleep(LOOK_EVERY);
    }
    for _ in 0..KILLS {
        // Once it was waited for, its number may be anybody's.
        let root = child.try_wait()?.is_none().then(|| child.id());
        let left = family(root, mark).into_iter().chain(asked.iter().copied());
        let left: Vec<ProcessId> = left.filter(ProcessId::is_alive).collect();
        if left.is_empty() {
            break;
        }
        signal(&left, libc::SIGKILL);
        thread::sleep(LOOK_EVERY);
    }
    child.wait().map(drop)
}

fn signal(processes: &[ProcessId], signal: i32) {
    for process in processes {
        // One that has ended meanwhile needs none.
        process.signal(signal);
    }
}

/// A process as the kernel's table has it.
#[derive(Clone, Copy)]
struct Entry {
    pid: i32,
    parent: i32,
    session: i32,
}

/// A process with all below it, and what a command has left in the background, whose parents have ended. What has a session of its own
/// by then, as a server that was started has, was meant to stay.
fn family(root: Option<u32>, mark: &str) -> Vec<ProcessId> {
    let all = processes();
    let mut family: Vec<i32> = root.and_then(|root| root.try_into().ok()).into_iter().collect();
    let mut next = 0;
    while let Some(&pid) = family.get(next) {
        family.extend(all.iter().filter(|entry| entry.parent == pid).map(|entry| entry.pid));
        next += 1;
    }
    let ours = i32::try_from(std::process::id()).ok().and_then(entry).map(|own| own.session);
    let is_left =
        |one: &&Entry| Some(one.session) == ours && !family.contains(&one.pid) && has(one.pid, mark);
    let left: Vec<i32> = all.iter().filter(is_left).map(|entry| entry.pid).collect();
    family.into_iter().chain(left).filter_map(ProcessId::of).collect()
}

fn processes() -> Vec<Entry> {
    let number = |entry: fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    let all = fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(number);
    all.filter_map(entry).collect()
}

/// Behind the name, which may hold anything: state, parent, group, session.
fn entry(pid: i32) -> Option<Entry> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(") ")?.1.split(' ').skip(1).map(|field| field.parse().ok());
    Some(Entry { pid, parent: fields.next()??, session: fields.nth(1)?? })
}

/// Whether it has the word of a command in its environment; of somebody else's process that is not told.
fn has(pid: i32, mark: &str) -> bool {
    let word = format!("{MARK}={mark}");
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|own| own == word.as_bytes())
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
        while sleepers("987654").len() < 2 {
            thread::sleep(LOOK_EVERY);
        }
        stop.set();
        let outcome = outcome.recv_timeout(Duration::from_secs(60)).expect("it goes on");
        assert!(matches!(outcome, Err(StudyError::Stopped)), "{outcome:?}");
        while !sleepers("987654").is_empty() {
            thread::sleep(LOOK_EVERY);
        }
    }

    #[test]
    fn what_a_subshell_left_behind_and_what_begins_at_the_end_ends_too() {
        let scripts = [
            ("(sleep 987653 &); sleep 987652", ["987653", "987652"]),
            ("trap 'sleep 987650 & exit 1' TERM; sleep 987651 & wait", ["987651", "987650"]),
        ];
        for (script, seconds) in scripts {
            let mut shell = Command::new("/bin/sh");
            let mut child = shell.args(["-c", script]).env(MARK, script).spawn().unwrap();
            while sleepers(seconds[0]).is_empty() {
                thread::sleep(LOOK_EVERY);
            }
            // The subshell has ended once nobody below us is the parent of what it left.
            while script.starts_with('(') && has_parent_of_ours(sleepers(seconds[0])[0]) {
                thread::sleep(LOOK_EVERY);
            }
            end(&mut child, script).unwrap();
            for seconds in seconds {
                while !sleepers(seconds).is_empty() {
                    thread::sleep(LOOK_EVERY);
                }
            }
        }
    }

    /// Processes that sleep so long, whoever started them.
    fn sleepers(seconds: &str) -> Vec<i32> {
        let line = format!("sleep\0{seconds}\0");
        let is_one = |entry: &Entry| {
            fs::read(format!("/proc/{}/cmdline", entry.pid)).is_ok_and(|text| text == line.as_bytes())
        };
        processes().into_iter().filter(is_one).map(|entry| entry.pid).collect()
    }

    fn has_parent_of_ours(pid: i32) -> bool {
        family(Some(std::process::id()), "nobody").iter().any(|own| own.pid == pid)
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
