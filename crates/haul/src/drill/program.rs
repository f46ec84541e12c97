//! The server's own programs are run, with what they say in a file.

use crate::{HaulError, refused};
use evenkeel_os::Stop;
use evenkeel_os::process::{Owned, alone};
use evenkeel_site::server::{Address, Target};
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// Lines of a program that failed which are shown.
const SHOWN: usize = 4;

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
    run_into(program, package, arguments, (Stdio::null(), log), out, stop)
}

/// The same with its output in a file of its own.
pub fn run_into(
    program: &str,
    package: &'static str,
    arguments: &[String],
    (input, log): (Stdio, &Path),
    out: File,
    stop: &Stop,
) -> Result<(), HaulError> {
    if !evenkeel_os::tools::is_there(program) {
        return Err(
            refused(format!("there is no {program}, which is in the package {package}"), package).into()
        );
    }
    let errors = File::options().append(true).create(true).open(log).map_err(HaulError::io("write", log))?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(input).stdout(out).stderr(errors).env_remove("EVENKEEL_PASSWORD");
    alone(&mut command);
    let mut child = Owned(command.spawn().map_err(HaulError::io("start", Path::new(program)))?);
    loop {
        if let Some(status) = child.0.try_wait().map_err(HaulError::io("wait for", Path::new(program)))? {
            return if status.success() { Ok(()) } else { Err(failed(program, log)) };
        }
        if stop.is_set() {
            return Err(HaulError::Stopped { path: log.to_owned(), at: 0 });
        }
        thread::sleep(Duration::from_millis(10));
    }
}

fn failed(program: &str, log: &Path) -> HaulError {
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let last = lines[lines.len().saturating_sub(SHOWN)..].join("; ");
    refused(format!("{program} failed: {last}"), "see what it says; the server was not changed").into()
}

/// Writes the login into a file that nobody else reads: a password must not stand in a list of processes.
pub fn login(folder: &Path, target: &Target) -> Result<PathBuf, HaulError> {
    let path = folder.join("login.cnf");
    let reach = match &target.address {
        Address::Unix(socket) => format!("socket={}", socket.display()),
        Address::Tcp { host, port } => format!("host={host}\nport={port}\nprotocol=tcp"),
    };
    let password = target.password.as_deref().unwrap_or_default().replace('\\', "\\\\").replace('"', "\\\"");
    let text = format!("[client]\nuser={}\npassword=\"{password}\"\n{reach}\n", target.user);
    let mut options = fs::File::options();
    let file = options.create(true).truncate(true).write(true).mode(0o600).open(&path);
    file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(HaulError::io("write", &path))?;
    Ok(path)
}
