//! Folders for what only runs need: journals, images, mounts.

use super::workplace::Workplace;
use super::{Result, While};
use std::fs;
use std::path::{Path, PathBuf};

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
