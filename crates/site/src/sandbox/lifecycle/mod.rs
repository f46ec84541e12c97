//! A sandbox is brought up, used, and taken down again.

mod copied;
mod place;
mod view;

use crate::Survivor;
use crate::copy::Snapshot;
use crate::sandbox::binary::ServerBinary;
use crate::sandbox::cgroup::Groups;
use crate::sandbox::config::{Config, checked, redo_log_bytes};
use crate::sandbox::diagnosis::{Log, adjustments, rotate};
use crate::sandbox::error::Failure;
use crate::sandbox::net::Network;
use crate::sandbox::paths::{Lock, Paths};
use crate::sandbox::record::{ProcessId, Record, server_with};
use crate::sandbox::server::{Launch, Server, bootstrap, check_space, free_port, is_free, let_in, take_over};
use crate::sandbox::startup::{Startup, sweep};
use crate::sandbox::{
    Data, DiskLimit, Events, Lifetime, SandboxError, SandboxEvent, SandboxSpec, image, net,
};
use crate::server::ServerVersion;
use copied::{check_domain, check_file_disk, copy_data, known_binary, load_stopped, password};
use evenkeel_os::Stop;
use std::collections::BTreeMap;
use std::time::Duration;

/// A clean shutdown writes every dirty page; a large pool on a slow disk takes its time.
const SHUTDOWN_PATIENCE: Duration = Duration::from_secs(120);

/// On the way out after an error or Ctrl-C nobody wants to wait; InnoDB recovers at the next start.
const DROP_PATIENCE: Duration = Duration::from_secs(10);

/// A server that has not answered yet has nothing to lose, and may be deaf while it waits for a lock.
const START_PATIENCE: Duration = Duration::from_secs(1);

/// Another program may take a free port between our look and the server's start.
const PORT_TRIES: usize = 5;

/// A running private server.
///
/// Dropping an ephemeral one ends its server; a detached one goes on.
pub struct Sandbox {
    paths: Paths,
    record: Record,
    lifetime: Lifetime,
    /// The port was asked for, so that no other will do.
    port_is_fixed: bool,
    server: Option<Server>,
    log: Log,
    /// Nobody misses it: it has had no data yet.
    is_new: bool,
    groups: Groups,
    oom_before: u64,
    network: Option<Network>,
    janitor: Option<Survivor>,
    /// Held as long as this evenkeel uses the sandbox; absent in one found running.
    lock: Option<Lock>,
    /// Whether the server survives this value.
    outlives: bool,
}

impl Sandbox {
    /// Starts the sandbox, after creating its data directory where there is none; the data of an earlier
    /// one of the same name are kept. Returns when the server answers.
    pub fn up(spec: &SandboxSpec, stop: &Stop, events: Events<'_>) -> Result<Self, SandboxError> {
        let settings = checked(&spec.settings)?;
        check_domain(&spec.domain)?;
        let binary = match &spec.server_binary {
            Some(path) => ServerBinary::find(Some(path))?,
            None => ServerBinary::find(known_binary(spec).as_deref())?,
        };
        let mut sandbox = Self::prepare(spec, stop, events)?;
        sandbox.check_line(&binary)?;
        (sandbox.record.settings, sandbox.record.plugin_dir) = (settings, spec.plugin_dir.clone());
        sandbox.record.server_binary.clone_from(&binary.path);
        sandbox.record.server_version = binary.version.to_string();
        sandbox.choose_port(spec.port)?;
        sandbox.record.save(&sandbox.paths)?;
        sandbox.mount(stop)?;
        check_space(&sandbox.paths, redo_log_bytes(&sandbox.record.settings))?;
        // Before there are data: a new sandbox whose domain is refused leaves nothing.
        sandbox.limit(events)?;
        sandbox.connect(stop, events)?;
        sandbox.prove_disk(events)?;
        sandbox.is_new = false;
        if !sandbox.paths.data().exists() {
            sandbox.write_config(&binary)?;
            match &spec.data {
                Data::Moved(data) => take_over(&sandbox.paths, data, &sandbox.record.password)?,
                Data::CopyOf(other) => {
                    events(SandboxEvent::Note(format!("copying the data of {other}")));
                    copy_data(spec, other, &sandbox.paths, (stop, events))?;
                }
                Data::Empty => {
                    events(SandboxEvent::Bootstrapping { server: binary.version.to_string() });
                    bootstrap(&sandbox.paths, &binary, &sandbox.record.password, stop)?;
                }
            }
        }
        sandbox.start(&binary, stop, events)?;
        Ok(sandbox)
    }

