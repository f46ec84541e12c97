//! The server's process is started, and its end is noticed.

use super::binary::{ServerBinary, program};
use super::diagnosis::{Log, diagnose};
use super::error::Failure;
use super::paths::{Paths, write_private};
use super::record::{ProcessId, USER};
use super::{CpuSet, Lifetime, SandboxError};
use crate::server::Flavor;
use evenkeel_os::Stop;
use evenkeel_os::cpu::Affinity;
use evenkeel_os::{Birth, free_bytes, tools, user};
use std::fs::{File, OpenOptions};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use std::{fs, io};

pub(super) struct Launch<'a> {
    pub binary: &'a Path,
    pub paths: &'a Paths,
    pub lifetime: Lifetime,
    /// Opened cgroup.procs files of the groups to join.
    pub doors: Vec<File>,
    /// The network namespace that it is in.
    pub network: Option<File>,
    /// CPUs to bind to where no cpuset does it.
    pub affinity: Option<CpuSet>,
}

#[derive(Debug)]
pub(super) struct Server {
    pub id: ProcessId,
    /// How it ended, once the thread that waits for it knows; of one that is not our child nobody does.
    exit: Option<Exit>,
}

impl Server {
    pub(super) fn adopted(id: ProcessId) -> Self {
        Self { id, exit: None }
    }

    /// How it ended; `None` while it runs or where it is not our child.
    pub(super) fn exit_status(&self) -> Option<ExitStatus> {
        // The thread takes the status of one that is gone within moments.
        *self.exit.as_ref().filter(|_| !self.id.is_alive())?.wait()
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
        let (id, exit) =
            spawn_kept("sandbox-waiter", command, |_| ()).map_err(SandboxError::io("start", &binary))?;
        Ok(Server { id, exit: Some(exit) })
    }

    fn command(self) -> Result<Command, SandboxError> {
        let log = open_log(&self.paths.log())?;
        let mut command = program(self.binary);
        command.arg(option("--defaults-file=", &self.paths.my_cnf()));
        command.args(is_root().then_some("--user=root"));
        let init = self.paths.init_sql();
        command.args(init.exists().then(|| option("--init-file=", &init)));
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
        Birth { session: true, dies_with_us, groups: self.doors, network: self.network, affinity }
            .of(command);
    }
}

/// How a process ended, once that is known.
pub type Exit = Arc<OnceLock<Option<ExitStatus>>>;

/// Starts a process on a thread of its own, which waits for its end and meanwhile does what it is told.
pub fn spawn_kept(
    name: &str,
    mut command: Command,
    meanwhile: impl FnOnce(&mut Child) + Send + 'static,
) -> io::Result<(ProcessId, Exit)> {
    let exit = Exit::default();
    let (sender, receiver) = sync_channel(1);
    let kept = Arc::clone(&exit);
    let keep = move || {
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(error) => return drop(sender.send(Err(error))),
        };
        // It is still there, at least as a zombie: nobody has waited for it yet.
        let id = ProcessId::of(child.id() as i32).ok_or_else(|| io::Error::other("/proc does not show it"));
        if id.is_err() {
            let _ = child.kill();
        }
        let _ = sender.send(id);
        meanwhile(&mut child);
        let _ = kept.set(child.wait().ok());
    };
    std::thread::Builder::new().name(name.into()).spawn(keep)?;
    let id = receiver.recv().unwrap_or_else(|_| Err(io::Error::other("the waiting thread ended")))?;
    Ok((id, exit))
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

/// System tables, undo and temporary table spaces of an empty server, with room to work; the redo log, which
/// is created in full size, comes on top.
const NEW_MIB: u64 = 172;

/// What a server on existing data needs to start: its temporary table space.
const EXISTING_MIB: u64 = 32;

/// Refuses to begin what would end in a full disk.
pub(super) fn check_space(paths: &Paths, redo_log_bytes: u64) -> Result<(), SandboxError> {
    let needed_mib = if paths.data().exists() { EXISTING_MIB } else { NEW_MIB + (redo_log_bytes >> 20) };
    check_room(&paths.around_data(), needed_mib)
}

