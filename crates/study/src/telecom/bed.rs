//! The private server of the study, whose settings change from run to run; its data are removed with it.

use super::record::Tuning;
use crate::published::{PrivateServer, PublishedError, Result, While, Workplace};
use evenkeel_os::process::signal;
use evenkeel_sense::Domain;
use evenkeel_sense::cpu::CpuReading;
use evenkeel_site::sandbox::SandboxSpec;
use evenkeel_site::server::{Control, Target};

/// The database that every run makes anew.
const DATABASE: &str = "telecom";

pub(super) struct Bed {
    server: PrivateServer,
    pool_mib: u64,
    tuning: Tuning,
}

impl Bed {
    pub fn start(workplace: &Workplace<'_>, id: &str, pool_mib: u64) -> Result<Self> {
        let mut spec = SandboxSpec::new(workplace.home, id);
        let tuning = Tuning::Tuned;
        spec.settings = tuning.settings(pool_mib).into_iter().collect();
        Ok(Self { server: PrivateServer::up(workplace, &spec)?, pool_mib, tuning })
    }

    /// Gives it these settings, which takes a restart where they are others, and an empty database.
    pub fn make_ready(&mut self, tuning: Tuning, workplace: &Workplace<'_>) -> Result<()> {
        if self.tuning != tuning {
            let settings = tuning.settings(self.pool_mib).into_iter().collect();
            self.server.sandbox_mut()?.restart(&settings, workplace.stop, &mut |_| {})?;
            self.tuning = tuning;
        }
        self.clear(workplace)
    }

    /// An empty database.
    pub fn clear(&mut self, workplace: &Workplace<'_>) -> Result<()> {
        let target = Target { database: None, ..self.target()? };
        let mut control = Control::connect_until(&target, workplace.stop)?;
        control.exec(&format!("DROP DATABASE IF EXISTS {DATABASE}"))?;
        control.exec(&format!("CREATE DATABASE {DATABASE}"))?;
        Ok(())
    }

    /// Kills it where it stands (SIGKILL). What it had handed to the kernel is still written, so that this is less than a loss of power.
    pub fn kill(&self) -> Result<()> {
        match signal(self.server.sandbox()?.pid(), libc::SIGKILL) {
            true => Ok(()),
            false => Err(PublishedError::wrong("the private server could not be killed: it had ended")),
        }
    }

    pub fn start_again(&mut self, workplace: &Workplace<'_>) -> Result<()> {
        Ok(self.server.sandbox_mut()?.restart(
            &std::collections::BTreeMap::new(),
            workplace.stop,
            &mut |_| {},
        )?)
    }

    /// The server with the database of the runs.
    pub fn target(&self) -> Result<Target> {
        Ok(Target { database: Some(DATABASE.to_owned()), ..self.server.sandbox()?.target() })
    }

    /// CPU time of its process; `None` where it has ended.
    pub fn cpu(&self) -> Option<CpuReading> {
        let pid = u32::try_from(self.server.sandbox().ok()?.pid()).ok()?;
        Domain::Process(pid).read()
    }

    /// Bytes of a table with its indexes, as the server guesses them.
    pub fn bytes(&self, table: &str) -> Result<Option<f64>> {
        let mut control = Control::connect(&self.target()?)?;
        control.query(&format!("ANALYZE TABLE {table}"))?;
        let bytes = control.query_value(&format!(
            "SELECT DATA_LENGTH + INDEX_LENGTH FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '{table}'"
        ))?;
        bytes.map(|text| text.parse()).transpose().doing(|| format!("reading the size of {table}"))
    }
}
