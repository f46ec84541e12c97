//! The private server of a study: filled, given other settings for the second workload, and removed in the end.

use super::record::Setting;
use crate::harness::{Event, Notify};
use crate::published::{At, PrivateServer, Result, While, Workplace, fill, workload};
use evenkeel_lab::data::DataSpec;
use evenkeel_lab::data::tpcw::Scale;
use evenkeel_lab::workload::Workload;
use evenkeel_lab::workload::user::{Definition, UserWorkload};
use evenkeel_site::sandbox::SandboxSpec;
use evenkeel_site::server::{Control, Target};
use std::path::PathBuf;
use std::sync::Arc;

/// Where the second workload's table is.
const SECOND_DATABASE: &str = "collapse";
const REREAD_SQL: &str = include_str!("../../../../examples/workloads/collapse/reread.sql");
/// The second workload, as users write workloads.
pub const REREAD_TOML: &str = include_str!("../../../../examples/workloads/collapse/reread.toml");
/// A pool that holds all data of the shopping mix, and one that holds few ranges of the second workload.
const SHOPPING_POOL: &str = "512M";
const REREAD_POOL: &str = "16M";
const POOL: &str = "innodb_buffer_pool_size";

/// A running server; its data are removed with it.
pub struct Server {
    server: PrivateServer,
    /// The second workload, where it has been turned to that.
    second: Option<Definition>,
}

impl Server {
    /// Starts it for the shopping mix and fills it.
    pub fn start(at: &At<'_, Setting>, tell: Notify<'_>) -> Result<Self> {
        let setting = &at.setting;
        let mut sandbox = SandboxSpec::new(at.workplace.home, at.plan.private_name());
        sandbox.server_binary = setting.machine.server_binary.clone().map(PathBuf::from);
        sandbox.domain.cpus = Some(setting.server_cpus.parse().doing(|| "reading the CPUs of the plan")?);
        sandbox.settings.insert(POOL.to_owned(), SHOPPING_POOL.to_owned());
        tell(Event::Step("starting a private server".to_owned()));
        let server = Self { server: PrivateServer::up(&at.workplace, &sandbox)?, second: None };
        let scale = Scale::new(setting.ebs, setting.items).doing(|| "reading the scale of the plan")?;
        fill(&at.workplace, &server.target(), scale, at.plan.seed, tell)?;
        Ok(server)
    }

    /// Starts it anew with a small buffer pool, and makes the second workload's table.
    pub fn turn_to_second(&mut self, workplace: &Workplace<'_>, tell: Notify<'_>) -> Result<()> {
        if self.second.is_some() {
            return Ok(());
        }
        let definition = workplace.program.workload("reread.toml", REREAD_TOML)?;
        tell(Event::Step("restarting it with a small buffer pool".to_owned()));
        self.server.restart([(POOL.to_owned(), REREAD_POOL.to_owned())], workplace.stop)?;
        let target = self.server.emptied(SECOND_DATABASE, workplace.stop)?;
        let mut control = Control::connect_until(&target, workplace.stop)?;
        statements(REREAD_SQL).iter().try_for_each(|statement| control.exec(statement).map(drop))?;
        self.second = Some(definition);
        Ok(())
    }

    fn database(&self) -> Option<String> {
        Some(if self.second.is_some() { SECOND_DATABASE } else { DataSpec::DATABASE }.to_owned())
    }

    pub fn target(&self) -> Target {
        Target { database: self.database(), ..self.server.sandbox.target() }
    }

    /// By TCP, as clients and guards reach it.
    pub fn tcp_target(&self) -> Target {
        Target { database: self.database(), ..self.server.sandbox.tcp_target() }
    }

    pub fn pid(&self) -> Result<u32> {
        self.server.pid()
    }

    /// What is asked of it now, as its data are now.
    pub fn workload(&self) -> Result<Arc<dyn Workload>> {
        let Some(definition) = &self.second else { return workload("tpcw.shopping", &self.target()) };
        let made = UserWorkload::new(definition, &mut Control::connect(&self.target())?);
        Ok(Arc::new(made.doing(|| "reading reread.toml")?))
    }
}

/// The statements of a file whose comments are lines of their own.
fn statements(text: &str) -> Vec<String> {
    let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("--")).collect();
    code.join("\n").split(';').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}
