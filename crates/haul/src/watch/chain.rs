//! The steps that a file goes through.

use crate::audit::Report;
use crate::convert::Duplicates;
use crate::dispatch::{DispatchError, Dispatched, Retire, Retired};
use crate::layout::LayoutFile;
use crate::load::{Check, Job, Loaded, Options};
use crate::table::Table;
use crate::{HaulError, Progress, dispatch, session};
use evenkeel_os::Stop;
use evenkeel_site::server::{Control, Target, TargetError};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::{fs, io};

/// How long another one's turn is waited for, in seconds, before that is said.
const TURN_S: u32 = 2;

const NAMES: usize = 100_000;

pub struct Chain<'a> {
    pub file: &'a LayoutFile,
    pub target: &'a Target,
    pub table: Table,
    pub rejects: PathBuf,
    pub duplicates: Duplicates,
    pub options: Options,
    pub audit: bool,
    pub dispatch: dispatch::Job,
    pub retire: Option<Retire>,
    pub stop: &'a Stop,
}

/// The right to work on the table, until this is dropped: between the steps of one file nobody else takes another one.
pub struct Turn(#[expect(dead_code, reason = "the lock lasts as long as the connection")] Control);

impl Chain<'_> {
    pub fn turn(&self) -> Result<Turn, WatchError> {
        let mut control = Control::connect_until(self.target, self.stop).map_err(HaulError::from)?;
        control.exec("SET SESSION wait_timeout = 2147483").map_err(HaulError::from)?;
        match session::lock(&mut control, "watch", &self.table.name, TURN_S).map_err(HaulError::from)? {
            true => Ok(Turn(control)),
            false => Err(WatchError::Turn(self.table.name.clone())),
        }
    }

    /// Loads what is not in yet of a file.
    pub fn load(&self, path: &Path, tell: &mut (dyn FnMut(&Progress) + Send)) -> Result<Loaded, WatchError> {
        let rejects = self.rejects_of(path);
        let sent = AtomicU64::new(0);
        let job = Job {
            file: self.file,
            inputs: vec![path.to_owned()],
            target: self.target,
            tables: vec![self.table.clone()],
            rejects: &rejects,
            corrected: None,
            duplicates: self.duplicates,
            options: self.options,
            sent: &sent,
            stop: self.stop,
        };
        let loaded = job.run(tell);
        // Most files have no rejects, and an empty one says nothing. One that cannot be removed does no harm.
        if rejects.metadata().is_ok_and(|found| found.len() == 0) {
            let _ = fs::remove_file(&rejects);
        }
        Ok(loaded?)
    }

    /// Holds a file that was loaded against the table and its rejects, unless nobody wants that or nothing was loaded; the manifest is
    /// told where nothing was found. A load that was tried more than once may have stored all of it before it says so.
    pub fn audit(
        &self,
        path: &Path,
        loaded: &Loaded,
        is_retried: bool,
    ) -> Result<Option<Report>, WatchError> {
        if !self.audit || (loaded.tally.records == 0 && !is_retried) {
            return Ok(None);
        }
        let check = Check {
            file: self.file,
            target: self.target,
            tables: std::slice::from_ref(&self.table.name),
            rejects: &self.rejects_of(path),
            duplicates: self.duplicates,
            scratch: &std::env::temp_dir(),
            names: NAMES,
            stop: self.stop,
        };
        let report = check.run(loaded, &|_| {})?.into_iter().next();
        if report.as_ref().is_some_and(|report| report.total() == 0) {
            check.note(loaded)?;
        }
        Ok(report)
    }

    pub fn rejects_of(&self, path: &Path) -> PathBuf {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        self.rejects.join(format!("{name}.rejects"))
    }

    pub fn dispatch(&self, report: &mut dyn FnMut(&dispatch::Progress)) -> Result<Dispatched, WatchError> {
        let mut control = Control::connect_until(self.target, self.stop).map_err(HaulError::from)?;
        let done = dispatch::dispatch(&mut control, &self.dispatch, report)?;
        match &done.audit {
            Some(audit) if !audit.same => {
                let (before, rows) = (audit.before, audit.rows);
                Err(DispatchError::Audit { table: self.table.name.clone(), before, rows }.into())
            }
            _ => Ok(done),
        }
    }

    pub fn retire(&self, report: &mut dyn FnMut(&dispatch::Progress)) -> Result<Option<Retired>, WatchError> {
        let Some(job) = &self.retire else { return Ok(None) };
        let mut control = Control::connect_until(self.target, self.stop).map_err(HaulError::from)?;
        Ok(Some(dispatch::retire(&mut control, job, report)?))
    }
}

