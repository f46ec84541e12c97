//! The data of a named sandbox as write runs found it, kept to be given back.
//!
//! The data is the user's, and may have changed since a study that was killed. So a note beside the copy says whose
//! write runs the copy is for: that study goes on with it, another one does not start. A study is known by its
//! [identity](crate::store::format::PlanFile::identity), because the name of a deleted one can be given again.

use crate::profile::event::StudyError;
use crate::profile::{Notify, StudyEvent, tell_sandbox};
use crate::store::StoreError;
use evenkeel_os::Stop;
use evenkeel_site::copy::Snapshot;
use evenkeel_site::sandbox::{self, SandboxError};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Copy and note of one sandbox.
pub(super) struct Keepsake {
    folder: PathBuf,
    data: PathBuf,
    copy: PathBuf,
    note: PathBuf,
}

impl Keepsake {
    pub(super) fn of(home: &Path, name: &str) -> Self {
        let folder = home.join("sandboxes").join(name);
        Self {
            data: folder.join("data"),
            copy: folder.join("snapshot"),
            note: folder.join("snapshot.study"),
            folder,
        }
    }

    /// Whether it is this study that has to give data back.
    pub(super) fn is_of(&self, study: &str) -> Result<bool, StudyError> {
        Ok(self.owner()?.as_deref() == Some(study))
    }

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
            Some(owner) => {
                let study = owner.split(' ').next().unwrap_or_default().to_owned();
                return Err(StudyError::WrittenBy { study, folder: self.folder.clone() });
            }
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

/// The study that changed the data of a named sandbox and has not given them back, and the note that says so.
pub fn unrestored(home: &Path, name: &str) -> Result<Option<(String, PathBuf)>, StudyError> {
    let keepsake = Keepsake::of(home, name);
    let owner = keepsake.owner()?;
    Ok(owner.map(|owner| (owner.split(' ').next().unwrap_or_default().to_owned(), keepsake.note)))
}

/// Whether profiles keep a copy of the data of a sandbox, to which they bring them back.
pub fn is_restored(home: &Path, name: &str) -> bool {
    Keepsake::of(home, name).copy.exists()
}

/// Brings a named sandbox to where a study can go on that was killed: with the data that its write runs changed
/// given back, and running. The study is named by its [identity](crate::store::format::PlanFile::identity).
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::tests::plan;
    use crate::store::format::PlanFile;

    #[test]
    fn a_new_study_with_the_name_of_a_deleted_one_does_not_take_its_copy_for_its_own() {
        let home = tempfile::tempdir().unwrap();
        let keepsake = Keepsake::of(home.path(), "a");
        fs::create_dir_all(&keepsake.data).unwrap();
        let rows = keepsake.data.join("rows");
        fs::write(&rows, "1").unwrap();
        let deleted = plan("before");
        keepsake.take(&deleted.identity(), &mut drop).unwrap();
        fs::write(&rows, "1, and one of the user's").unwrap();

        let again = PlanFile { created_unix_s: deleted.created_unix_s + 60, ..deleted.clone() };
        assert!(!keepsake.is_of(&again.identity()).unwrap());
        let refused = keepsake.take(&again.identity(), &mut drop).unwrap_err();
        assert!(refused.to_string().contains("changed by study before,"), "{refused}");
        assert!(keepsake.is_of(&deleted.identity()).unwrap(), "whoever goes on with it finds its copy");

        // Both ways of the hint that need no folder of the old study.
        let hint = refused.hint().unwrap_or_default().into_owned();
        let folder = keepsake.folder.display().to_string();
        for part in [&folder, "If it was deleted", "snapshot.study", "evenkeel sandbox down a"] {
            assert!(hint.contains(part), "{part}: {hint}");
        }
        fs::remove_file(&keepsake.note).unwrap();
        keepsake.take(&again.identity(), &mut drop).unwrap();
        keepsake.give_back(&mut drop).unwrap();
        assert_eq!(fs::read_to_string(&rows).unwrap(), "1, and one of the user's");
    }
}