    /// Directories, lock and record; what a crash left is removed.
    fn prepare(spec: &SandboxSpec, stop: &Stop, events: Events<'_>) -> Result<Self, SandboxError> {
        let paths = Paths::new(&spec.home, &spec.name)?;
        paths.check_home()?;
        // Before the lock, because whoever holds a running one holds that too; and after it, because somebody
        // may have been faster.
        if load_stopped(&paths, stop, events)?.is_none() {
            // A refusal leaves no folder.
            password(spec, (stop, events))?;
        }
        paths.create()?;
        let lock = paths.lock()?;
        if Snapshot::is_interrupted(&paths.data()) {
            let note = std::fs::read_to_string(paths.study_note()).ok();
            let study = note.and_then(|note| note.split(' ').next().map(str::to_owned));
            return Err(SandboxError::HalfRestored { name: spec.name.clone(), study });
        }
        let known = load_stopped(&paths, stop, events)?;
        let is_new = known.is_none() && !paths.data().exists() && !paths.image().exists();
        let mut record = match known {
            Some(record) => record,
            None => Record::new(paths.socket(), password(spec, (stop, events))?),
        };
        if let Some(pid) = record.noted_pid() {
            let _ = std::fs::remove_file(paths.pid_file());
            let _ = std::fs::remove_file(&record.socket);
            events(SandboxEvent::Note(format!("removed the stale pid file of process {pid}, which is gone")));
        }
        drop(Groups::adopt(record.groups.clone()));
        sweep(&paths)?;
        check_file_disk(&paths, &record, spec)?;
        record.socket = paths.socket();
        record.domain = spec.domain.clone();
        record.detached = spec.lifetime == Lifetime::Detached;
        record.set_running(None, &[]);
        let mut sandbox = Self::new(paths, record, Some(lock));
        sandbox.is_new = is_new;
        Ok(sandbox)
    }

    fn new(paths: Paths, record: Record, lock: Option<Lock>) -> Self {
        let lifetime = if record.detached { Lifetime::Detached } else { Lifetime::Ephemeral };
        let log = Log::whole(&paths.log());
        Self {
            paths,
            record,
            lifetime,
            port_is_fixed: false,
            server: None,
            log,
            is_new: false,
            groups: Groups::default(),
            oom_before: 0,
            network: None,
            janitor: None,
            lock,
            outlives: false,
        }
    }

    /// One that was found running; it stays when the value is dropped.
    pub(in crate::sandbox) fn adopted(paths: Paths, record: Record, id: ProcessId) -> Self {
        let mut sandbox = Self::new(paths, record, None);
        sandbox.groups = Groups::adopt(sandbox.record.groups.clone());
        sandbox.oom_before = sandbox.groups.oom_kills();
        sandbox.network =
            sandbox.record.domain.net.and_then(|_| Network::find(&net::name(sandbox.paths.hash())));
        sandbox.server = Some(Server::adopted(id));
        sandbox.outlives = true;
        sandbox
    }

