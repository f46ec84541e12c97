//! A server with its data, from run to run: brought up cold, asked, taken down.

mod asked;
mod keepsake;

use super::spec::{Reset, ServerSpec, SiteSpec};
use super::{Notify, StudyError, StudyEvent, tell_sandbox};
use evenkeel_core::Nanos;
use evenkeel_lab::data::{self, DataError, DataSpec, Stamp};
use evenkeel_os::Stop;
use evenkeel_os::clock::Clock;
use evenkeel_sense::cpu::CpuOf;
use evenkeel_site::copy::{CopyError, Snapshot};
use evenkeel_site::elsewhere::Elsewhere;
use evenkeel_site::sandbox::{self, DiskLimit, Sandbox, SandboxError, SandboxSpec};
use evenkeel_site::server::{Control, Local, Target};
use keepsake::Keepsake;
pub use keepsake::{is_restored, recover, unrestored};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{fs, thread};

/// How long a server of the user's may take to answer after its reset command.
const RESET_PATIENCE: Nanos = Nanos::from_secs(120);

/// Its presence in a sandbox's folder says that the statements of its level were executed.
const LEVEL_DONE: &str = "level.sql";

/// Setting that a cell changes.
const POOL: &str = "innodb_buffer_pool_size";

/// A site of the study; at most one of them has its server up at a time, so that none disturbs another.
pub(super) struct Site {
    spec: Arc<SiteSpec>,
    sandbox: Option<Sandbox>,
    setting: Setting,
    /// Who sees a server of the user's that runs elsewhere, once that was found out.
    elsewhere: Option<Option<Elsewhere>>,
}

/// What cells set for their server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Setting {
    /// Bytes of the buffer pool; `None` where the server's own stays.
    pub pool: Option<u64>,
    /// What the disk gives at most.
    pub disk: DiskLimit,
}

pub(super) struct Ready {
    pub target: Target,
    /// Where its CPU time is counted; `None` for a server on another machine.
    pub domain: Option<CpuOf>,
    /// Its process, where it runs here.
    pub server_pid: Option<u32>,
    /// Its data directory, where it is here.
    pub data_dir: Option<PathBuf>,
    /// Who sees it instead of this machine.
    pub elsewhere: Option<Elsewhere>,
    /// Whether it is not for this study alone.
    pub of_others: bool,
}

impl Site {
    pub(super) fn new(spec: &SiteSpec) -> Self {
        Self { spec: Arc::new(spec.clone()), sandbox: None, setting: Setting::default(), elsewhere: None }
    }

    /// Makes sure that the data is there and whole, and for write runs that a copy of it is. What an earlier write
    /// run has changed is taken back.
    pub(super) fn prepare(
        &mut self,
        study: &str,
        writes: bool,
        stop: &Stop,
        tell: Notify<'_>,
    ) -> Result<(), StudyError> {
        let spec = Arc::clone(&self.spec);
        if let ServerSpec::Named { home, name, .. } = &spec.place {
            self.hold(home, name, stop, tell)?;
            if writes {
                self.down(tell)?;
                Keepsake::of(home, name).take(study, tell)?;
            }
            return Ok(());
        }
        let ServerSpec::Sandbox { data: Some(wanted), sandbox } = &spec.place else { return Ok(()) };
        if writes && sandbox.domain.file_disk.is_some() {
            let reason = "is on a file disk, whose data cannot be given back after write runs".to_owned();
            return Err(SandboxError::FileDisk { name: sandbox.name.clone(), reason }.into());
        }
        let (data_dir, copy) = directories(sandbox);
        let has_copy = Snapshot::open(&data_dir, &copy).is_ok();
        if has_copy && Snapshot::is_interrupted(&data_dir) {
            self.restore(tell)?;
        }
        let mut ready = self.up(Setting::default(), stop, tell)?;
        if has_copy && is_written(&ready.target, wanted, stop)? {
            self.down(tell)?;
            self.restore(tell)?;
            ready = self.up(Setting::default(), stop, tell)?;
        }
        let mut progress = |progress| tell(StudyEvent::Data(progress));
        let filled = data::populate_own(&ready.target, wanted, stop, &mut progress).map_err(StudyError::from);
        let filled = filled.and_then(|stamp| self.level(sandbox, &ready.target, stop, tell).map(|()| stamp));
        self.down(tell)?;
        tell(StudyEvent::Preparing(format!("{}: {}", sandbox.name, filled?)));
        if writes && !has_copy {
            tell(StudyEvent::Preparing("copying the data directory for the write runs".into()));
            Snapshot::take(&data_dir, &copy)?;
        }
        Ok(())
    }

