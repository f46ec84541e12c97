//! What the user asks for of a server: a command, which may take as long as it likes until somebody asks to stop; and settings, which are
//! read back, so that no level is measured that the server does not have.

use super::StudyError;
use evenkeel_os::Birth;
use evenkeel_os::Stop;
use evenkeel_os::process::{has_ended, signal_group};
use evenkeel_site::server::{Control, Target};
use std::collections::BTreeMap;
use std::io;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Looks that a command has to end by itself after SIGTERM.
const GRACE: u32 = 20;

/// Runs a shell command, which finds in its environment which server is meant, without its password.
pub(super) fn run(command: &str, label: &str, target: &Target, stop: &Stop) -> Result<(), StudyError> {
    let failed = |how: String| StudyError::Reset { command: command.to_owned(), how };
    let cannot = |error: io::Error| failed(format!("cannot be run: {error}"));
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", command]).stdin(Stdio::null()).stdout(Stdio::null());
    shell.env("EVENKEEL_TARGET", label).env("EVENKEEL_URL", target.to_string());
    // Without a terminal nothing in it waits for a password.
    Birth { session: true, ..Birth::default() }.of(&mut shell);
    let mut child = shell.spawn().map_err(cannot)?;
    while !has_ended(child.id()) {
        if stop.is_set() {
            end(&mut child).map_err(cannot)?;
            return Err(StudyError::Stopped);
        }
        thread::sleep(LOOK_EVERY);
    }
    match child.wait().map_err(cannot)? {
        status if status.success() => Ok(()),
        status => Err(failed(format!("ended with {status}"))),
    }
}

/// Ends a command with all that it has started. What has a session of its own by then, as a server has, was meant to stay.
fn end(child: &mut Child) -> io::Result<()> {
    signal_group(child.id(), libc::SIGTERM);
    for _ in 0..GRACE {
        if has_ended(child.id()) {
            break;
        }
        thread::sleep(LOOK_EVERY);
    }
    // Only then is it waited for: its number is that of the group.
    signal_group(child.id(), libc::SIGKILL);
    child.wait().map(drop)
}

/// Refuses a server that has another value than was set. Options that are no variable cannot be read.
pub(super) fn check(
    target: &Target,
    settings: &BTreeMap<String, String>,
    stop: &Stop,
) -> Result<(), StudyError> {
    if settings.is_empty() {
        return Ok(());
    }
    let found = Control::connect_until(target, stop)?.variables()?;
    let differs = settings.iter().find_map(|(name, set)| {
        let found = found.get(&name.to_ascii_lowercase())?;
        (!is_same(set, found)).then(|| (name.clone(), set.clone(), found.clone()))
    });
    match differs {
        Some((name, set, found)) => Err(StudyError::NotSet { name, set, found }),
        None => Ok(()),
    }
}

/// Whether a server shows this for what was set: 64M as 67108864, 1 as ON, a switch as one of all switches.
fn is_same(set: &str, found: &str) -> bool {
    let found: Vec<&str> = found.split(',').collect();
    set.trim_matches(['\'', '"']).split(',').all(|part| found.iter().any(|own| is_one(part.trim(), own)))
}

fn is_one(set: &str, found: &str) -> bool {
    let word = |text: &str| match text.trim_end_matches('/').to_ascii_lowercase().as_str() {
        "on" | "true" | "1" | "yes" => "1".to_owned(),
        "off" | "false" | "0" | "no" => "0".to_owned(),
        other => other.to_owned(),
    };
    word(set) == word(found) || number(set).is_some_and(|set| number(found) == Some(set))
}

/// A number, perhaps with K, M, G or T.
fn number(text: &str) -> Option<f64> {
    let power = "KMGT".find(|unit| text.to_ascii_uppercase().ends_with(unit)).map_or(0, |at| at + 1);
    let digits = if power > 0 { &text[..text.len() - 1] } else { text };
    Some(digits.parse::<f64>().ok()? * 1024_f64.powi(power as i32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::sync::mpsc;

    fn target() -> Target {
        Target::parse("mysql://app:secret@127.0.0.1:1/shop").unwrap()
    }

    #[test]
    fn a_command_ends_with_all_that_it_started_when_somebody_asks_to_stop() {
        let folder = tempfile::tempdir().unwrap();
        let pids = folder.path().join("pids");
        let note = format!("echo $! >> {}", pids.display());
        for script in [
            format!("trap '' TERM; sleep 987654 & {note}; sleep 987654; true"),
            format!("(sleep 987653 & {note}); sleep 987652"),
            format!("trap 'sleep 987650 & {note}; exit 1' TERM; sleep 987651 & {note}; wait"),
        ] {
            let (stop, (sender, outcome)) = (Stop::default(), mpsc::channel());
            let switch = stop.clone();
            thread::spawn(move || sender.send(run(&script, "a", &target(), &switch)));
            while !pids.exists() {
                thread::sleep(LOOK_EVERY);
            }
            stop.set();
            let outcome = outcome.recv_timeout(Duration::from_secs(60)).expect("it goes on");
            assert!(matches!(outcome, Err(StudyError::Stopped)), "{outcome:?}");
            // One that has ended has no command line.
            let runs =
                |pid: &str| fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| !line.is_empty());
            while fs::read_to_string(&pids).unwrap().lines().any(runs) {
                thread::sleep(LOOK_EVERY);
            }
            fs::remove_file(&pids).unwrap();
        }
    }

    #[test]
    fn a_command_that_fails_says_how() {
        let told = run("exit 7", "a", &target(), &Stop::default()).unwrap_err().to_string();
        assert!(told.contains("\"exit 7\"") && told.contains("7"), "{told}");
        let told = "test \"$EVENKEEL_TARGET $EVENKEEL_URL\" = 'a mysql://app@127.0.0.1:1/shop'";
        assert!(run(told, "a", &target(), &Stop::default()).is_ok(), "it is told which server is meant");
    }

    #[test]
    fn a_server_shows_a_setting_in_its_own_way() {
        for (set, found, same) in [
            ("64M", "67108864", true),
            ("64M", "67108865", false),
            ("ON", "1", true),
            ("0", "OFF", true),
            ("0.5", "0.500000", true),
            ("/tmp", "/tmp/", true),
            ("", "", true),
            ("index_merge=off", "index_merge=off,mrr=on", true),
            ("ANSI,TRADITIONAL", "TRADITIONAL", false),
            ("100", "214", false),
        ] {
            assert_eq!(is_same(set, found), same, "{set} {found}");
        }
    }
}
