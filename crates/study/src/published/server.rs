//! A private server of a study: started on a clean place, and removed with its data.

use super::{PublishedError, Result, Workplace};
use evenkeel_site::sandbox::{self, Sandbox, SandboxError, SandboxSpec};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

/// How long the server of a study that was killed takes to end at most, in tenths of a second.
const ENDS_WITHIN: u32 = 100;

/// A running server; its data are removed when it is dropped.
pub(crate) struct PrivateServer {
    sandbox: Option<Sandbox>,
    home: PathBuf,
    name: String,
}

impl PrivateServer {
    /// Starts it. What a killed study left under its name is not trusted, and removed before.
    pub fn up(workplace: &Workplace<'_>, spec: &SandboxSpec) -> Result<Self> {
        clean(&spec.home, &spec.name)?;
        let mut server = Self { sandbox: None, home: spec.home.clone(), name: spec.name.clone() };
        server.sandbox = Some(Sandbox::up(spec, workplace.stop, &mut |_| {})?);
        Ok(server)
    }

    pub fn sandbox(&self) -> Result<&Sandbox> {
        self.sandbox.as_ref().ok_or_else(not_running)
    }

    pub fn sandbox_mut(&mut self) -> Result<&mut Sandbox> {
        self.sandbox.as_mut().ok_or_else(not_running)
    }
}

pub(crate) fn not_running() -> PublishedError {
    PublishedError::wrong("the private server is not running")
}

impl Drop for PrivateServer {
    fn drop(&mut self) {
        drop(self.sandbox.take());
        // Where it cannot be removed, `evenkeel sandbox list` shows it and `clean` removes it.
        let _ = clean(&self.home, &self.name);
    }
}

fn clean(home: &Path, name: &str) -> Result<()> {
    for _ in 0..ENDS_WITHIN {
        match sandbox::clean(home, &[name.to_owned()]) {
            Ok(_) | Err(SandboxError::Unknown { .. }) => return Ok(()),
            Err(SandboxError::AlreadyRunning { .. }) => sleep(Duration::from_millis(100)),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
