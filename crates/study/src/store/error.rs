//! Why a study folder cannot be used.

use super::format::FORMAT;
use std::io;
use std::path::{Path, PathBuf};

/// Files that every finished run has beside `run.json`.
pub(super) const BESIDE: [&str; 3] = ["intervals.csv", "sense.csv", "response.csv"];

/// How hints say that a study is to go on. Whoever shows them puts the command in its place, which this crate does not know.
pub const GOES_ON: &str = "`--resume`";

/// Why a study folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The operating system refused.
    #[error("cannot {action} {path}: {source}")]
    Io {
        action: &'static str,
        /// The file or folder that was refused.
        path: PathBuf,
        source: io::Error,
    },
    /// A file is not what it should be.
    #[error("{path} is damaged, or was not written by Evenkeel: {source}")]
    Damaged {
        /// The file that cannot be read.
        path: PathBuf,
        source: serde_json::Error,
    },
    /// Written by a later version.
    #[error("{path} has format {found}, this version reads up to {FORMAT}")]
    Newer { path: PathBuf, found: u32 },
    #[error("no study named {name} in {root}")]
    Unknown {
        name: String,
        /// Where it was looked for.
        root: PathBuf,
    },
    /// The start of a name fits several.
    #[error("{name} fits several studies: {fits}")]
    Ambiguous { name: String, fits: String },
    /// A published study where a profile was asked for.
    #[error("{path} is a study of {kind}, not a profile")]
    Published {
        /// The study's folder.
        path: PathBuf,
        /// Name of the published study.
        kind: String,
    },
    /// A folder that was to be deleted, and does not say that it is a study.
    #[error("{path} is not deleted, because nothing shows that it is a study: {source}")]
    Foreign {
        /// The folder that is left alone.
        path: PathBuf,
        /// Why its plan cannot be read.
        source: Box<StoreError>,
    },
    /// Another process measures in it.
    #[error("{0} is being measured by another process")]
    Locked(PathBuf),
    /// A folder of this name is there already.
    #[error("{0} exists already")]
    Exists(PathBuf),
    /// What lies beside a run is not what it should be.
    #[error("cannot read {path}: {text}")]
    Unread {
        /// The file that cannot be read.
        path: PathBuf,
        text: String,
    },
}

impl StoreError {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }

    /// The file or folder that it is about, where there is one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Io { path, .. }
            | Self::Damaged { path, .. }
            | Self::Newer { path, .. }
            | Self::Published { path, .. }
            | Self::Foreign { path, .. }
            | Self::Locked(path)
            | Self::Exists(path)
            | Self::Unread { path, .. } => Some(path),
            Self::Unknown { .. } | Self::Ambiguous { .. } => None,
        }
    }

    /// What the user can do about it; with [`GOES_ON`] where the study is to go on.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Damaged { path, .. } | Self::Unread { path, .. } => {
                of_file(path).unwrap_or("move that file away; the runs can be read without it")
            }
            Self::Newer { .. } => "use the version of Evenkeel that wrote it, or a later one",
            Self::Unknown { .. } | Self::Ambiguous { .. } => "`evenkeel runs` lists all studies",
            Self::Published { .. } => "`evenkeel runs` lists all studies; this one continues with `--resume`",
            Self::Foreign { .. } => {
                "see what is in that folder; where it is a study whose plan.json is lost or damaged, remove it by hand"
            }
            Self::Locked(_) => "wait for the other process, or end it",
            Self::Exists(_) => "studies of one second share a name; try again",
            Self::Io { action: "make", .. } => {
                "name a folder in which you may create others, by --output or --home"
            }
            Self::Io { path, source, .. } => match source.kind() {
                io::ErrorKind::StorageFull => "free some space, then continue with `--resume`",
                io::ErrorKind::NotFound => return of_file(path),
                io::ErrorKind::PermissionDenied => {
                    "studies are closed to other users; list them as the user who measured"
                }
                _ => return None,
            },
        })
    }
}

/// What to do about a file of a study that is lost or damaged; `None` of one without which all can be read.
fn of_file(path: &Path) -> Option<&'static str> {
    Some(match path.file_name()?.to_str()? {
        "plan.json" => {
            "restore plan.json from a backup; finished runs stay in the folder, and cannot be read without it"
        }
        "run.json" => {
            "move the folder of that run away, and continue with `--resume`, which measures it again"
        }
        name if BESIDE.contains(&name) => {
            "the run's figures are in its run.json; to measure the rest again, move the folder of that \
             run away and continue with `--resume`"
        }
        _ => return None,
    })
}