pub(super) fn check_room(dir: &Path, needed_mib: u64) -> Result<(), SandboxError> {
    let free_mib = free_bytes(dir).map_err(SandboxError::io("look for free space in", dir))? >> 20;
    match free_mib >= needed_mib {
        true => Ok(()),
        false => Err(SandboxError::NoSpace { path: dir.to_owned(), free_mib, needed_mib }),
    }
}

/// Whether somebody may make a part of a domain: root, where these programs are there; each with its package.
pub(super) fn check_tools(
    needed: &[(&str, &str)],
    refused: impl Fn(String, &'static str) -> SandboxError,
) -> Result<(), SandboxError> {
    if !is_root() {
        return Err(refused("only root may do that".to_owned(), "run it as root, or leave this part out"));
    }
    let absent = needed.iter().find(|(program, _)| !tools::is_there(program));
    absent.map_or(Ok(()), |(program, package)| {
        let reason = format!("there is no {program}, which is in the package {package}");
        Err(refused(reason, "install it, or leave this part out"))
    })
}

/// Creates the data directory, under another name until it is complete: what was interrupted is never taken for a data
/// directory.
pub(super) fn bootstrap(
    paths: &Paths,
    binary: &ServerBinary,
    password: &str,
    stop: &Stop,
) -> Result<(), SandboxError> {
    remove_interrupted(paths);
    let new = paths.data().with_file_name(format!("data.new.{}", std::process::id()));
    let log = Log::whole(&paths.bootstrap_log());
    let _ = fs::remove_file(paths.bootstrap_log());
    fs::create_dir(&new).map_err(SandboxError::io("create", &new))?;
    let outcome =
        command(paths, binary, &new).and_then(|command| run(command, paths, stop)).and_then(|status| {
            match status.success() {
                true => write_init_sql(paths, binary.version.flavor, password),
                false => Err(SandboxError::Server {
                    name: paths.name.clone(),
                    failure: diagnose(&log.text(), 0).unwrap_or(Failure::Bootstrap(status.to_string())),
                    log: log.errors(),
                }),
            }
        });
    let outcome =
        outcome.and_then(|()| fs::rename(&new, paths.data()).map_err(SandboxError::io("rename", &new)));
    let _ = match &outcome {
        Ok(()) => fs::remove_file(paths.bootstrap_log()),
        Err(_) => fs::remove_dir_all(&new),
    };
    let _ = fs::remove_file(paths.init_sql().with_extension("system"));
    outcome
}

fn remove_interrupted(paths: &Paths) {
    let data = paths.data();
    let Ok(entries) = fs::read_dir(data.parent().unwrap_or(&paths.dir)) else { return };
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with("data.new.") {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// MariaDB reads the SQL of its system tables, MySQL has them built in. Until the first start root has no password: nobody else
/// can reach the server, since it does not listen.
fn command(paths: &Paths, binary: &ServerBinary, data: &Path) -> Result<Command, SandboxError> {
    let mut command = program(&binary.path);
    command.current_dir(&paths.dir).arg(option("--defaults-file=", &paths.my_cnf()));
    command.arg(option("--datadir=", data)).args(is_root().then_some("--user=root")).stdin(Stdio::null());
    match binary.version.flavor {
        Flavor::MySql => command.arg("--initialize-insecure"),
        Flavor::MariaDb => command.arg("--bootstrap").stdin(system_sql(paths, binary)?),
    };
    Ok(command)
}

/// All SQL of MariaDB's system tables, as a file to read from.
fn system_sql(paths: &Paths, binary: &ServerBinary) -> Result<File, SandboxError> {
    let mut sql = b"CREATE DATABASE mysql;\nUSE mysql;\nSET @auth_root_socket = NULL;\n".to_vec();
    for path in binary.system_tables()? {
        sql.extend(fs::read(&path).map_err(SandboxError::io("read", &path))?);
    }
    let path = paths.init_sql().with_extension("system");
    fs::write(&path, sql).map_err(SandboxError::io("write", &path))?;
    File::open(&path).map_err(SandboxError::io("read", &path))
}

pub(super) fn option(name: &str, path: &Path) -> std::ffi::OsString {
    let mut option = std::ffi::OsString::from(name);
    option.push(path);
    option
}

fn run(mut command: Command, paths: &Paths, stop: &Stop) -> Result<ExitStatus, SandboxError> {
    let log = open_log(&paths.bootstrap_log())?;
    let errors = log.try_clone().map_err(SandboxError::io("open", &paths.bootstrap_log()))?;
    without_server_variables(&mut command);
    command.stdout(log).stderr(errors).process_group(0);
    let program = PathBuf::from(command.get_program());
    let mut child = command.spawn().map_err(SandboxError::io("start", &program))?;
    loop {
        if let Some(status) = child.try_wait().map_err(SandboxError::io("wait for", &program))? {
            return Ok(status);
        }
        if stop.is_set() {
            let _ = child.kill();
            let _ = child.wait();
            return Err(SandboxError::Stopped { name: paths.name.clone() });
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// What the first start executes before it takes connections.
fn write_init_sql(paths: &Paths, flavor: Flavor, password: &str) -> Result<(), SandboxError> {
    let mut sql = String::from(match flavor {
        Flavor::MariaDb => {
            "DELETE FROM mysql.global_priv WHERE User = '' OR (User = 'root' AND Host <> 'localhost');\n\
             DELETE FROM mysql.proxies_priv WHERE Host <> 'localhost';\n\
             FLUSH PRIVILEGES;\n\
             ALTER USER root@localhost IDENTIFIED VIA unix_socket;\n"
        }
        Flavor::MySql => {
            "INSTALL PLUGIN auth_socket SONAME 'auth_socket.so';\n\
             ALTER USER root@localhost IDENTIFIED WITH auth_socket;\n"
        }
    });
    for host in ["localhost", "127.0.0.1"] {
        sql += &account(host, password);
    }
    let path = paths.init_sql();
    write_private(&path, sql.as_bytes()).map_err(SandboxError::io("write", &path))
}

fn account(host: &str, password: &str) -> String {
    format!(
        "CREATE USER IF NOT EXISTS '{USER}'@'{host}' IDENTIFIED BY '{password}';\n\
         GRANT ALL PRIVILEGES ON *.* TO '{USER}'@'{host}' WITH GRANT OPTION;\n"
    )
}

const NO_LOG: &str = "SET SESSION sql_log_bin = 0;\n";

/// Moves a data directory into its place. Its accounts stay, and the first start adds ours; no binary log gets to know that.
pub(super) fn take_over(paths: &Paths, data: &Path, password: &str) -> Result<(), SandboxError> {
    let mut sql = NO_LOG.to_owned();
    for host in ["localhost", "127.0.0.1"] {
        sql += &account(host, password);
        sql += &format!("ALTER USER '{USER}'@'{host}' IDENTIFIED BY '{password}';\n");
    }
    let path = paths.init_sql();
    write_private(&path, sql.as_bytes()).map_err(SandboxError::io("write", &path))?;
    match fs::rename(data, paths.data()) {
        // To a file disk, say.
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            let to = paths.data();
            let words = ["-a".as_ref(), data.as_os_str(), to.as_os_str()];
            let copied = tools::run("cp", &words).map_err(|error| io::Error::other(error.to_string()));
            copied.and_then(|_| fs::remove_dir_all(data)).map_err(SandboxError::io("move", data))
        }
        moved => moved.map_err(SandboxError::io("move", data)),
    }
}

/// Has the next start let our account in from this machine's address in the server's own network.
pub(super) fn let_in(paths: &Paths, machine: Ipv4Addr, password: &str) -> Result<(), SandboxError> {
    let path = paths.init_sql();
    // No binary log of its gets to know that: replicas would have it too.
    let sql =
        fs::read_to_string(&path).unwrap_or_default() + NO_LOG + &account(&machine.to_string(), password);
    write_private(&path, sql.as_bytes()).map_err(SandboxError::io("write", &path))
}

pub(super) fn is_free(port: u16) -> bool {
    TcpListener::bind(("127.0.0.1", port)).is_ok()
}

/// A port of 127.0.0.1 that nobody listens at.
pub fn free_port() -> Result<u16, SandboxError> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
    let address = listener.map_err(SandboxError::io("find a free port on", Path::new("127.0.0.1")))?;
    Ok(address.port())
}
