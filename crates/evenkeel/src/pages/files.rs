//! Which files are meant by a name on the command line, and how their indexes are called.

use super::found::{is_named, is_of_full_text, label};
use crate::failure::WithHint;
use anyhow::{Result, anyhow};
use evenkeel_sense::pages::{Names, holder, started};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

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

/// One file: of a stopped server, or of a table that is held by FLUSH TABLES ... FOR EXPORT.
pub fn of_file(path: &Path) -> Result<Files> {
    let shared = shared_of(path);
    // A server makes the tablespace of its temporary tables anew when it starts. A file in a folder of its own (DATA DIRECTORY) has
    // no shared tablespace beside it, and whoever has it open says when it started.
    let is_held = match (&shared, holder(path)) {
        (Some(shared), _) => {
            let made = fs::metadata(shared.with_file_name("ibtmp1")).and_then(|found| found.created());
            is_held(path, made.ok())
        }
        (None, Some(pid)) => started(pid).is_some_and(|since| is_held(path, Some(since))),
        (None, None) => true,
    };
    if !is_held {
        refuse_held(shared.as_deref().unwrap_or(path), path)?;
        refuse_held(path, path)?;
    }
    // A dictionary that cannot be read costs names, no figures.
    let names = shared.and_then(|shared| Names::read(&shared).ok()).unwrap_or_default();
    Ok(Files { paths: vec![path.to_owned()], names })
}

/// Whether a server that runs since then holds a table still: it has written a description beside its file. One that is older than the server
/// was left by an earlier one that died, and says nothing.
fn is_held(path: &Path, since: Option<SystemTime>) -> bool {
    let described = fs::metadata(path.with_extension("cfg")).and_then(|found| found.modified());
    described.is_ok_and(|described| since.is_none_or(|since| described >= since))
}

pub fn of_directory(directory: &Path, table: Option<&str>) -> Result<Files> {
    let shared = directory.join(SHARED);
    if !shared.is_file() {
        return Err(anyhow!("{} is not a data directory: it has no {SHARED}", directory.display()))
            .hint("name an .ibd file, the ibdata1 of a stopped server, or a data directory");
    }
    refuse_held(&shared, directory)?;
    let mut paths = vec![shared.clone()];
    for database in folders(directory)? {
        let is_table = |path: &PathBuf| {
            path.extension().is_some_and(|end| end == "ibd") && !is_of_full_text(&label(path))
        };
        paths.extend(files(&database)?.into_iter().filter(is_table));
    }
    if let Some(table) = table {
        let own: Vec<PathBuf> = paths.iter().filter(|path| is_of(path, table)).cloned().collect();
        // A table without a file of its own is in the shared one.
        paths = if own.is_empty() { vec![shared.clone()] } else { own };
    }
    Ok(Files { paths, names: Names::read(&shared).unwrap_or_default() })
}

/// Whether a file is that of a table, which is named with its database or without, `shop.item` or `item`.
fn is_of(path: &Path, table: &str) -> bool {
    is_named(&label(path), table)
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
            "stop it; or hold a table by FLUSH TABLES name FOR EXPORT while its .ibd file is read; a sandbox that runs is read as sandbox:NAME",
        ),
    }
}

fn folders(directory: &Path) -> Result<Vec<PathBuf>> {
    Ok(entries(directory)?.into_iter().filter(|path| path.is_dir()).collect())
}

fn files(directory: &Path) -> Result<Vec<PathBuf>> {
    Ok(entries(directory)?.into_iter().filter(|path| path.is_file()).collect())
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
