//! Files that appear in a folder go through the whole chain: load, dispatch, retire.
//!
//! [`Folder`] says which files are whole, [`Chain`] does one step with one of them, and [`WatchError::trouble`] says what an error means
//! for who goes on: whether the file is bad, the server away, or somebody else at work. What is done is known by the manifest of
//! [`crate::load`] and the journal of [`crate::dispatch`], so that nothing is remembered here from one start to the next.

mod chain;

use super::HaulError;
use super::input::Identity;
pub use chain::{Chain, Trouble, Turn, WatchError};
use evenkeel_core::Nanos;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Endings of names that writers give to what is not finished.
const UNFINISHED: [&str; 2] = [".part", ".tmp"];

pub struct Folder {
    path: PathBuf,
    pattern: glob::Pattern,
    settle: Nanos,
    seen: BTreeMap<PathBuf, Seen>,
}

struct Seen {
    identity: Identity,
    first: Nanos,
    since: Nanos,
    /// Whether it is done, or was refused, as it is.
    is_over: bool,
}

impl Folder {
    /// Files whose names fit `pattern`, and that have not changed for `settle`.
    pub fn new(path: &Path, pattern: &str, settle: Nanos) -> Result<Self, HaulError> {
        let wrong =
            |error: glob::PatternError| HaulError::Pattern { pattern: pattern.to_owned(), reason: error.msg };
        let pattern = glob::Pattern::new(pattern).map_err(wrong)?;
        let full = path.canonicalize().map_err(HaulError::io("read", path))?;
        full.read_dir().map_err(HaulError::io("read", path))?;
        Ok(Self { path: full, pattern, settle, seen: BTreeMap::new() })
    }

    /// Files that are whole and not over, in the order of their names.
    pub fn look(&mut self, now: Nanos) -> Result<Vec<PathBuf>, HaulError> {
        let mut found = BTreeMap::new();
        for entry in self.path.read_dir().map_err(HaulError::io("read", &self.path))? {
            let entry = entry.map_err(HaulError::io("read", &self.path))?;
            let path = entry.path();
            if self.is_meant(&entry.file_name())
                && path.is_file()
                && let Some(identity) = Identity::of(&path)
            {
                let seen = self.seen.remove(&path);
                found.insert(path, again(seen, identity, now));
            }
        }
        self.seen = found;
        let is_whole = |seen: &Seen| !seen.is_over && now - seen.since >= self.settle;
        Ok(self.seen.iter().filter(|(_, seen)| is_whole(seen)).map(|(path, _)| path.clone()).collect())
    }

    fn is_meant(&self, name: &OsStr) -> bool {
        // A name that is no UTF-8 is one too: its records would be missed by nobody.
        let name = &*name.to_string_lossy();
        let is_finished = !name.starts_with('.') && !UNFINISHED.iter().any(|ending| name.ends_with(ending));
        is_finished && self.pattern.matches(name)
    }

    /// Whether a file is still as it was when it was looked at.
    pub fn is_unchanged(&self, path: &Path) -> bool {
        self.seen.get(path).is_some_and(|seen| Identity::of(path) == Some(seen.identity))
    }

    /// A file is done, or refused: it is left alone until it is another one.
    pub fn over(&mut self, path: &Path) {
        if let Some(seen) = self.seen.get_mut(path) {
            seen.is_over = true;
        }
    }

    /// A file that was not whole after all has to settle again.
    pub fn settle_again(&mut self, path: &Path, now: Nanos) {
        if let Some(seen) = self.seen.get_mut(path) {
            seen.since = now;
        }
    }

    /// How many files wait, whole or not, and since when the one that was seen first.
    pub fn waiting(&self) -> (usize, Option<Nanos>) {
        let waiting = || self.seen.values().filter(|seen| !seen.is_over);
        (waiting().count(), waiting().map(|seen| seen.first).min())
    }
}

fn again(before: Option<Seen>, identity: Identity, now: Nanos) -> Seen {
    match before {
        Some(seen) if seen.identity == identity => seen,
        Some(seen) if !seen.is_over => Seen { identity, since: now, ..seen },
        _ => Seen { identity, first: now, since: now, is_over: false },
    }
}

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

    fn names(found: &[PathBuf]) -> Vec<String> {
        found.iter().map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn a_file_is_whole_once_it_has_not_changed_for_a_while_and_again_once_it_is_another_one() {
        let home = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(home.path().join(name), text).unwrap();
        for name in ["b.cdr", "a.cdr", ".c.cdr", "d.cdr.part", "e.cdr.tmp", "f.txt"] {
            write(name, "1");
        }
        fs::create_dir(home.path().join("g.cdr")).unwrap();
        let at = Nanos::from_secs;
        assert!(matches!(Folder::new(home.path(), "a[", at(5)), Err(HaulError::Pattern { .. })));
        let mut folder = Folder::new(home.path(), "*.cdr*", at(5)).unwrap();
        assert!(folder.look(at(0)).unwrap().is_empty());
        assert!(folder.look(at(4)).unwrap().is_empty());
        write("b.cdr", "12");
        assert_eq!(names(&folder.look(at(5)).unwrap()), ["a.cdr"]);
        assert_eq!(folder.waiting(), (2, Some(at(0))));
        let found = folder.look(at(10)).unwrap();
        assert_eq!(names(&found), ["a.cdr", "b.cdr"]);
        folder.over(&found[0]);
        folder.settle_again(&found[1], at(10));
        assert!(folder.look(at(11)).unwrap().is_empty());
        assert_eq!(names(&folder.look(at(15)).unwrap()), ["b.cdr"]);
        write("a.cdr", "123");
        assert!(!folder.is_unchanged(&found[0]) && folder.is_unchanged(&found[1]));
        folder.over(&found[1]);
        folder.look(at(16)).unwrap();
        assert_eq!(names(&folder.look(at(21)).unwrap()), ["a.cdr"]);
        assert_eq!(folder.waiting(), (1, Some(at(16))));
    }

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
