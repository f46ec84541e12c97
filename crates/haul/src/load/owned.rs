//! Whose a file of rejects is. Beside it lies a hidden file that names server, database and tables, and whose lock a load has as long
//! as it writes: another load would take its rejects for those of bytes that are not in, and take them out.

use super::LoadError;
use crate::HaulError;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// So often the hidden file is opened anew that another load has removed meanwhile.
const ATTEMPTS: u32 = 10;
/// Bytes of the hidden file that are read: far more than names of a server and of tables have.
const LONGEST: u64 = 64 << 10;

/// The right to write a file of rejects, until this is dropped.
pub(super) struct Owned {
    rejects: PathBuf,
    /// The hidden file beside it, whose lock we have.
    mark: File,
    path: PathBuf,
    /// Whether the rejects in it are known to be those of the same tables.
    pub is_known: bool,
}

impl Owned {
    /// Takes the right for loads of this owner, where nobody else writes and no other owner's rejects are in the file.
    pub fn take(rejects: &Path, owner: &str) -> Result<Self, HaulError> {
        let path = beside(rejects, "of");
        let mut mark = locked(&path, rejects)?;
        let failed = || HaulError::io("write", &path);
        let mut before = String::new();
        (&mark).take(LONGEST).read_to_string(&mut before).map_err(failed())?;
        let before = before.trim_end_matches('\n');
        if is_empty(rejects) && before != owner {
            let written = mark.set_len(0).and_then(|()| io::Seek::rewind(&mut mark));
            written
                .and_then(|()| writeln!(mark, "{owner}"))
                .and_then(|()| mark.sync_all())
                .map_err(failed())?;
        } else if !before.is_empty() && before != owner {
            let (path, owner) = (rejects.to_owned(), before.to_owned());
            return Err(LoadError::OthersRejects { path, owner: Some(owner) }.into());
        }
        let is_known = is_empty(rejects) || before == owner;
        Ok(Self { rejects: rejects.to_owned(), mark, path, is_known })
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // Without a reject there is nothing to be told apart. The lock on the file that is removed goes with its last descriptor.
        if is_empty(&self.rejects) {
            let _ = fs::remove_file(&self.path);
        }
        evenkeel_os::unlock(self.mark.as_fd());
    }
}

/// A hidden name beside the file of rejects.
pub(super) fn beside(rejects: &Path, ending: &str) -> PathBuf {
    let name = rejects.file_name().unwrap_or_default().to_string_lossy();
    rejects.with_file_name(format!(".{name}.{ending}"))
}

fn is_empty(rejects: &Path) -> bool {
    rejects.metadata().map_or(true, |found| found.len() == 0)
}

/// Opens the hidden file and locks it. Who had it before may have removed it between the two.
fn locked(path: &Path, rejects: &Path) -> Result<File, HaulError> {
    let failed = || HaulError::io("write", path);
    for _ in 0..ATTEMPTS {
        let file = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(path);
        let file = file.map_err(failed())?;
        if !evenkeel_os::try_lock(file.as_fd()).map_err(failed())? {
            break;
        }
        let ours = file.metadata().map_err(failed())?.ino();
        if path.metadata().is_ok_and(|found| found.ino() == ours) {
            return Ok(file);
        }
    }
    Err(HaulError::InUse(rejects.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_rejects_has_one_writer_at_a_time_and_one_owner_as_long_as_it_has_rejects() {
        let home = tempfile::tempdir().unwrap();
        let rejects = home.path().join("calls.rejects");
        let first = Owned::take(&rejects, "calls of a").unwrap();
        assert!(matches!(Owned::take(&rejects, "calls of a"), Err(HaulError::InUse(_))));
        fs::write(&rejects, "x\t0\twhy\trecord\n").unwrap();
        drop(first);
        let Err(HaulError::Load(error)) = Owned::take(&rejects, "calls of b") else { panic!("taken") };
        assert!(error.to_string().contains("calls of a"), "{error}");
        assert!(Owned::take(&rejects, "calls of a").unwrap().is_known);
        fs::write(&rejects, "").unwrap();
        drop(Owned::take(&rejects, "calls of b").unwrap());
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1, "an owner of nothing is forgotten");
        fs::write(&rejects, "x\t0\twhy\trecord\n").unwrap();
        assert!(!Owned::take(&rejects, "calls of b").unwrap().is_known, "nobody knows whose they are");
    }
}
