//! The private server of a study: filled, given other settings for the second workload, and removed in the end.

use crate::command::data::spec;
use crate::command::{Session, place};
use crate::config::workload as user_workload;
use anyhow::{Context, Result};
use evenkeel_lab::data::tpcw::Scale;
use evenkeel_lab::data::{DataSpec, Stamp, Via, populate};
use evenkeel_lab::workload::user::UserWorkload;
use evenkeel_lab::workload::{Workload, plan_think};
use evenkeel_os::stop::Stop;
use evenkeel_site::sandbox::{self, Sandbox, SandboxError, SandboxSpec};
use evenkeel_site::server::{Control, Target};
use evenkeel_study::harness::{Event, Tell};
use evenkeel_study::throttling::record::{Load, Setting};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Where the second workload's table is.
const SECOND_DATABASE: &str = "collapse";
const REREAD_SQL: &str = include_str!("../../../../../../examples/workloads/collapse/reread.sql");
const REREAD_TOML: &str = include_str!("../../../../../../examples/workloads/collapse/reread.toml");
/// A pool that holds all data of the shopping mix, and one that holds few ranges of the second workload.
const SHOPPING_POOL: &str = "512M";
const REREAD_POOL: &str = "16M";
const POOL: &str = "innodb_buffer_pool_size";

/// A running server; its data are removed with it.
pub struct Server {
    sandbox: Option<Sandbox>,
    home: PathBuf,
    name: String,
    load: Load,
    own_pool: bool,
}

impl Server {
    /// Starts it for the shopping mix and fills it.
    ///
    /// # Errors
    /// It does not start, or cannot be filled.
    pub fn start(session: &Session, id: &str, seed: u64, setting: &Setting, tell: Tell<'_>) -> Result<Self> {
        let place = &setting.place;
        // What a killed study left is not trusted.
        clean(&session.home, id)?;
        let mut sandbox = SandboxSpec::new(&session.home, id);
        sandbox.server_binary = place.server_binary.clone().map(PathBuf::from);
        sandbox.settings = settings(&place.settings);
        sandbox.cpus = Some(place.server_cpus.parse().context("reading the CPUs of the plan")?);
        sandbox.memory = place.memory_bytes;
        let own_pool = sandbox.settings.contains_key(POOL);
        sandbox.settings.entry(POOL.to_owned()).or_insert(SHOPPING_POOL.to_owned());
        tell(Event::Step("starting a private server".to_owned()));
        let home = session.home.clone();
        let mut server = Self { sandbox: None, home, name: id.to_owned(), load: Load::Shopping, own_pool };
        server.sandbox = Some(Sandbox::up(&sandbox, &session.stop, &mut |_| {})?);
        let wanted = spec(Scale::new(setting.ebs, setting.items)?, seed, Via::Load, None);
        let mut filled = |progress| tell(Event::Data(progress));
        populate(&server.target()?, &wanted, &session.dumps_dir(), &session.stop, &mut filled)?;
        Stamp::mark_written(&mut Control::connect(&server.target()?)?)?;
        Ok(server)
    }

    fn sandbox(&self) -> Result<&Sandbox> {
        self.sandbox.as_ref().context("the private server is not running")
    }

    /// Starts it anew with a small buffer pool, and makes the second workload's table.
    ///
    /// # Errors
    /// It does not start again, or refuses the table.
    pub fn turn_to_second(&mut self, session: &Session, tell: Tell<'_>) -> Result<()> {
        if self.load == Load::Reread {
            return Ok(());
        }
        tell(Event::Step("restarting it with a small buffer pool".to_owned()));
        let pool = if self.own_pool { None } else { Some((POOL.to_owned(), REREAD_POOL.to_owned())) };
        let changes: BTreeMap<String, String> = pool.into_iter().collect();
        let sandbox = self.sandbox.as_mut().context("the private server is not running")?;
        sandbox.restart(&changes, &session.stop, &mut |_| {})?;
        let mut control = Control::connect(&Target { database: None, ..sandbox.target() })?;
        control.exec(&format!("CREATE DATABASE IF NOT EXISTS {SECOND_DATABASE}"))?;
        control.exec(&format!("USE {SECOND_DATABASE}"))?;
        control.exec("DROP TABLE IF EXISTS leaf")?;
        for statement in statements(REREAD_SQL) {
            control.exec(&statement)?;
        }
        self.load = Load::Reread;
        Ok(())
    }

    fn database(&self) -> String {
        match self.load {
            Load::Shopping => DataSpec::DATABASE.to_owned(),
            Load::Reread => SECOND_DATABASE.to_owned(),
        }
    }

    /// By its socket, for looking at it.
    ///
    /// # Errors
    /// It does not run.
    pub fn target(&self) -> Result<Target> {
        Ok(Target { database: Some(self.database()), ..self.sandbox()?.target() })
    }

    /// By TCP, as clients and guards reach it.
    ///
    /// # Errors
    /// It does not run.
    pub fn tcp_target(&self) -> Result<Target> {
        Ok(Target { database: Some(self.database()), ..self.sandbox()?.tcp_target() })
    }

    /// Its process.
    ///
    /// # Errors
    /// It does not run, or has ended; then with the reason.
    pub fn pid(&self) -> Result<u32> {
        let sandbox = self.sandbox()?;
        sandbox.check()?;
        u32::try_from(sandbox.pid()).context("the private server has no process")
    }

    /// What is asked of it now, as its data are now.
    ///
    /// # Errors
    /// It does not answer.
    pub fn workload(&self) -> Result<Arc<dyn Workload>> {
        let target = self.target()?;
        match self.load {
            Load::Shopping => Ok(plan_think(place::workload(
                "tpcw.shopping",
                place::database(&target, "", &Stop::default())?,
            )?)),
            Load::Reread => {
                let definition = user_workload::parse("reread.toml", REREAD_TOML)?;
                Ok(Arc::new(UserWorkload::new(&definition, &mut Control::connect(&target)?)?))
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.sandbox.take());
        // Where it cannot be removed, `evenkeel sandbox list` shows it and `clean` removes it.
        let _ = clean(&self.home, &self.name);
    }
}

fn clean(home: &std::path::Path, name: &str) -> Result<()> {
    match sandbox::clean(home, &[name.to_owned()]) {
        Ok(_) | Err(SandboxError::Unknown { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn settings(of: &[String]) -> BTreeMap<String, String> {
    let pair = |text: &String| text.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
    of.iter().filter_map(pair).collect()
}

/// The statements of a file whose comments are lines of their own.
fn statements(text: &str) -> Vec<String> {
    let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("--")).collect();
    code.join("\n").split(';').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_lab::workload::user::NoColumns;

    #[test]
    fn the_second_workload_is_built_in_and_whole() {
        let definition = user_workload::parse("reread.toml", REREAD_TOML).unwrap();
        let workload = UserWorkload::new(&definition, &mut NoColumns).unwrap();
        assert_eq!(workload.kinds(), ["reread"]);
        let statements = statements(REREAD_SQL);
        assert_eq!(statements.len(), 2);
        assert!(
            statements[0].starts_with("CREATE TABLE leaf") && statements[1].starts_with("INSERT INTO leaf")
        );
    }
}
