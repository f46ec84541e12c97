//! Study folders: made, opened, locked, read and added to.

mod deletion;

use super::attempts;
use super::error::StoreError;
use super::format::{FORMAT, Head, ManifestFile, PlanFile, RunFile};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub struct StudyFolder {
    path: PathBuf,
    /// Held while measuring; the kernel releases it however the process ends.
    _lock: Option<File>,
}

impl StudyFolder {
    /// Makes a folder of this name for a new study with this plan, and locks it.
    pub fn create_for(root: &Path, id: &str, plan: &impl Serialize) -> Result<Self, StoreError> {
        Self::create_with(root, id, plan, &[])
    }

    /// The same with copies of the user's files by name, which are durable before the plan: without them a study cannot go on.
    pub fn create_with(
        root: &Path,
        id: &str,
        plan: &impl Serialize,
        files: &[(String, Vec<u8>)],
    ) -> Result<Self, StoreError> {
        let folder = Self::made(root, id)?;
        let fill = || {
            for (name, bytes) in files {
                let path = folder.path.join(name);
                evenkeel_os::replace(&path, bytes).map_err(StoreError::io("write", &path))?;
            }
            sync(&folder.path)?;
            folder.write("plan.json", plan)?;
            sync(root)
        };
        // Without its plan nobody could go on with it.
        fill().inspect_err(|_| drop(fs::remove_dir_all(&folder.path)))?;
        Ok(folder)
    }

    /// A folder of this name that is locked and has no plan yet.
    fn made(root: &Path, id: &str) -> Result<Self, StoreError> {
        let path = root.join(id);
        fs::create_dir_all(root).map_err(StoreError::io("make", root))?;
        // Closed to others: a plan holds command lines, and a reset command may say more than it should.
        match fs::DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(StoreError::Exists(path));
            }
            result => result.map_err(StoreError::io("make", &path))?,
        }
        let folder = Self { _lock: Some(lock(&path)?), path };
        fs::create_dir(folder.runs_dir()).map_err(StoreError::io("make", &folder.runs_dir()))?;
        Ok(folder)
    }

    /// Opens a folder to go on measuring: locks it and clears away what a killed run left half-written.
    pub fn resume(path: &Path) -> Result<Self, StoreError> {
        let folder = Self { _lock: Some(lock(path)?), path: path.to_owned() };
        folder.head()?;
        for entry in read_dir(&folder.runs_dir())? {
            if entry.extension().is_some_and(|extension| extension == "part") {
                fs::remove_dir_all(&entry).map_err(StoreError::io("remove", &entry))?;
            }
        }
        for entry in read_dir(path)?.into_iter().filter(|entry| file_name(entry).ends_with(BESIDE)) {
            fs::remove_file(&entry).map_err(StoreError::io("remove", &entry))?;
        }
        Ok(folder)
    }

    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let folder = Self { path: path.to_owned(), _lock: None };
        folder.head()?;
        Ok(folder)
    }

    /// Whether some process measures it.
    pub fn is_measured(&self) -> bool {
        self.path.join("lock").exists() && matches!(lock(&self.path), Err(StoreError::Locked(_)))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn runs_dir(&self) -> PathBuf {
        self.path.join("runs")
    }

    /// Reads what all plans have: of which kind the study is.
    pub fn head(&self) -> Result<Head, StoreError> {
        self.read("plan.json")
    }

    /// Reads the `plan.json` of a profile.
    pub fn plan(&self) -> Result<PlanFile, StoreError> {
        let path = self.path.join("plan.json");
        let (head, text) = read_head(&path)?;
        match head.is_published() {
            true => Err(StoreError::Published { path: self.path.clone(), kind: head.kind }),
            false => parsed(&path, &text),
        }
    }

    /// Reads a file of the folder that has a format and is JSON.
    pub fn read<T: DeserializeOwned>(&self, name: &str) -> Result<T, StoreError> {
        read_json(&self.path.join(name))
    }

    /// Writes a file of the folder as JSON: a reader sees the old one or the new one, also after a power cut.
    pub fn write(&self, name: &str, value: &impl Serialize) -> Result<(), StoreError> {
        write_json(&self.path.join(name), value)
    }

    /// Reads `manifest.json`; an empty one where the study was killed before it was written.
    pub fn manifest(&self) -> Result<ManifestFile, StoreError> {
        let path = self.path.join("manifest.json");
        if path.exists() { read_json(&path) } else { Ok(ManifestFile::default()) }
    }

    /// Finished runs by order; of several attempts at one the least disturbed stands, with the others in its list.
    /// A run that cannot be read is an error that names it, not a gap.
    pub fn runs(&self) -> Result<Vec<RunFile>, StoreError> {
        let mut runs: Vec<RunFile> = Vec::new();
        for entry in self.finished()? {
            attempts::add(&mut runs, read_json(&entry.join("run.json"))?);
        }
        attempts::judge_lateness(&mut runs);
        Ok(runs)
    }

    /// Folders of finished runs, all attempts at them among these.
    pub(super) fn finished(&self) -> Result<Vec<PathBuf>, StoreError> {
        Ok(read_dir(&self.runs_dir())?.into_iter().filter(|entry| is_finished(entry)).collect())
    }

    /// Makes the unfinished folder of a run in progress, with this name, for what is written while it goes on.
    pub fn begin_run(&self, name: &str) -> Result<PathBuf, StoreError> {
        let part = part(&self.runs_dir().join(name));
        if part.exists() {
            fs::remove_dir_all(&part).map_err(StoreError::io("remove", &part))?;
        }
        fs::create_dir(&part).map_err(StoreError::io("make", &part))?;
        Ok(part)
    }

    /// Takes away what a run left that did not come to its end; what cannot be removed goes at the next resume.
    pub fn abandon_run(&self, name: &str) {
        let _ = fs::remove_dir_all(part(&self.runs_dir().join(name)));
    }

    /// Writes the files of a run that was begun beside, makes them durable, and gives them their name: a run that has its
    /// name is whole, also after a power cut.
    pub fn finish_run(
        &self,
        name: &str,
        run: &impl Serialize,
        others: impl FnOnce(&Path) -> Result<(), StoreError>,
    ) -> Result<PathBuf, StoreError> {
        let whole = self.runs_dir().join(name);
        let part = part(&whole);
        others(&part)?;
        replace_json(&part.join("run.json"), run)?;
        // Tables and the request log too, and their names.
        for file in read_dir(&part)? {
            sync(&file)?;
        }
        sync(&part)?;
        fs::rename(&part, &whole).map_err(StoreError::io("rename", &part))?;
        sync(&self.runs_dir())?;
        Ok(whole)
    }

    /// The finished runs by name, each with its folder; one that cannot be read is an error that names it, not a gap.
    pub fn runs_named<T: DeserializeOwned>(&self) -> Result<Vec<(PathBuf, T)>, StoreError> {
        let read = |entry: PathBuf| Ok((entry.clone(), read_json(&entry.join("run.json"))?));
        self.finished()?.into_iter().map(read).collect()
    }
}

