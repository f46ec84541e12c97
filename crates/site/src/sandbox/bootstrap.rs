//! A new data directory is made by the server's own script.

use super::SandboxError;
use super::binary::ServerBinary;
use super::diagnosis::{Log, diagnose};
use super::error::Failure;
use super::paths::Paths;
use super::process::{BESIDE, server_with};
use super::record::USER;
use super::server::{is_root, open_log, without_server_variables};
use evenkeel_os::free_bytes;
use evenkeel_os::process::signal_group;
use evenkeel_os::stop::Stop;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// System tables, undo and temporary table spaces of an empty server, with room to work; the redo log, which
/// is created in full size, comes on top.
const NEW_MIB: u64 = 172;

/// What a server on existing data needs to start: its temporary table space.
const EXISTING_MIB: u64 = 32;

/// Ten seconds of looks for what was killed.
const ENDING_LOOKS: u32 = 1_000;

/// Refuses to begin what would end in a full disk.
pub(super) fn check_space(paths: &Paths, redo_log_bytes: u64) -> Result<(), SandboxError> {
    let needed_mib = match paths.data().exists() {
        true => EXISTING_MIB,
        false => NEW_MIB + (redo_log_bytes >> 20),
    };
    let free = free_bytes(&paths.dir).map_err(SandboxError::io("look for free space in", &paths.dir))?;
    let free_mib = free >> 20;
    match free_mib >= needed_mib {
        true => Ok(()),
        false => Err(SandboxError::NoSpace { path: paths.dir.clone(), free_mib, needed_mib }),
    }
}

/// Creates the data directory by the server's own script, under another name until it is complete: what
/// was interrupted is never taken for a data directory.
pub(super) fn bootstrap(
    paths: &Paths,
    binary: &ServerBinary,
    password: &str,
    stop: &Stop,
) -> Result<(), SandboxError> {
    remove_interrupted(paths);
    let name = format!("data.new.{}", std::process::id());
    let new = paths.dir.join(&name);
    let log = Log::whole(&paths.bootstrap_log());
    let _ = fs::remove_file(paths.bootstrap_log());
    let outcome =
        run(command(paths, binary, &name)?, paths, stop).and_then(|status| match status.success() {
            true => write_init_sql(paths, password),
            false => Err(SandboxError::Server {
                name: paths.name.clone(),
                failure: diagnose(&log.text(), 0).unwrap_or(Failure::Bootstrap(status.to_string())),
                log: log.errors(),
            }),
        });
    let outcome =
        outcome.and_then(|()| fs::rename(&new, paths.data()).map_err(SandboxError::io("rename", &new)));
    let _ = match &outcome {
        Ok(()) => fs::remove_file(paths.bootstrap_log()),
        Err(_) => fs::remove_dir_all(&new),
    };
    outcome
}

fn remove_interrupted(paths: &Paths) {
    let Ok(entries) = fs::read_dir(&paths.dir) else { return };
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with("data.new.") {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// The script does not quote what it is told: a path with a space would be two. So it runs in the sandbox's folder, and its
/// paths are relative.
fn command(paths: &Paths, binary: &ServerBinary, data: &str) -> Result<Command, SandboxError> {
    let script: PathBuf = binary.install_script()?;
    let mut command = Command::new(script);
    command.current_dir(&paths.dir).arg(format!("--defaults-file={BESIDE}"));
    command.args(binary.base_dir().map(|base| option("--basedir=", base)));
    command.arg(format!("--datadir=./{data}"));
    // Until the first start root@localhost has no password: nobody else can reach the socket, and there is no TCP yet.
    command.args(["--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve"]);
    command.args(is_root().then_some("--user=root"));
    Ok(command)
}

fn option(name: &str, path: &Path) -> std::ffi::OsString {
    let mut option = std::ffi::OsString::from(name);
    option.push(path);
    option
}

fn run(mut command: Command, paths: &Paths, stop: &Stop) -> Result<ExitStatus, SandboxError> {
    let log = open_log(&paths.bootstrap_log())?;
    let errors = log.try_clone().map_err(SandboxError::io("open", &paths.bootstrap_log()))?;
    without_server_variables(&mut command);
    command.stdin(Stdio::null()).stdout(log).stderr(errors).process_group(0);
    let program = PathBuf::from(command.get_program());
    let mut child = command.spawn().map_err(SandboxError::io("start", &program))?;
    loop {
        if let Some(status) = child.try_wait().map_err(SandboxError::io("wait for", &program))? {
            return Ok(status);
        }
        if stop.is_set() {
            kill_group(&mut child);
            await_end(paths);
            return Err(SandboxError::Stopped { name: paths.name.clone() });
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The script runs a server of its own.
fn kill_group(child: &mut Child) {
    // The child was not waited for, so that its number and with it the group's is still its own.
    signal_group(child.id(), libc::SIGKILL);
    let _ = child.wait();
}

/// The script's server is no child of ours. Killed, it is there until the kernel has taken its memory back, and until then a
/// removal of this sandbox would be refused.
fn await_end(paths: &Paths) {
    for _ in 0..ENDING_LOOKS {
        if server_with(&paths.my_cnf()).is_none() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// What the first start executes before it takes connections.
fn write_init_sql(paths: &Paths, password: &str) -> Result<(), SandboxError> {
    let mut sql = String::from(
        "DELETE FROM mysql.global_priv WHERE User = '' OR (User = 'root' AND Host <> 'localhost');\n\
         DELETE FROM mysql.proxies_priv WHERE Host <> 'localhost';\n\
         FLUSH PRIVILEGES;\n\
         ALTER USER root@localhost IDENTIFIED VIA unix_socket;\n",
    );
    for host in ["localhost", "127.0.0.1"] {
        sql += &format!("CREATE OR REPLACE USER '{USER}'@'{host}' IDENTIFIED BY '{password}';\n");
        sql += &format!("GRANT ALL PRIVILEGES ON *.* TO '{USER}'@'{host}' WITH GRANT OPTION;\n");
    }
    let path = paths.init_sql();
    let mut options = OpenOptions::new();
    let file = options.create(true).write(true).truncate(true).mode(0o600).open(&path);
    file.and_then(|mut file| file.write_all(sql.as_bytes())).map_err(SandboxError::io("write", &path))
}
