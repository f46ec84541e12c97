//! A backup that somebody has is restored into a private server, recovered up to a place in the binary logs, and looked at.

use super::backup::Backups;
use super::dump::Dump;
use super::method::Taken;
use super::range::Until;
use super::restored::{Restore, Servers, Steps, Tell, Timed, Work};
use super::rows::{damaged, tables};
use crate::ledger::{Account, Ledger, TABLE, audit};
use crate::{HaulError, refused};
use evenkeel_os::Stop;
use evenkeel_os::clock::Clock;
use evenkeel_site::sandbox::{self, Lifetime, SandboxSpec};
use evenkeel_site::server::{Control, quoted};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// The name of the server where nobody keeps it.
const RESTORED: &str = "drill-restored";

/// What to restore.
pub struct OwnBackup<'a> {
    pub home: &'a Path,
    pub server_binary: Option<PathBuf>,
    /// A folder of mariadb-backup with its incrementals, or a dump.
    pub backup: &'a Path,
    pub incrementals: &'a [PathBuf],
    /// Folder of the binary logs since then.
    pub logs: Option<&'a Path>,
    pub until: Until,
    /// Of writes to the server that was backed up, whose table has to hold them.
    pub ledger: Option<Ledger>,
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
    /// Bytes at the end of the logs that are no whole transaction: a kill leaves such.
    pub cut: u64,
    /// The last of them.
    pub last_gtid: Option<String>,
    /// When that began, in seconds since 1970.
    pub last_at: Option<u32>,
    pub tables: usize,
    /// Tables that CHECK TABLE calls damaged.
    pub damaged: Vec<String>,
    pub account: Option<Account>,
}

impl Found {
    pub fn is_right(&self) -> bool {
        self.damaged.is_empty() && self.account.as_ref().is_none_or(Account::is_right)
    }
}

impl OwnBackup<'_> {
    /// Restores, applies and looks.
    /// Errors: of any step, with what it said; or somebody asked to stop. The backup and the logs are not changed.
    pub fn run(&self, tell: Tell<'_>) -> Result<Found, HaulError> {
        if let Some(name) = &self.keep
            && (name.starts_with("drill-") || sandbox::list(self.home)?.iter().any(|info| info.name == *name))
        {
            // Drills remove what is named as theirs are.
            return Err(refused(format!("the sandbox name {name} is taken"), "choose another name").into());
        }
        let work = Work::new(self.home)?;
        let Some(name) = &self.keep else {
            let _servers = Servers::new(self.home, [RESTORED])?;
            return self.recover(&work.0, RESTORED, tell);
        };
        self.recover(&work.0, name, tell).inspect_err(|_| {
            // A server that is to stay outlives its value.
            if let Ok(kept) = sandbox::find(self.home, name) {
                let _ = kept.down(&mut |_| {});
            }
            let _ = sandbox::clean(self.home, std::slice::from_ref(name));
        })
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
        let (restored, range) = restore.run(&taken, &mut steps, tell)?;
        let recovery_s = steps.clock.now().as_secs_f64();
        tell("checking its tables");
        let mut control = Control::connect_until(&restored.target(), self.stop)?;
        let account = self.ledger.as_ref().map(|ledger| audit_somewhere(&mut control, ledger)).transpose()?;
        let last = range.as_ref().and_then(|range| range.last);
        let found = Found {
            server: control.version().to_string(),
            steps: steps.done,
            recovery_s,
            transactions: range.as_ref().map_or(0, |range| range.transactions),
            cut: range.as_ref().map_or(0, |range| range.cut),
            last_gtid: last.map(|group| group.gtid.to_string()),
            last_at: last.map(|group| group.at),
            tables: tables(&mut control)?.len(),
            damaged: damaged(&restored.target(), self.stop)?,
            account,
        };
        drop(restored);
        Ok(found)
    }

    /// What the user has, as a backup that can be restored.
    fn taken(&self, work: &Path) -> Result<Taken, HaulError> {
        if self.backup.is_dir() {
            let all: Vec<PathBuf> =
                std::iter::once(self.backup.to_owned()).chain(self.incrementals.to_owned()).collect();
            return Ok(Taken::Backup(Backups::copy(&work.join("backups"), &all, self.stop)?));
        }
        match self.incrementals.is_empty() {
            true => Ok(Taken::Dump(Dump::of(self.backup, work))),
            false => Err(refused("a dump has no incrementals", "leave --incremental out").into()),
        }
    }
}

/// In whatever database the table of the ledger is.
fn audit_somewhere(control: &mut Control, ledger: &Ledger) -> Result<Account, HaulError> {
    let sql = format!(
        "SELECT TABLE_SCHEMA FROM information_schema.TABLES WHERE TABLE_NAME = '{TABLE}' AND TABLE_COMMENT = 'evenkeel ledger {}'",
        ledger.id
    );
    let database = control.query_value(&sql)?;
    let database = database.ok_or_else(|| {
        refused("the backup has no table of this ledger", "take the backup after evenkeel drill write began")
    })?;
    control.exec(&format!("USE {}", quoted(&database)))?;
    audit(control, ledger)
}
