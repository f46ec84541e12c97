//! A private server of a study: started on a clean place, and removed with its data.

use super::{Result, While, Workplace};
use evenkeel_os::stop::Stop;
use evenkeel_site::sandbox::{self, Sandbox, SandboxError, SandboxSpec};
use evenkeel_site::server::{Control, Target};
use std::path::PathBuf;
use std::thread::sleep;
use std::time::Duration;

/// How long the server of a study that was killed takes to end at most, in tenths of a second.
const ENDS_WITHIN: u32 = 100;

/// A running server; its data are removed when it is dropped.
pub(crate) struct PrivateServer {
    pub sandbox: Sandbox,
    /// Goes after the server, which ends first.
    _data: Data,
}

impl PrivateServer {
    /// Starts it. What a killed study left under its name is not trusted, and removed before.
    pub fn up(workplace: &Workplace<'_>, spec: &SandboxSpec) -> Result<Self> {
        let data = Data { home: spec.home.clone(), name: spec.name.clone() };
        data.clean()?;
        Ok(Self { sandbox: Sandbox::up(spec, workplace.stop, &mut |_| {})?, _data: data })
    }

    /// Starts it anew with these settings over its own.
    pub fn restart(
        &mut self,
        changes: impl IntoIterator<Item = (String, String)>,
        stop: &Stop,
    ) -> Result<()> {
        Ok(self.sandbox.restart(&changes.into_iter().collect(), stop, &mut |_| {})?)
    }

    pub fn pid(&self) -> Result<u32> {
        self.sandbox.check()?;
        u32::try_from(self.sandbox.pid()).doing(|| "looking for the process of the private server")
    }

    /// With this database, which is made anew and empty.
    pub fn emptied(&self, database: &str, stop: &Stop) -> Result<Target> {
        let mut control = Control::connect_until(&Target { database: None, ..self.sandbox.target() }, stop)?;
        control.exec(&format!("DROP DATABASE IF EXISTS {database}"))?;
        control.exec(&format!("CREATE DATABASE {database}"))?;
        Ok(Target { database: Some(database.to_owned()), ..self.sandbox.target() })
    }
}

struct Data {
    home: PathBuf,
    name: String,
}

impl Data {
    fn clean(&self) -> Result<()> {
        for _ in 0..ENDS_WITHIN {
            match sandbox::clean(&self.home, std::slice::from_ref(&self.name)) {
                Ok(_) | Err(SandboxError::Unknown { .. }) => return Ok(()),
                Err(SandboxError::AlreadyRunning { .. }) => sleep(Duration::from_millis(100)),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        // Where it cannot be removed, `evenkeel sandbox list` shows it and `clean` removes it.
        let _ = self.clean();
    }
}
