//! Folders for what only runs need: journals, images, mounts.

use super::program::Program;
use super::setting::setting;
use super::{PublishedError, Result, While};
use crate::harness::{Figure, Judgement, Notify, Order, Part, Plan, Run, Study};
use evenkeel_os::Stop;
use evenkeel_site::sandbox::{self, Sandbox, SandboxError, SandboxSpec};
use evenkeel_site::server::{Control, Target};
use serde::de::DeserializeOwned;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

/// A folder for what only runs need. It is removed when this is dropped, and the one above it where that is empty then.
#[derive(Debug)]
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// What a killed study left there would pass for work that is done, and goes.
    pub fn of_study(workplace: &Workplace<'_>, id: &str) -> Result<Self> {
        let path = workplace.home.join("scratch").join(id);
        let _ = fs::remove_dir_all(&path);
        Self::new(&path)
    }

    /// One of a run inside of it, which must go first.
    pub fn inside(&self, name: &str) -> Result<Self> {
        Self::new(&self.0.join(name))
    }

    fn new(path: &Path) -> Result<Self> {
        fs::create_dir_all(path).doing(|| format!("making {}", path.display()))?;
        // Guards, servers and mounts are told of it by its whole name.
        Ok(Self(path.canonicalize().doing(|| format!("looking at {}", path.display()))?))
    }

    /// One that is not there, for tests that only name files in it.
    #[cfg(test)]
    pub fn nowhere(path: &str) -> Self {
        Self(path.into())
    }

    /// Where it is, from the root.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What stays is no harm: the next run begins its files anew, and where something is still mounted in here, the error of who
        // could not unmount it has been told.
        let _ = fs::remove_dir_all(&self.0);
        let _ = self.0.parent().map(fs::remove_dir);
    }
}

/// Where a published study works, and with what.
#[derive(Clone, Copy)]
pub struct Workplace<'a> {
    /// Folder for private servers and for what only runs need.
    pub home: &'a Path,
    /// Set by whoever wants the study to stop.
    pub stop: &'a Stop,
    /// Who starts guards and hosts.
    pub program: &'a dyn Program,
}

/// What a study is told: where it works, by which plan, and its own setting in that.
pub struct At<'a, Setting> {
    pub workplace: Workplace<'a>,
    pub plan: Plan,
    pub setting: Setting,
}

/// What a study puts up for its runs when the first one needs it; and all else that is its own.
pub trait Bed: Sized {
    type Setting: DeserializeOwned;
    const FIGURES: &'static [Figure];

    fn put_up(at: &At<'_, Self::Setting>, tell: Notify<'_>) -> Result<Self>;

    /// Before the first run of a part that is missing.
    fn ready(&mut self, _: &At<'_, Self::Setting>, _: &Part, _: &[Run], _: Notify<'_>) -> Result<()> {
        Ok(())
    }

    /// As the harness asks it.
    fn wants(_: &At<'_, Self::Setting>, _: &Part, _: &[Run]) -> bool {
        true
    }

    /// As the harness asks it.
    const RETRIES: u32 = 1;

    /// As the harness asks it.
    fn takes_s(setting: &Self::Setting, part: &Part, levels: &[String]) -> f64;

    /// Makes a run; `None` where somebody asked to stop. An error is none then, too.
    fn run(&mut self, at: &At<'_, Self::Setting>, order: &Order<'_>, tell: Notify<'_>)
    -> Result<Option<Run>>;

    fn judge(plan: &Plan, setting: &Self::Setting, runs: &[Run]) -> Judgement;
}

/// A study for the harness.
pub struct AtWork<'a, B: Bed> {
    at: At<'a, B::Setting>,
    bed: Option<B>,
}

impl<'a, B: Bed> AtWork<'a, B> {
    pub fn of(workplace: Workplace<'a>, plan: &Plan) -> Result<Self> {
        Ok(Self { at: At { workplace, plan: plan.clone(), setting: setting(plan)? }, bed: None })
    }
}

impl<B: Bed> Study for AtWork<'_, B> {
    type Error = PublishedError;

    fn figures(&self) -> &'static [Figure] {
        B::FIGURES
    }

    fn retries(&self) -> u32 {
        B::RETRIES
    }

    fn wants(&self, part: &Part, runs: &[Run]) -> bool {
        B::wants(&self.at, part, runs)
    }

    fn takes_s(&self, part: &Part, levels: &[String]) -> f64 {
        B::takes_s(&self.at.setting, part, levels)
    }

    fn prepare(&mut self, part: &Part, runs: &[Run], tell: Notify<'_>) -> Result<()> {
        let bed = match self.bed.take() {
            Some(bed) => bed,
            None => B::put_up(&self.at, tell)?,
        };
        self.bed.insert(bed).ready(&self.at, part, runs, tell)
    }

    fn run(&mut self, order: &Order<'_>, tell: Notify<'_>) -> Result<Option<Run>> {
        let bed = self.bed.as_mut().ok_or_else(not_running)?;
        match bed.run(&self.at, order, tell) {
            // Whatever was under way then ended because of that.
            Err(_) if self.at.workplace.stop.is_set() => Ok(None),
            outcome => outcome.doing(|| format!("measuring {}", order.name())),
        }
    }

    fn judge(&self, plan: &Plan, runs: &[Run]) -> Judgement {
        B::judge(plan, &self.at.setting, runs)
    }
}

pub(crate) fn not_running() -> PublishedError {
    PublishedError::wrong("the private server is not running")
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_goes_with_all_that_is_in_it_and_those_above_go_where_they_are_empty() {
        let home = tempfile::tempdir().unwrap();
        let above = home.path().join("scratch");
        let (one, other) =
            (Scratch::new(&above.join("one")).unwrap(), Scratch::new(&above.join("other")).unwrap());
        let run = one.inside("run").unwrap();
        fs::write(run.path().join("guard.jsonl"), "{}").unwrap();
        drop(run);
        drop(one);
        assert!(!above.join("one").exists() && other.path().exists());
        drop(other);
        assert!(!above.exists() && home.path().exists());
    }
}
