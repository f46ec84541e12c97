//! The data of a named sandbox as write runs found it, kept to be given back.
//!
//! The data is the user's, and may have changed since a study that was killed. So a note beside the copy says whose
//! write runs the copy is for: that study goes on with it, another one does not start.

use crate::profile::error::StudyError;
use crate::profile::event::{Notify, StudyEvent, tell_sandbox};
use crate::store::StoreError;
use evenkeel_os::stop::Stop;
use evenkeel_site::copy::Snapshot;
use evenkeel_site::sandbox::{self, SandboxError};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Copy and note of one sandbox.
pub(super) struct Keepsake {
    data: PathBuf,
    copy: PathBuf,
    note: PathBuf,
}

impl Keepsake {
    pub(super) fn of(home: &Path, name: &str) -> Self {
        let dir = home.join("sandboxes").join(name);
        Self { data: dir.join("data"), copy: dir.join("snapshot"), note: dir.join("snapshot.study") }
    }

    /// Whether it is this study that has to give data back.
    pub(super) fn is_of(&self, study: &str) -> Result<bool, StudyError> {
        Ok(self.owner()?.as_deref() == Some(study))
    }

    /// The study that has to give it back.
    fn owner(&self) -> Result<Option<String>, StudyError> {
        match fs::read_to_string(&self.note) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(io_error("read", &self.note, error)),
        }
    }

    /// Copies the data of the stopped server, unless this study did before.
    pub(super) fn take(&self, study: &str, tell: Notify<'_>) -> Result<(), StudyError> {
        match self.owner()? {
            Some(owner) if owner == study => return Ok(()),
            Some(owner) => return Err(StudyError::WrittenBy { study: owner }),
            None => {}
        }
        tell(StudyEvent::Preparing("copying the data directory for the write runs".into()));
        Snapshot::take(&self.data, &self.copy)?;
        // The copy is whole before anybody relies on it.
        let beside = self.note.with_extension("new");
        let written = fs::write(&beside, study)
            .and_then(|()| fs::File::open(&beside)?.sync_all())
            .and_then(|()| fs::rename(&beside, &self.note));
        written.map_err(|error| io_error("write", &self.note, error))
    }

    /// Brings the data of the stopped server back to the copy.
    pub(super) fn restore(&self, tell: Notify<'_>) -> Result<(), StudyError> {
        tell(StudyEvent::Preparing("restoring the data directory".into()));
        Ok(Snapshot::open(&self.data, &self.copy)?.restore()?)
    }

    /// The same for the last time, and without the copy afterwards.
    pub(super) fn give_back(&self, tell: Notify<'_>) -> Result<(), StudyError> {
        self.restore(tell)?;
        fs::remove_file(&self.note).map_err(|error| io_error("remove", &self.note, error))?;
        fs::remove_dir_all(&self.copy).map_err(|error| io_error("remove", &self.copy, error))
    }
}

fn io_error(action: &'static str, path: &Path, source: io::Error) -> StudyError {
    StoreError::Io { action, path: path.to_owned(), source }.into()
}

/// Brings a named sandbox to where a study can go on that was killed: with the data that its write runs changed
/// given back, and running.
pub fn recover(
    home: &Path,
    name: &str,
    study: &str,
    stop: &Stop,
    tell: &mut dyn FnMut(StudyEvent),
) -> Result<(), StudyError> {
    let keepsake = Keepsake::of(home, name);
    if keepsake.is_of(study)? {
        match sandbox::find(home, name) {
            Ok(server) => server.down(&mut |event| tell_sandbox(event, tell))?,
            Err(SandboxError::NotRunning { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        keepsake.restore(tell)?;
    }
    sandbox::wake(home, name, stop, &mut |event| tell_sandbox(event, tell))?;
    Ok(())
}