pub fn run_name(cell: u32, repeat: u32) -> String {
    format!("c{cell:02}-r{repeat}")
}

/// The name of the folder of an attempt at the run of this name, from 1.
pub fn attempt_name(run: &str, attempt: u32) -> String {
    if attempt > 1 { format!("{run}{ATTEMPT}{attempt}") } else { run.to_owned() }
}

/// Between the name of a run and the number of an attempt after the first.
const ATTEMPT: &str = ".attempt-";

/// The folder of a run while it is being written.
fn part(whole: &Path) -> PathBuf {
    let mut name = whole.as_os_str().to_owned();
    name.push(".part");
    PathBuf::from(name)
}

/// What has another ending was moved away by somebody, or is unfinished; the name of a level may have a point too.
fn is_finished(entry: &Path) -> bool {
    let name = file_name(entry);
    let (_, repeat) = name.rsplit_once("-r").unwrap_or_default();
    let is_run = !repeat.is_empty() && repeat.bytes().all(|letter| letter.is_ascii_digit());
    is_run || entry.extension().is_none_or(|extension| extension.to_string_lossy().starts_with(&ATTEMPT[1..]))
}

#[derive(Debug)]
pub struct Listed {
    pub name: String,
    /// The open folder, or why it cannot be read.
    pub folder: Result<StudyFolder, StoreError>,
}

fn is_study(path: &Path) -> bool {
    path.join("plan.json").exists() || path.join("runs").is_dir()
}

/// All study folders under a root, oldest first, also those whose plan is damaged or lost.
pub fn list(root: &Path) -> Result<Vec<Listed>, StoreError> {
    if !root.exists() {
        return Ok(Vec::new());
    }
    let mut studies: Vec<PathBuf> = read_dir(root)?.into_iter().filter(|path| is_study(path)).collect();
    studies.sort_by_cached_key(|path| created(path));
    Ok(studies
        .into_iter()
        .map(|path| Listed { name: file_name(&path), folder: StudyFolder::open(&path) })
        .collect())
}

/// When a study began, by its plan; of a plan that cannot be read, when it was written.
fn created(study: &Path) -> u64 {
    let plan = study.join("plan.json");
    let written = || {
        let modified = fs::metadata(&plan).and_then(|plan| plan.modified()).ok()?;
        Some(modified.duration_since(std::time::UNIX_EPOCH).ok()?.as_secs())
    };
    let told = read_head(&plan).ok().map(|(head, _)| head.created_unix_s).filter(|at| *at > 0);
    told.or_else(written).unwrap_or_default()
}

/// Whether a study has a finished run. What has no folder for runs is older than these, and has its results elsewhere.
fn is_measured(study: &Path) -> bool {
    let runs = study.join("runs");
    !runs.is_dir() || read_dir(&runs).is_ok_and(|runs| runs.iter().any(|run| is_finished(run)))
}