    /// One line of servers destroys what the other has written, and an older version what a newer one has.
    fn check_line(&self, binary: &ServerBinary) -> Result<(), SandboxError> {
        let (made_by, name) = (&self.record.server_version, &self.paths.name);
        let line = binary.version.flavor.to_string();
        let release = |version: &ServerVersion| (version.numbers.0, version.numbers.1);
        let made = made_by.split_once(' ').and_then(|(_, numbers)| ServerVersion::parse(numbers));
        let is_older = made.is_some_and(|made| release(&binary.version) < release(&made));
        let fits = made_by.starts_with(&line) && !is_older;
        match !self.paths.data().exists() || made_by.is_empty() || fits {
            true => Ok(()),
            false => Err(SandboxError::UnfitBinary {
                path: binary.path.clone(),
                reason: format!(
                    "it is {}, and the data of sandbox {name:?} are of {made_by}",
                    binary.version
                ),
            }),
        }
    }

    fn choose_port(&mut self, wanted: Option<u16>) -> Result<(), SandboxError> {
        self.port_is_fixed = wanted.is_some();
        self.record.port = match wanted {
            Some(port) if is_free(port) => port,
            Some(port) => return Err(SandboxError::PortTaken { port }),
            // The port it had keeps targets valid that somebody wrote down.
            None if self.record.port != 0 && is_free(self.record.port) => self.record.port,
            None => free_port()?,
        };
        Ok(())
    }

    fn write_config(&self, binary: &ServerBinary) -> Result<(), SandboxError> {
        Config {
            paths: &self.paths,
            socket: &self.record.socket,
            bind: self.listens(),
            port: self.record.port,
            flavor: binary.version.flavor,
            base_dir: binary.base_dir(),
            plugin_dir: self.record.plugin_dir.as_deref(),
            settings: &self.record.settings,
        }
        .write()
    }

    /// Starts the server and waits until it answers, on another port if somebody was faster.
    fn start(&mut self, binary: &ServerBinary, stop: &Stop, events: Events<'_>) -> Result<(), SandboxError> {
        for _ in 1..PORT_TRIES {
            match self.start_once(binary, stop, events) {
                Err(SandboxError::Server { failure: Failure::Port(_), .. }) if !self.port_is_fixed => {
                    self.record.port = free_port()?;
                }
                outcome => return outcome,
            }
        }
        self.start_once(binary, stop, events)
    }

    fn start_once(
        &mut self,
        binary: &ServerBinary,
        stop: &Stop,
        events: Events<'_>,
    ) -> Result<(), SandboxError> {
        self.write_config(binary)?;
        rotate(&self.paths.log());
        self.log = Log::from_end(&self.paths.log());
        self.oom_before = self.groups.oom_kills();
        if let Some(pid) = server_with(&self.paths.my_cnf()) {
            let failure = Failure::DataInUse(Some(pid));
            return Err(SandboxError::Server {
                name: self.paths.name.clone(),
                failure,
                log: self.log.tail(),
            });
        }
        if let Some(network) = &self.network {
            let_in(&self.paths, network.of_machine(), &self.record.password)?;
        }
        let id = self.launch(binary)?;
        events(SandboxEvent::Starting { pid: id.pid });
        let outcome = self.startup().map_or(Ok(()), |startup| startup.wait(&self.socket_target(), stop));
        if let Err(error) = outcome {
            self.end_server(START_PATIENCE);
            return Err(error);
        }
        adjustments(&self.log.text()).for_each(|line| events(SandboxEvent::Note(line)));
        let _ = std::fs::remove_file(self.paths.init_sql());
        self.hold_disk(self.record.domain.disk)?;
        if self.lifetime == Lifetime::Detached {
            self.outlives = true;
            self.janitor.take().into_iter().for_each(Survivor::dismiss);
        }
        events(SandboxEvent::Ready { pid: id.pid, port: self.record.port });
        Ok(())
    }

    fn launch(&mut self, binary: &ServerBinary) -> Result<ProcessId, SandboxError> {
        let affinity = self.record.domain.cpus.clone().filter(|_| !self.groups.has("cpuset"));
        let launch = Launch {
            binary: &binary.path,
            paths: &self.paths,
            lifetime: self.lifetime,
            doors: self.groups.doors()?,
            network: self.network.as_ref().map(Network::open).transpose()?,
            affinity,
        };
        let server = launch.start()?;
        let id = server.id;
        // From here on dropping the value ends the server.
        self.server = Some(server);
        self.outlives = false;
        self.entrust(id)?;
        self.record.set_running(Some(id), self.groups.groups());
        self.record.save(&self.paths)?;
        Ok(id)
    }