    /// Makes the database what the level of a factor says, unless it is so already.
    fn level(
        &self,
        sandbox: &SandboxSpec,
        target: &Target,
        stop: &Stop,
        tell: Notify<'_>,
    ) -> Result<(), StudyError> {
        let done = sandbox.home.join("sandboxes").join(&sandbox.name).join(LEVEL_DONE);
        if self.spec.sql.is_empty() || done.exists() {
            return Ok(());
        }
        let mut control = Control::connect_until(target, stop)?;
        for statement in &self.spec.sql {
            tell(StudyEvent::Preparing(format!("{}: {statement}", sandbox.name)));
            control.exec(statement)?;
        }
        fs::write(&done, self.spec.sql.join(";\n"))
            .map_err(|source| CopyError::File { doing: "write", path: done, source }.into())
    }

    /// Brings the server up cold, set like this; one that was kept up with it is taken as it is.
    pub(super) fn up(
        &mut self,
        setting: Setting,
        stop: &Stop,
        tell: Notify<'_>,
    ) -> Result<Ready, StudyError> {
        let spec = Arc::clone(&self.spec);
        match &spec.place {
            ServerSpec::Remote(target) => {
                Ok(Ready { of_others: spec.of_others, ..self.remote(target, stop)? })
            }
            ServerSpec::Named { home, name, database } => {
                let server = self.hold(home, name, stop, tell)?;
                if !server.is_up() {
                    server.restart(&BTreeMap::new(), stop, &mut |event| tell_sandbox(event, tell))?;
                }
                Ok(private(server, database))
            }
            ServerSpec::Sandbox { sandbox, data } => {
                let database = data.map_or(DataSpec::DATABASE, |data| data.set.name());
                if let Some(server) = self.sandbox.as_ref().filter(|_| self.setting == setting) {
                    asked::check(&server.target(), &settings_of(sandbox, setting), stop)?;
                    return Ok(private(server, database));
                }
                self.down(tell)?;
                let settings = settings_of(sandbox, setting);
                let mut spec = SandboxSpec { settings, ..sandbox.clone() };
                spec.domain.disk = setting.disk;
                let server = Sandbox::up(&spec, stop, &mut |event| tell_sandbox(event, tell))?;
                let (ready, server_target) = (private(&server, database), server.target());
                (self.sandbox, self.setting) = (Some(server), setting);
                asked::check(&server_target, &spec.settings, stop)?;
                Ok(ready)
            }
        }
    }

    /// A server of the user's: seen from elsewhere where that is asked for, from here where it runs here, and by what it
    /// counts itself where neither is so.
    fn remote(&mut self, target: &Target, stop: &Stop) -> Result<Ready, StudyError> {
        if let Some(elsewhere) = &self.spec.elsewhere {
            elsewhere.start(stop)?;
            return Ok(Ready { elsewhere: Some(elsewhere.clone()), ..far(target) });
        }
        let ready = remote(target, stop)?;
        if ready.server_pid.is_some() {
            return Ok(ready);
        }
        let elsewhere = self.elsewhere.get_or_insert_with(|| Elsewhere::statistics(target, stop)).clone();
        Ok(Ready { elsewhere, ..ready })
    }

    /// The named sandbox, which is this study's until [`Site::leave`].
    fn hold(
        &mut self,
        home: &Path,
        name: &str,
        stop: &Stop,
        tell: Notify<'_>,
    ) -> Result<&mut Sandbox, StudyError> {
        let held = match self.sandbox.take() {
            Some(held) => held,
            None => sandbox::wake(home, name, stop, &mut |event| tell_sandbox(event, tell))?,
        };
        Ok(self.sandbox.insert(held))
    }

    /// After the last run: a private server goes down, a named one is up again with the data it had.
    pub(super) fn leave(&mut self, study: &str, tell: Notify<'_>) -> Result<(), StudyError> {
        let spec = Arc::clone(&self.spec);
        let ServerSpec::Named { home, name, .. } = &spec.place else { return self.down(tell) };
        let Some(mut server) = self.sandbox.take() else { return Ok(()) };
        let keepsake = Keepsake::of(home, name);
        if keepsake.is_of(study)? {
            server.pause(&mut |event| tell_sandbox(event, tell))?;
            keepsake.give_back(tell)?;
        }
        if !server.is_up() {
            // Not for Ctrl-C to stop: it is to be up as it was found.
            server.restart(&BTreeMap::new(), &Stop::default(), &mut |event| tell_sandbox(event, tell))?;
        }
        Ok(())
    }

    /// Takes a private server down; one of the user's stays.
    pub(super) fn down(&mut self, tell: Notify<'_>) -> Result<(), StudyError> {
        if let (ServerSpec::Named { .. }, Some(server)) = (&self.spec.place, &mut self.sandbox) {
            return Ok(server.pause(&mut |event| tell_sandbox(event, tell))?);
        }
        match self.sandbox.take() {
            Some(sandbox) => Ok(sandbox.down(&mut |event| tell_sandbox(event, tell))?),
            None => Ok(()),
        }
    }

    /// Ends a private server that does not answer, without the patience that a clean shutdown deserves; its data recovers
    /// at the next start. One of the user's is left as it is.
    pub(super) fn give_up(&mut self) {
        if let ServerSpec::Sandbox { .. } = &self.spec.place {
            self.sandbox = None;
        }
    }