/// Finds a study by path, by name, by the start of its name, or by `last`: the newest that has a result, else the newest.
pub fn resolve(root: &Path, name: &str) -> Result<PathBuf, StoreError> {
    find(root, name, is_measured)
}

/// The same to go on with it: `last` is the newest, whether it has a result or not.
pub fn resolve_begun(root: &Path, name: &str) -> Result<PathBuf, StoreError> {
    find(root, name, |_| true)
}

fn find(root: &Path, name: &str, may_be_last: fn(&Path) -> bool) -> Result<PathBuf, StoreError> {
    let path = Path::new(name);
    if path.join("plan.json").exists() {
        return Ok(path.to_owned());
    }
    let unknown = || StoreError::Unknown { name: name.to_owned(), root: root.to_owned() };
    let all: Vec<PathBuf> = if root.exists() { read_dir(root)? } else { Vec::new() };
    let with_plan = || all.iter().filter(|path| path.join("plan.json").exists());
    if name == "last" {
        return with_plan()
            .max_by_key(|path| (may_be_last(path), created(path)))
            .cloned()
            .ok_or_else(unknown);
    }
    if let Some(exact) = with_plan().find(|path| file_name(path) == name) {
        return Ok(exact.clone());
    }
    let fits: Vec<&PathBuf> = with_plan().filter(|path| file_name(path).starts_with(name)).collect();
    match fits.as_slice() {
        [] => Err(unknown()),
        [one] => Ok((*one).clone()),
        many => {
            let fits = many.iter().map(|path| file_name(path)).collect::<Vec<_>>().join(", ");
            Err(StoreError::Ambiguous { name: name.to_owned(), fits })
        }
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn read_dir(path: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let entries = fs::read_dir(path).map_err(StoreError::io("list", path))?;
    let mut paths = Vec::new();
    for entry in entries {
        paths.push(entry.map_err(StoreError::io("list", path))?.path());
    }
    paths.sort();
    Ok(paths)
}

fn lock(path: &Path) -> Result<File, StoreError> {
    let file = path.join("lock");
    let handle = evenkeel_os::open_own(&file).map_err(StoreError::io("open", &file))?;
    if evenkeel_os::exclusive(&handle) { Ok(handle) } else { Err(StoreError::Locked(path.to_owned())) }
}

const FILE_BYTES_MAX: u64 = 256 << 20;

/// Reads a file of a study; a pipe of its name, say, is refused and not waited for.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, StoreError> {
    evenkeel_os::read_whole(path, FILE_BYTES_MAX).map_err(StoreError::io("read", path))
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, StoreError> {
    parsed(path, &read_head(path)?.1)
}

/// The text of a file, and what all files have; one of a later version is refused.
fn read_head(path: &Path) -> Result<(Head, Vec<u8>), StoreError> {
    let text = read(path)?;
    let head: Head = parsed(path, &text)?;
    match head.format > FORMAT {
        true => Err(StoreError::Newer { path: path.to_owned(), found: head.format }),
        false => Ok((head, text)),
    }
}

fn parsed<T: DeserializeOwned>(path: &Path, text: &[u8]) -> Result<T, StoreError> {
    serde_json::from_slice(text).map_err(damaged(path))
}

fn damaged(path: &Path) -> impl FnOnce(serde_json::Error) -> StoreError {
    move |source| StoreError::Damaged { path: path.to_owned(), source }
}

/// As [`replace_json`], and makes the name durable too.
fn write_json<T: Serialize>(path: &Path, value: &T) -> Result<(), StoreError> {
    replace_json(path, value)?;
    path.parent().map_or(Ok(()), sync)
}

/// How a file of JSON ends while it is being written.
const BESIDE: &str = ".json.new";

/// Writes beside, makes durable, renames: a reader sees the old file or the new one, also after a power cut.
fn replace_json<T: Serialize>(path: &Path, value: &T) -> Result<(), StoreError> {
    let mut text = serde_json::to_vec_pretty(value).map_err(damaged(path))?;
    text.push(b'\n');
    let beside = path.with_extension(&BESIDE[1..]);
    let write = || {
        let mut file = evenkeel_os::open_own(&beside)?;
        file.write_all(&text)?;
        // What a killed one left may have been longer.
        file.set_len(text.len() as u64)?;
        sync_open(&file, &beside)?;
        fs::rename(&beside, path)
    };
    let written = write();
    if written.is_err() {
        // What cannot be removed goes at the next resume.
        let _ = fs::remove_file(&beside);
    }
    written.map_err(StoreError::io("write", path))
}

/// Makes a file durable, or the names in a folder.
fn sync(path: &Path) -> Result<(), StoreError> {
    File::open(path).and_then(|file| sync_open(&file, path)).map_err(StoreError::io("sync", path))
}

fn sync_open(file: &File, _path: &Path) -> io::Result<()> {
    file.sync_all()?;
    // A test sees what is left for certain when the power goes; most file systems leave more.
    #[cfg(test)]
    tests::is_synced(_path);
    Ok(())
}

#[cfg(test)]
mod tests;
