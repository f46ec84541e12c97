//! The server's own programs are run, with what they say in a file.

use crate::{HaulError, refused};
use evenkeel_os::Stop;
use evenkeel_os::clock::Clock;
use evenkeel_os::process::{Owned, alone, signal_group};
use evenkeel_site::server::{Address, Target};
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

const SIGKILL: i32 = 9;
/// A backup or a restore that takes longer hangs.
pub const PATIENCE: Duration = Duration::from_secs(24 * 3_600);
/// Lines of a program that failed which are shown.
const SHOWN: usize = 4;
/// Characters of each.
const LINE: usize = 300;

/// Runs a program to its end; what it says goes to `log`.
/// Errors: it is not installed, it failed (with the last that it said), or somebody asked to stop.
pub fn run(
    program: &str,
    package: &'static str,
    arguments: &[String],
    log: &Path,
    stop: &Stop,
) -> Result<(), HaulError> {
    let out = File::create(log).map_err(HaulError::io("write", log))?;
    run_into(program, package, arguments, (Stdio::null(), log), (out, PATIENCE), stop)
}

/// The same with its output in a file of its own, and a limit after which it is killed with all that it has started.
pub fn run_into(
    program: &str,
    package: &'static str,
    arguments: &[String],
    (input, log): (Stdio, &Path),
    (out, limit): (File, Duration),
    stop: &Stop,
) -> Result<(), HaulError> {
    installed(program, package)?;
    let errors = File::options().append(true).create(true).open(log).map_err(HaulError::io("write", log))?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(input).stdout(out).stderr(errors).env_remove("EVENKEEL_PASSWORD");
    alone(&mut command);
    let clock = Clock::start();
    let mut child = Owned(command.spawn().map_err(HaulError::io("start", Path::new(program)))?);
    loop {
        if let Some(status) = child.0.try_wait().map_err(HaulError::io("wait for", Path::new(program)))? {
            return if status.success() { Ok(()) } else { Err(failed(program, log)) };
        }
        if stop.is_set() {
            signal_group(child.0.id(), SIGKILL);
            return Err(HaulError::Interrupted);
        }
        if Duration::from(clock.now()) > limit {
            signal_group(child.0.id(), SIGKILL);
            let what = format!("{program} has not ended within {} s", limit.as_secs());
            return Err(refused(what, "try it by hand").into());
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// Runs a command of the user's with files as `$1`, `$2` ...; the last line that it prints.
pub fn shell(
    command: &str,
    files: &[&Path],
    (log, limit): (&Path, Duration),
    stop: &Stop,
) -> Result<String, HaulError> {
    let words = ["-c", command, "drill"].map(str::to_owned).into_iter();
    let words: Vec<String> = words.chain(files.iter().map(|file| file.display().to_string())).collect();
    let said = log.with_extension("out");
    let out = File::create(&said).map_err(HaulError::io("write", &said))?;
    run_into("sh", "dash", &words, (Stdio::null(), log), (out, limit), stop).map_err(
        |error| match error {
            HaulError::Refused(refusal) => refused(format!("{command:?}: {refusal}"), refusal.hint).into(),
            error => error,
        },
    )?;
    let text = fs::read_to_string(&said).map_err(HaulError::io("read", &said))?;
    Ok(text.lines().last().unwrap_or_default().trim().to_owned())
}

/// Copies a folder by `cp` with these flags, so that `to` is the copy.
pub fn copy(
    (flags, from, to): (&[&str], &Path, &Path),
    hint: &'static str,
    log: &Path,
    stop: &Stop,
) -> Result<(), HaulError> {
    let paths = ["-T".to_owned(), from.display().to_string(), to.display().to_string()];
    let words: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).chain(paths).collect();
    run("cp", "coreutils", &words, log, stop).map_err(|error| match error {
        HaulError::Refused(refusal) => refused(refusal.what, hint).into(),
        error => error,
    })
}

/// Errors: somebody asked to stop.
pub fn wait(time: Duration, stop: &Stop) -> Result<(), HaulError> {
    let clock = Clock::start();
    loop {
        if stop.is_set() {
            return Err(HaulError::Interrupted);
        }
        let left = time.saturating_sub(clock.now().into());
        if left.is_zero() {
            return Ok(());
        }
        thread::sleep(left.min(Duration::from_millis(20)));
    }
}

/// Errors: it is not installed.
pub fn installed(program: &str, package: &'static str) -> Result<(), HaulError> {
    match evenkeel_os::tools::is_there(program) {
        true => Ok(()),
        false => {
            let what = format!("{program} is not installed: it is in the package {package}");
            Err(refused(what, "install that package, or choose another way").into())
        }
    }
}

/// With the last that it said.
pub fn failed(program: &str, log: &Path) -> HaulError {
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    // A client repeats the statement that failed, which may have megabytes.
    let short = |line: &&str| line.chars().take(LINE).collect::<String>();
    let last: Vec<String> = lines[lines.len().saturating_sub(SHOWN)..].iter().map(short).collect();
    refused(format!("{program} failed: {}", last.join("; ")), "correct what it says, and run the drill again")
        .into()
}

/// A login in a file that nobody else reads, since a password must not stand in a list of processes. It is removed when this is dropped.
pub struct Login(PathBuf);

impl Login {
    pub fn write(folder: &Path, target: &Target) -> Result<Self, HaulError> {
        let path = folder.join("login.cnf");
        let reach = match &target.address {
            Address::Unix(socket) => format!("socket={}", socket.display()),
            Address::Tcp { host, port } => format!("host={host}\nport={port}\nprotocol=tcp"),
        };
        let password =
            target.password.as_deref().unwrap_or_default().replace('\\', "\\\\").replace('"', "\\\"");
        let text = format!("[client]\nuser={}\npassword=\"{password}\"\n{reach}\n", target.user);
        let mut options = File::options();
        let file = options.create(true).truncate(true).write(true).mode(0o600).open(&path);
        file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(HaulError::io("write", &path))?;
        Ok(Self(path))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// As an argument, which has to be the first one.
    pub fn option(&self) -> String {
        format!("--defaults-file={}", self.0.display())
    }
}

impl Drop for Login {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
