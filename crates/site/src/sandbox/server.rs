//! The server's process is started, and its end is noticed.

use super::binary::program;
use super::paths::Paths;
use super::process::ProcessId;
use super::{CpuSet, Lifetime, SandboxError};
use evenkeel_os::cpu::Affinity;
use evenkeel_os::{Birth, user};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

pub(super) struct Launch<'a> {
    pub binary: &'a Path,
    pub paths: &'a Paths,
    pub lifetime: Lifetime,
    /// Opened cgroup.procs files of the groups to join.
    pub doors: Vec<File>,
    /// CPUs to bind to where no cpuset does it.
    pub affinity: Option<CpuSet>,
}

#[derive(Debug)]
pub(super) struct Server {
    pub id: ProcessId,
    exit: Option<Arc<Exit>>,
}

#[derive(Debug, Default)]
struct Exit {
    status: Mutex<Option<ExitStatus>>,
    changed: Condvar,
}

impl Server {
    pub(super) fn adopted(id: ProcessId) -> Self {
        Self { id, exit: None }
    }

    /// How it ended; `None` while it runs or where it is not our child.
    pub(super) fn exit_status(&self) -> Option<ExitStatus> {
        let exit = self.exit.as_ref()?;
        if self.id.is_alive() {
            return None;
        }
        // It is gone; the waiting thread takes its status within moments.
        let status = exit.status.lock().ok()?;
        let waited =
            exit.changed.wait_timeout_while(status, Duration::from_secs(2), |status| status.is_none());
        *waited.ok()?.0
    }
}

impl Launch<'_> {
    /// Starts the server.
    ///
    /// An ephemeral one gets the kernel's parent-death signal, which counts from the *thread* that started
    /// it. So a thread of its own starts it and then waits for it: the thread lives as long as the server, and
    /// when it dies, so did this process. SIGKILL, because it also ends a server that is stopped or hangs
    /// in its shutdown; InnoDB recovers at the next start.
    pub(super) fn start(self) -> Result<Server, SandboxError> {
        let binary = self.binary.to_path_buf();
        let command = self.command()?;
        let exit = Arc::new(Exit::default());
        let waiter = Arc::clone(&exit);
        let (sender, receiver) = sync_channel(1);
        std::thread::Builder::new()
            .name("sandbox-waiter".into())
            .spawn(move || keep(command, &sender, &waiter))
            .map_err(SandboxError::io("start a thread for", &binary))?;
        let started = receiver.recv().unwrap_or_else(|_| Err(io::Error::other("the waiting thread ended")));
        let id = started.map_err(SandboxError::io("start", &binary))?;
        Ok(Server { id, exit: Some(exit) })
    }

    fn command(self) -> Result<Command, SandboxError> {
        let log = open_log(&self.paths.log())?;
        let mut defaults = std::ffi::OsString::from("--defaults-file=");
        defaults.push(self.paths.my_cnf());
        let mut command = program(self.binary);
        command.arg(defaults);
        command.args(is_root().then_some("--user=root"));
        let init = self.paths.init_sql();
        if init.exists() {
            let mut option = std::ffi::OsString::from("--init-file=");
            option.push(init);
            command.arg(option);
        }
        without_server_variables(&mut command);
        let out = log.try_clone().map_err(SandboxError::io("open", &self.paths.log()))?;
        command.stdin(Stdio::null()).stdout(out).stderr(log).current_dir(&self.paths.dir);
        self.prepare_child(&mut command);
        Ok(command)
    }

    /// What the new process does before it becomes the server.
    fn prepare_child(self, command: &mut Command) {
        let affinity = self.affinity.as_ref().map(Affinity::of);
        let dies_with_us = self.lifetime == Lifetime::Ephemeral;
        // A session of its own: Ctrl-C in the terminal is for evenkeel, which ends it in order.
        Birth { session: true, dies_with_us, groups: self.doors, affinity }.of(command);
    }
}

fn keep(mut command: Command, sender: &SyncSender<io::Result<ProcessId>>, exit: &Exit) {
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return drop(sender.send(Err(error))),
    };
    // It is still there, at least as a zombie: nobody has waited for it yet.
    let id = ProcessId::of(child.id() as i32).ok_or_else(|| io::Error::other("/proc does not show it"));
    let lost = id.is_err();
    let _ = sender.send(id);
    if lost {
        let _ = child.kill();
    }
    let status = child.wait().ok();
    if let Ok(mut slot) = exit.status.lock() {
        *slot = status;
    }
    exit.changed.notify_all();
}

/// A server refuses to run as root unless told to.
pub(super) fn is_root() -> bool {
    user().0 == 0
}

/// The user's environment must not lead the server elsewhere, nor tell systemd that it is ready.
pub(super) fn without_server_variables(command: &mut Command) {
    for name in [
        "MYSQL_HOME",
        "MARIADB_HOME",
        "MYSQL_TCP_PORT",
        "MYSQL_UNIX_PORT",
        "MYSQL_GROUP_SUFFIX",
        "MYSQL_PWD",
        "EVENKEEL_PASSWORD",
        "NOTIFY_SOCKET",
        "LISTEN_PID",
        "LISTEN_FDS",
    ] {
        command.env_remove(name);
    }
}

pub(super) fn open_log(path: &Path) -> Result<File, SandboxError> {
    let mut options = OpenOptions::new();
    options.create(true).append(true).mode(0o600).open(path).map_err(SandboxError::io("open", path))
}