/// ER_LOCK_WAIT_TIMEOUT and ER_LOCK_DEADLOCK.
const HELD_UP: [u16; 2] = [1205, 1213];
/// ER_SERVER_SHUTDOWN, ER_NORMAL_SHUTDOWN, ER_CONNECTION_KILLED.
const ENDING: [u16; 3] = [1053, 1077, 1927];

#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    #[error(transparent)]
    Load(#[from] HaulError),
    #[error(transparent)]
    Dispatch(#[from] DispatchError),
    #[error("another one goes through a file for table {0}")]
    Turn(String),
}

/// What is to be done about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    Stop,
    /// The server is not there, or something that others may put right is in the way: try again later.
    Away,
    Busy,
    Statement,
    Changed,
    Gone,
    Bad,
    Fatal,
}

impl WatchError {
    /// What it means where this file was worked on.
    pub fn trouble(&self, path: &Path) -> Trouble {
        match self {
            Self::Turn(_) => Trouble::Busy,
            Self::Load(error) => of_load(error, path),
            Self::Dispatch(error) => match error {
                DispatchError::Server(error) => of_server(error),
                DispatchError::Busy(_) => Trouble::Busy,
                DispatchError::NoColumn { .. } | DispatchError::Pattern { .. } => Trouble::Fatal,
                // The records stay where they are until somebody has put that right.
                _ => Trouble::Bad,
            },
        }
    }

    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Load(error) => error.hint(),
            Self::Dispatch(error) => error.hint(),
            Self::Turn(_) => None,
        }
    }
}

fn of_load(error: &HaulError, path: &Path) -> Trouble {
    match error {
        HaulError::Server(error) => of_server(error),
        HaulError::Stopped { .. } => Trouble::Stop,
        HaulError::Changed { .. } => Trouble::Changed,
        HaulError::InUse(_) => Trouble::Busy,
        HaulError::Nothing(_) => Trouble::Gone,
        HaulError::Io { path: other, source, .. } if other == path => match source.kind() {
            io::ErrorKind::NotFound => Trouble::Gone,
            _ => Trouble::Bad,
        },
        // The name of its rejects would be longer than a file system takes: no other file is to wait for that.
        HaulError::Io { source, .. } if source.kind() == io::ErrorKind::InvalidFilename => Trouble::Bad,
        HaulError::Io { .. } => Trouble::Away,
        HaulError::TooMany { .. } | HaulError::File(_) | HaulError::Rejects(_) => Trouble::Bad,
        HaulError::Busy(_) => Trouble::Busy,
        _ => Trouble::Fatal,
    }
}

fn of_server(error: &TargetError) -> Trouble {
    match error {
        TargetError::Stopped => Trouble::Stop,
        TargetError::Statement { code, .. } if HELD_UP.contains(code) => Trouble::Busy,
        TargetError::Statement { code, .. } if ENDING.contains(code) => Trouble::Away,
        TargetError::Statement { .. } => Trouble::Statement,
        TargetError::Unreachable { .. }
        | TargetError::Refused { .. }
        | TargetError::Timeout { .. }
        | TargetError::Silent { .. }
        | TargetError::Full { .. }
        | TargetError::Lost { .. } => Trouble::Away,
        _ => Trouble::Fatal,
    }
}
