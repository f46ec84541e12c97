//! A folder under a hidden name until all of an export is in it.

use crate::{HaulError, refused};
use std::fs::{self, File};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// Removed when it is dropped before [`Folder::finish`].
pub(super) struct Folder {
    pub hidden: PathBuf,
    into: PathBuf,
    is_done: bool,
    /// Two exports at once would write the same files.
    _lock: File,
}

impl Folder {
    /// Makes the folder, without what a killed export left in it.
    pub fn make(into: &Path) -> Result<Self, HaulError> {
        let taken = || {
            let what =
                format!("{} exists already and is not an empty folder; nothing was written", into.display());
            refused(what, "name a new folder")
        };
        if into.exists() && !into.read_dir().is_ok_and(|mut entries| entries.next().is_none()) {
            return Err(taken().into());
        }
        let name = into.file_name().ok_or_else(taken)?.to_string_lossy();
        let hidden = into.with_file_name(format!(".{name}.evenkeel-part"));
        fs::create_dir_all(&hidden).map_err(HaulError::io("create", &hidden))?;
        let lock = File::open(&hidden).map_err(HaulError::io("read", &hidden))?;
        if !evenkeel_os::try_lock(lock.as_fd()).map_err(HaulError::io("lock", &hidden))? {
            return Err(HaulError::InUse(into.to_owned()));
        }
        for entry in hidden.read_dir().map_err(HaulError::io("read", &hidden))? {
            let path = entry.map_err(HaulError::io("read", &hidden))?.path();
            fs::remove_file(&path).map_err(HaulError::io("remove", &path))?;
        }
        Ok(Self { hidden, into: into.to_owned(), is_done: false, _lock: lock })
    }

    /// Gives it its name, once all of it is on disk.
    pub fn finish(mut self) -> Result<(), HaulError> {
        let parent = self.into.parent().filter(|parent| !parent.as_os_str().is_empty());
        let named = || {
            File::open(&self.hidden)?.sync_all()?;
            fs::rename(&self.hidden, &self.into)?;
            File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
        };
        named().map_err(HaulError::io("write", &self.into))?;
        self.is_done = true;
        Ok(())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.is_done {
            // What ended the export is what has to be said.
            let _ = fs::remove_dir_all(&self.hidden);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_its_name_once_it_is_whole_and_takes_nobodys_place() {
        let home = tempfile::tempdir().unwrap();
        let into = home.path().join("out");
        let left = home.path().join(".out.evenkeel-part");
        fs::create_dir(&left).unwrap();
        fs::write(left.join("of a killed one"), "").unwrap();
        let folder = Folder::make(&into).unwrap();
        assert!(matches!(Folder::make(&into), Err(HaulError::InUse(_))));
        fs::write(folder.hidden.join("a.csv"), "1").unwrap();
        drop(folder);
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0, "what failed is gone");
        let folder = Folder::make(&into).unwrap();
        fs::write(folder.hidden.join("a.csv"), "1").unwrap();
        folder.finish().unwrap();
        assert_eq!(fs::read(into.join("a.csv")).unwrap(), b"1");
        assert!(matches!(Folder::make(&into), Err(HaulError::Refused(_))));
    }
}
