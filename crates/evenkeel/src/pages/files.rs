//! Which files are meant by a name on the command line, and how their indexes are called.

use super::found::{is_named, is_of_full_text, label};
use crate::failure::WithHint;
use anyhow::{Result, anyhow};
use evenkeel_sense::pages::{Names, holder};
use std::fs;
use std::path::{Path, PathBuf};

/// The tablespace that tables without a file of their own share, and that names all indexes.
const SHARED: &str = "ibdata1";

/// Files to read, and the names of what is in them.
#[derive(Debug)]
pub struct Files {
    /// Files in the order in which they are read.
    pub paths: Vec<PathBuf>,
    /// Names of indexes, as far as the server's dictionary is there.
    pub names: Names,
}

/// One file of a stopped server.
pub fn of_file(path: &Path) -> Result<Files> {
    let shared = shared_of(path);
    refuse_held(shared.as_deref().unwrap_or(path), path)?;
    refuse_held(path, path)?;
    // A dictionary that cannot be read costs names, no figures.
    let names = shared.and_then(|shared| Names::read(&shared).ok()).unwrap_or_default();
    Ok(Files { paths: vec![path.to_owned()], names })
}

pub fn of_directory(directory: &Path, table: Option<&str>) -> Result<Files> {
    let shared = directory.join(SHARED);
    if !shared.is_file() {
        return Err(anyhow!("{} is not a data directory: it has no {SHARED}", directory.display()))
            .hint("name an .ibd file, the ibdata1 of a stopped server, or a data directory");
    }
    refuse_held(&shared, directory)?;
    let mut paths = vec![shared.clone()];
    for database in entries(directory)?.into_iter().filter(|path| path.is_dir()) {
        let is_table = |path: &PathBuf| {
            path.is_file()
                && path.extension().is_some_and(|end| end == "ibd")
                && !is_of_full_text(&label(path))
        };
        paths.extend(entries(&database)?.into_iter().filter(is_table));
    }
    if let Some(table) = table {
        let own: Vec<PathBuf> = paths.iter().filter(|path| is_named(&label(path), table)).cloned().collect();
        // A table without a file of its own is in the shared one.
        paths = if own.is_empty() { vec![shared.clone()] } else { own };
    }
    Ok(Files { paths, names: Names::read(&shared).unwrap_or_default() })
}

/// The shared tablespace of the server to which this file belongs.
fn shared_of(path: &Path) -> Option<PathBuf> {
    if path.file_name().is_some_and(|name| name == SHARED) {
        return Some(path.to_owned());
    }
    let path = fs::canonicalize(path).ok()?;
    path.ancestors().skip(1).take(2).map(|folder| folder.join(SHARED)).find(|shared| shared.is_file())
}

/// Refuses files that a server has open: what it has in memory is not in them.
fn refuse_held(shared: &Path, path: &Path) -> Result<()> {
    match holder(shared) {
        None => Ok(()),
        Some(pid) => Err(anyhow!("a server (process {pid}) has {} open", path.display())).hint(
            "stop it; a sandbox that runs is read as sandbox:NAME; `evenkeel relayout URL --dry-run` shows how the tables of a running server lie",
        ),
    }
}

fn entries(directory: &Path) -> Result<Vec<PathBuf>> {
    let failed = |error| anyhow::Error::from(error).context(format!("reading {}", directory.display()));
    let mut paths = Vec::new();
    for entry in fs::read_dir(directory).map_err(failed)? {
        paths.push(entry.map_err(failed)?.path());
    }
    paths.sort();
    Ok(paths)
}
