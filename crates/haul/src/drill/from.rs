//! A backup that somebody has is restored into a private server, recovered up to a place in the binary logs, and looked at.

use super::backup::Backups;
use super::binlog::Until;
use super::dump::Dump;
use super::method::Taken;
use super::restored::{Restore, Steps, Tell, Timed};
use super::rows::{damaged, tables};
use crate::{HaulError, refused};
use evenkeel_os::Stop;
use evenkeel_os::clock::Clock;
use evenkeel_site::sandbox::{self, Lifetime, SandboxSpec};
use evenkeel_site::server::Control;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// The name of the server where nobody keeps it.
const RESTORED: &str = "drill-restored";

/// What to restore.
pub struct From<'a> {
    pub home: &'a Path,
    pub server_binary: Option<PathBuf>,
    /// A folder of mariadb-backup with its incrementals, or a dump.
    pub backup: &'a Path,
    pub incrementals: &'a [PathBuf],
    /// Folder of the binary logs since then.
    pub logs: Option<&'a Path>,
    pub until: Until,
    /// Name of the sandbox that stays.
    pub keep: Option<String>,
    pub stop: &'a Stop,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Found {
    pub server: String,
    pub steps: Vec<Timed>,
    pub recovery_s: f64,
    /// Transactions of the binary logs that were applied.
    pub transactions: u64,
    /// The last of them.
    pub last_gtid: Option<String>,
    /// When that began, in seconds since 1970.
    pub last_at: Option<u32>,
    pub tables: usize,
    /// Tables that CHECK TABLE calls damaged.
    pub damaged: Vec<String>,
}

impl From<'_> {
    /// Restores, applies and looks.
    /// Errors: of any step, with what it said; or somebody asked to stop. The backup and the logs are not changed.
    pub fn run(&self, tell: Tell<'_>) -> Result<Found, HaulError> {
        let name = self.keep.clone().unwrap_or_else(|| RESTORED.to_owned());
        if sandbox::list(self.home)?.iter().any(|info| info.name == name) {
            match self.keep {
                Some(_) => {
                    return Err(
                        refused(format!("there is a sandbox {name} already"), "choose another name").into()
                    );
                }
                // What a killed drill has left.
                None => drop(sandbox::clean(self.home, std::slice::from_ref(&name))?),
            }
        }
        let work = tempfile::Builder::new().prefix("drill-").tempdir_in(self.home);
        let work = work.map_err(HaulError::io("create a folder in", self.home))?;
        let found = self.recover(work.path(), &name, tell);
        if self.keep.is_none() || found.is_err() {
            let _ = sandbox::clean(self.home, &[name]);
        }
        found
    }

    fn recover(&self, work: &Path, name: &str, tell: Tell<'_>) -> Result<Found, HaulError> {
        let mut steps = Steps::from(Clock::start());
        let taken = self.taken(work)?;
        let lifetime = if self.keep.is_some() { Lifetime::Detached } else { Lifetime::Ephemeral };
        let restore = Restore {
            spec: SandboxSpec {
                server_binary: self.server_binary.clone(),
                lifetime,
                ..SandboxSpec::new(self.home, name)
            },
            work,
            logs: self.logs,
            until: &self.until,
            stop: self.stop,
        };
        let (restored, stretch) = restore.run(&taken, &mut steps, tell)?;
        let recovery_s = steps.clock.now().as_secs_f64();
        tell("checking its tables");
        let mut control = Control::connect_until(&restored.target(), self.stop)?;
        let last = stretch.as_ref().and_then(|stretch| stretch.last);
        let found = Found {
            server: control.version().to_string(),
            steps: steps.done,
            recovery_s,
            transactions: stretch.as_ref().map_or(0, |stretch| stretch.transactions),
            last_gtid: last.map(|group| group.gtid.to_string()),
            last_at: last.map(|group| group.at),
            tables: tables(&mut control)?.len(),
            damaged: damaged(&restored.target(), self.stop)?,
        };
        drop(restored);
        Ok(found)
    }

    /// What the user has, as a backup that can be restored.
    fn taken(&self, work: &Path) -> Result<Taken, HaulError> {
        if self.backup.is_dir() {
            let all: Vec<PathBuf> =
                std::iter::once(self.backup.to_owned()).chain(self.incrementals.to_owned()).collect();
            return Ok(Taken::Backup(Backups::copy(&work.join("backups"), &all)?));
        }
        match self.incrementals.is_empty() {
            true => Ok(Taken::Dump(Dump::of(self.backup, work))),
            false => Err(refused("a dump has no incrementals", "leave --incremental out").into()),
        }
    }
}