    fn startup(&self) -> Option<Startup<'_>> {
        Some(Startup {
            name: &self.paths.name,
            server: self.server.as_ref()?,
            groups: &self.groups,
            oom_before: self.oom_before,
            log: &self.log,
            port: self.record.port,
            bind: self.listens(),
        })
    }

    /// Whether the server still runs; the error says how it ended.
    pub fn check(&self) -> Result<(), SandboxError> {
        match self.startup() {
            Some(startup) if startup.server.id.is_alive() => Ok(()),
            Some(startup) => Err(startup.failed(startup.failure())),
            None => Err(SandboxError::NotRunning { name: self.paths.name.clone() }),
        }
    }

    /// Shuts the server down cleanly and starts it again with `changes` over its present settings: the data
    /// stay, the buffer pool is cold. Where it does not start with them, it is down afterwards and the
    /// settings are what they were.
    pub fn restart(
        &mut self,
        changes: &BTreeMap<String, String>,
        stop: &Stop,
        events: Events<'_>,
    ) -> Result<(), SandboxError> {
        let changes = checked(changes)?;
        let binary = ServerBinary::find(Some(&self.record.server_binary))?;
        self.take_lock()?;
        self.stop(events);
        let before = self.record.settings.clone();
        self.record.settings.extend(changes);
        let outcome = self.start(&binary, stop, events);
        if outcome.is_err() {
            self.record.settings = before;
            self.record.save(&self.paths)?;
        }
        outcome
    }

    /// Shuts the server down cleanly and keeps hold of the sandbox, so that nobody else starts it;
    /// [`Sandbox::restart`] brings it up again.
    pub fn pause(&mut self, events: Events<'_>) -> Result<(), SandboxError> {
        self.take_lock()?;
        self.stop(events);
        Ok(())
    }

    pub fn down(mut self, events: Events<'_>) -> Result<(), SandboxError> {
        self.pause(events)
    }

    fn take_lock(&mut self) -> Result<(), SandboxError> {
        if self.lock.is_none() {
            self.lock = Some(self.paths.lock()?);
        }
        Ok(())
    }

    fn stop(&mut self, events: Events<'_>) {
        if let Some(server) = &self.server {
            events(SandboxEvent::Stopping { pid: server.id.pid });
        }
        // A clean shutdown writes all that is dirty, which nobody wants to wait for.
        let _ = self.hold_disk(DiskLimit::default());
        self.end_server(SHUTDOWN_PATIENCE);
    }

    /// Ends the server and takes its traces off the disk; the groups stay for a next one.
    fn end_server(&mut self, patience: Duration) {
        if let Some(server) = self.server.take() {
            server.id.end(patience);
            let _ = server.exit_status();
            let _ = std::fs::remove_file(self.paths.pid_file());
            let _ = std::fs::remove_file(&self.record.socket);
            self.record.set_running(None, self.groups.groups());
            // A full disk must not keep us from the rest; the record then names a process that is gone.
            let _ = self.record.save(&self.paths);
        }
        self.outlives = false;
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        if self.outlives {
            self.network.take().into_iter().for_each(Network::keep);
            return std::mem::take(&mut self.groups).keep();
        }
        self.end_server(DROP_PATIENCE);
        if !self.groups.groups().is_empty() {
            self.groups = Groups::default();
            self.record.set_running(None, &[]);
            let _ = self.record.save(&self.paths);
        }
        self.network = None;
        // Where somebody else is in it, the janitor waits longer.
        let is_unmounted = image::unmount_all(&self.paths).is_ok();
        if is_unmounted && self.is_new {
            self.paths.discard();
        }
        self.janitor.take().filter(|_| is_unmounted).into_iter().for_each(Survivor::dismiss);
    }
}
