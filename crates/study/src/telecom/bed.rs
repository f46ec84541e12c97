//! The private server of the study, whose settings change from run to run; its data are removed with it.

use super::record::Tuning;
use crate::published::{PublishedError, Result, While, Workplace};
use evenkeel_os::process::signal;
use evenkeel_sense::Domain;
use evenkeel_sense::cpu::CpuReading;
use evenkeel_site::sandbox::{self, Sandbox, SandboxError, SandboxSpec};
use evenkeel_site::server::{Control, Target};
use std::path::{Path, PathBuf};

/// The database that every run makes anew.
const DATABASE: &str = "telecom";

/// A running server.
pub(super) struct Bed {
    sandbox: Option<Sandbox>,
    home: PathBuf,
    name: String,
    pool_mib: u64,
    tuning: Tuning,
}

impl Bed {
    /// Starts it.
    ///
    /// # Errors
    /// It does not start.
    pub fn start(
        workplace: &Workplace<'_>,
        id: &str,
        pool_mib: u64,
        server_binary: Option<&str>,
    ) -> Result<Self> {
        // What a killed study left is not trusted.
        clean(workplace.home, id)?;
        let mut spec = SandboxSpec::new(workplace.home, id);
        spec.server_binary = server_binary.map(PathBuf::from);
        let tuning = Tuning::Tuned;
        spec.settings = tuning.settings(pool_mib).into_iter().collect();
        let (home, name) = (workplace.home.to_owned(), id.to_owned());
        let mut bed = Self { sandbox: None, home, name, pool_mib, tuning };
        bed.sandbox = Some(Sandbox::up(&spec, workplace.stop, &mut |_| {})?);
        Ok(bed)
    }

    /// Gives it these settings, which takes a restart where they are others, and an empty database.
    ///
    /// # Errors
    /// It does not start with them.
    pub fn make_ready(&mut self, tuning: Tuning, workplace: &Workplace<'_>) -> Result<()> {
        if self.tuning != tuning {
            let settings = tuning.settings(self.pool_mib).into_iter().collect();
            self.running()?.restart(&settings, workplace.stop, &mut |_| {})?;
            self.tuning = tuning;
        }
        self.clear(workplace)
    }

    /// An empty database.
    ///
    /// # Errors
    /// The server refuses.
    pub fn clear(&mut self, workplace: &Workplace<'_>) -> Result<()> {
        let target = Target { database: None, ..self.target()? };
        let mut control = Control::connect_until(&target, workplace.stop)?;
        control.exec(&format!("DROP DATABASE IF EXISTS {DATABASE}"))?;
        control.exec(&format!("CREATE DATABASE {DATABASE}"))?;
        Ok(())
    }

    /// Kills it where it stands, as a loss of power does to a process.
    ///
    /// # Errors
    /// It does not run.
    pub fn kill(&self) -> Result<()> {
        match signal(self.sandbox.as_ref().ok_or_else(not_running)?.pid(), libc::SIGKILL) {
            true => Ok(()),
            false => Err(PublishedError::wrong("the private server could not be killed: it had ended")),
        }
    }

    /// Starts it again after a kill.
    ///
    /// # Errors
    /// It does not start.
    pub fn start_again(&mut self, workplace: &Workplace<'_>) -> Result<()> {
        Ok(self.running()?.restart(&std::collections::BTreeMap::new(), workplace.stop, &mut |_| {})?)
    }

    fn running(&mut self) -> Result<&mut Sandbox> {
        self.sandbox.as_mut().ok_or_else(not_running)
    }

    /// The server with the database of the runs.
    ///
    /// # Errors
    /// It does not run.
    pub fn target(&self) -> Result<Target> {
        let sandbox = self.sandbox.as_ref().ok_or_else(not_running)?;
        Ok(Target { database: Some(DATABASE.to_owned()), ..sandbox.target() })
    }

    /// CPU time of its process; `None` where it has ended.
    pub fn cpu(&self) -> Option<CpuReading> {
        let pid = u32::try_from(self.sandbox.as_ref()?.pid()).ok()?;
        Domain::Process(pid).read()
    }

    /// Bytes of a table with its indexes, as the server guesses them.
    ///
    /// # Errors
    /// It does not answer.
    pub fn bytes(&self, table: &str) -> Result<Option<f64>> {
        let mut control = Control::connect(&self.target()?)?;
        control.query(&format!("ANALYZE TABLE {table}"))?;
        let bytes = control.query_value(&format!(
            "SELECT DATA_LENGTH + INDEX_LENGTH FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '{table}'"
        ))?;
        bytes.map(|text| text.parse()).transpose().doing(|| format!("reading the size of {table}"))
    }
}

fn not_running() -> PublishedError {
    PublishedError::wrong("the private server is not running")
}

impl Drop for Bed {
    fn drop(&mut self) {
        drop(self.sandbox.take());
        // Where it cannot be removed, `evenkeel sandbox list` shows it and `clean` removes it.
        let _ = clean(&self.home, &self.name);
    }
}

fn clean(home: &Path, name: &str) -> Result<()> {
    match sandbox::clean(home, &[name.to_owned()]) {
        Ok(_) | Err(SandboxError::Unknown { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
