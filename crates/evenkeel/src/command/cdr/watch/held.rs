//! What an audit found stands in a file, and while that is there nothing of the table is dispatched.
//!
//! Rows that are not as their file says are in one table, beside the rows of that file alone; once they are in the tables of their
//! days they are hard to tell. A file is seen by whoever looks after the folder, is seen by each watch, and lasts over restarts.

use super::super::audit;
use evenkeel_haul::HaulError;
use evenkeel_haul::audit::Report;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// What the names of such files end with.
const ENDING: &str = ".audit";

/// Writes what was found of a file to `FILE.audit` in the folder of rejects; its path.
pub fn note(rejects: &Path, path: &Path, report: &Report) -> Result<PathBuf, HaulError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let (note, hidden) = (rejects.join(format!("{name}{ENDING}")), rejects.join(format!(".{name}.part")));
    let text = format!("{}\n{}", path.display(), audit::findings(report));
    let written = || -> io::Result<()> {
        let mut file = File::create(&hidden)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&hidden, &note)
    };
    written().map_err(HaulError::io("write", &note))?;
    Ok(note)
}

/// The first of such files.
pub fn find(rejects: &Path) -> Result<Option<PathBuf>, HaulError> {
    let mut found: Vec<PathBuf> = Vec::new();
    let entries = match rejects.read_dir() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        entries => entries.map_err(HaulError::io("read", rejects))?,
    };
    for entry in entries {
        let path = entry.map_err(HaulError::io("read", rejects))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with(ENDING) && !name.starts_with('.') {
            found.push(path);
        }
    }
    Ok(found.into_iter().min())
}

/// Why nothing is dispatched, and how to go on.
pub fn why(note: &Path) -> String {
    format!(
        "{} lists what an audit found: check it, repair the table, and remove that file to go on",
        note.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_note_is_found_and_nothing_else_is_one() {
        let home = tempfile::tempdir().unwrap();
        for name in ["a.cdr.rejects", ".b.cdr.audit", "audit"] {
            fs::write(home.path().join(name), "").unwrap();
        }
        assert_eq!(find(home.path()).unwrap(), None);
        for name in ["d.cdr.audit", "c.cdr.audit"] {
            fs::write(home.path().join(name), "").unwrap();
        }
        assert_eq!(find(home.path()).unwrap(), Some(home.path().join("c.cdr.audit")));
        assert_eq!(find(&home.path().join("none")).unwrap(), None);
    }
}
