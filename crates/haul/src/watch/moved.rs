//! A file that is done leaves the folder, and never another one that took its name meanwhile.

use crate::input::Identity;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Names that are tried where others have them already.
const NAMES: u32 = 10_000;

/// What became of a file that was to be moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Moved {
    To(PathBuf),
    /// It is no longer the file that was worked on, and is where it was.
    Changed,
}

/// Moves a file into a folder of the same file system, by a name that nobody has there, if it still is the one of this identity.
pub fn move_to(path: &Path, folder: &Path, identity: Identity) -> io::Result<Moved> {
    match Identity::of(path) {
        None => return Err(io::ErrorKind::NotFound.into()),
        Some(found) if found != identity => return Ok(Moved::Changed),
        Some(_) => {}
    }
    fs::create_dir_all(folder)?;
    let to = to_free_name(path, folder)?;
    // Between the look and the move somebody may have written to it, or have put another one there.
    match Identity::of(&to) {
        Some(found) if found != identity => put_back(&to, path),
        _ => Ok(Moved::To(to)),
    }
}

fn to_free_name(path: &Path, folder: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().unwrap_or_default();
    for number in 0..NAMES {
        let mut other = name.to_owned();
        if number > 0 {
            other.push(format!(".{number}"));
        }
        let to = folder.join(other);
        match rename(path, &to) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            outcome => return outcome.map(|()| to),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Another file took the name at that very moment and was moved in its stead.
fn put_back(to: &Path, path: &Path) -> io::Result<Moved> {
    let why = format!("{} is another file that took its name meanwhile, and is not loaded", to.display());
    rename(to, path).map(|()| Moved::Changed).map_err(|_| io::Error::other(why))
}

fn rename(path: &Path, to: &Path) -> io::Result<()> {
    match evenkeel_os::file::rename_new(path, to) {
        // The file system, or the kernel, cannot rename without replacing.
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => {
            match to.symlink_metadata() {
                Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
                Err(_) => fs::rename(path, to),
            }
        }
        outcome => outcome,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn text(path: &Path) -> String {
        fs::read_to_string(path).unwrap()
    }

    #[test]
    fn a_file_that_is_moved_replaces_none() {
        let home = tempfile::tempdir().unwrap();
        let (path, to) = (home.path().join("a"), home.path().join("there"));
        for (number, name) in ["a", "a.1", "a.2"].into_iter().enumerate() {
            fs::write(&path, number.to_string()).unwrap();
            let moved = move_to(&path, &to, Identity::of(&path).unwrap()).unwrap();
            assert_eq!(moved, Moved::To(to.join(name)));
            assert_eq!(text(&to.join(name)), number.to_string());
        }
        assert!(!path.exists());
    }

    #[test]
    fn a_file_that_grew_or_is_another_one_by_now_stays_where_it_is() {
        let home = tempfile::tempdir().unwrap();
        let (path, to) = (home.path().join("a"), home.path().join("there"));
        fs::write(&path, "1").unwrap();
        let first = Identity::of(&path).unwrap();
        fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"2").unwrap();
        assert_eq!(move_to(&path, &to, first).unwrap(), Moved::Changed);
        let grown = Identity::of(&path).unwrap();
        fs::write(home.path().join("b"), "34").unwrap();
        fs::rename(home.path().join("b"), &path).unwrap();
        assert_eq!(move_to(&path, &to, grown).unwrap(), Moved::Changed);
        assert_eq!(text(&path), "34");
        assert!(!to.exists());
        fs::remove_file(&path).unwrap();
        assert_eq!(move_to(&path, &to, grown).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn what_was_moved_by_mistake_goes_back_unless_its_name_was_taken_again() {
        let home = tempfile::tempdir().unwrap();
        let (path, to) = (home.path().join("a"), home.path().join("there"));
        fs::write(&to, "1").unwrap();
        assert_eq!(put_back(&to, &path).unwrap(), Moved::Changed);
        assert_eq!(text(&path), "1");
        fs::write(&to, "2").unwrap();
        assert!(put_back(&to, &path).unwrap_err().to_string().contains("took its name meanwhile"));
        assert_eq!((text(&path), text(&to)), ("1".into(), "2".into()));
    }
}