    /// Brings it up as a run is to find it: reset, set like this, and marked where the run writes.
    pub(super) fn fresh(
        &mut self,
        reset: &Reset,
        setting: Setting,
        writes: bool,
        stop: &Stop,
        tell: Notify<'_>,
    ) -> Result<Ready, StudyError> {
        self.reset(reset, writes, stop, tell)?;
        let ready = self.up(setting, stop, tell)?;
        if writes {
            // Nobody is to take its rows for those of the seed.
            Stamp::mark_written(&mut Control::connect_until(&ready.target, stop)?)?;
        }
        Ok(ready)
    }

    /// What has to happen before a run, while a private server is down.
    fn reset(
        &mut self,
        reset: &Reset,
        writes: bool,
        stop: &Stop,
        tell: Notify<'_>,
    ) -> Result<(), StudyError> {
        match (&self.spec.place, reset) {
            (ServerSpec::Sandbox { .. }, Reset::Full) if writes => self.restore(tell),
            (ServerSpec::Named { home, name, .. }, Reset::Full) if writes => {
                Keepsake::of(home, name).restore(tell)
            }
            (ServerSpec::Remote(target), Reset::Command(command)) => {
                tell(StudyEvent::Preparing(format!("running {command:?}")));
                asked::run(command, &self.spec.target_label, target, stop)?;
                await_answer(target, stop)
            }
            _ => Ok(()),
        }
    }

    fn restore(&self, tell: Notify<'_>) -> Result<(), StudyError> {
        let ServerSpec::Sandbox { data: Some(_), sandbox } = &self.spec.place else { return Ok(()) };
        tell(StudyEvent::Preparing("restoring the data directory".into()));
        let (data_dir, copy) = directories(sandbox);
        Ok(Snapshot::open(&data_dir, &copy)?.restore()?)
    }

    /// Whether a private server still runs; the error says how it ended.
    pub(super) fn check(&self) -> Result<(), StudyError> {
        match &self.sandbox {
            Some(sandbox) => sandbox.check().map_err(|error| StudyError::ServerDied(error.to_string())),
            None => Ok(()),
        }
    }
}

/// What a private server is started with, the level of its pool included.
fn settings_of(sandbox: &SandboxSpec, setting: Setting) -> BTreeMap<String, String> {
    let pool = setting.pool.map(|bytes| (POOL.to_owned(), bytes.to_string()));
    sandbox.settings.clone().into_iter().chain(pool).collect()
}

/// Whether a write run has changed the data set that is wanted.
fn is_written(target: &Target, wanted: &DataSpec, stop: &Stop) -> Result<bool, StudyError> {
    let server = Target { database: None, ..target.clone() };
    let exists = format!("SHOW DATABASES LIKE '{}'", wanted.set.name());
    if Control::connect_until(&server, stop)?.query_value(&exists)?.is_none() {
        return Ok(false);
    }
    match data::check(&mut Control::connect_until(target, stop)?, wanted) {
        Err(DataError::Written { .. }) => Ok(true),
        Err(error @ DataError::Target(_)) => Err(error.into()),
        _ => Ok(false),
    }
}

/// The data directory of a sandbox, and the copy for write runs beside it, which goes when the sandbox is cleaned.
fn directories(sandbox: &SandboxSpec) -> (PathBuf, PathBuf) {
    let dir = sandbox.home.join("sandboxes").join(&sandbox.name);
    (dir.join("data"), dir.join("snapshot"))
}

/// A private server: CPUs of its own are its domain, with what waits for disks and what is stolen;
/// without such CPUs its process is.
fn private(server: &Sandbox, database: &str) -> Ready {
    Ready {
        target: Target { database: Some(database.to_owned()), ..server.target() },
        domain: Some(server.cpu_of()),
        server_pid: u32::try_from(server.pid()).ok(),
        data_dir: Some(server.dir().join("data")),
        elsewhere: None,
        of_others: false,
    }
}

/// A server of the user's; its process is found where it runs on this machine.
fn remote(target: &Target, stop: &Stop) -> Result<Ready, StudyError> {
    let local = Local::of(&mut Control::connect_until(target, stop)?);
    let (pid, data_dir) = local.map(|local| (local.pid, local.data_dir)).unzip();
    Ok(Ready { domain: pid.map(CpuOf::Process), server_pid: pid, data_dir, ..far(target) })
}

/// A server that this machine does not see.
fn far(target: &Target) -> Ready {
    Ready {
        target: target.clone(),
        domain: None,
        server_pid: None,
        data_dir: None,
        elsewhere: None,
        of_others: false,
    }
}

fn await_answer(target: &Target, stop: &Stop) -> Result<(), StudyError> {
    let clock = Clock::start();
    loop {
        match Control::connect_until(target, stop) {
            Ok(_) => return Ok(()),
            Err(_) if stop.is_set() => return Err(StudyError::Stopped),
            Err(error) if clock.now() > RESET_PATIENCE => return Err(error.into()),
            Err(_) => thread::sleep(Duration::from_millis(200)),
        }
    }
}
