//! Which files of a folder are whole.

use crate::HaulError;
use crate::input::Identity;
use evenkeel_core::Nanos;
use std::collections::BTreeMap;
use std::ffi::OsStr;
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

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
}
