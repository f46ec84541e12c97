//! The ways to take a backup, behind one face.

use super::backup::Backups;
use super::binlog::Position;
use super::dump::Dump;
use super::manifest::Manifest;
use super::snapshot::Snapshot;
pub use super::snapshot::Source;
use crate::{HaulError, refused};
use evenkeel_os::Stop;
use evenkeel_site::server::Target;
use std::path::Path;

evenkeel_site::words! {
    /// How a backup is taken.
    #[derive(Default)]
    Method {
        /// Full and incremental, by mariadb-backup.
        #[default]
        Backup = "backup",
        /// Copies that share their blocks, on XFS or btrfs.
        Snapshot = "snapshot",
        /// Statements, by mariadb-dump.
        Dump = "dump",
    }
}

pub enum Taken {
    Backup(Backups),
    Snapshot(Snapshot),
    Dump(Dump),
}

impl Taken {
    /// Takes the first backup.
    pub fn first(method: Method, source: &Source<'_>) -> Result<(Self, Manifest), HaulError> {
        let Source { folder, target, stop, .. } = source;
        Ok(match method {
            Method::Backup => {
                let mut backups = Backups::new(folder, target, stop)?;
                let manifest = backups.take(stop)?;
                (Self::Backup(backups), manifest)
            }
            Method::Snapshot => {
                let (taken, manifest) = Snapshot::take(source)?;
                (Self::Snapshot(taken), manifest)
            }
            Method::Dump => {
                let (taken, manifest) = Dump::take(folder, target, stop)?;
                (Self::Dump(taken), manifest)
            }
        })
    }

    /// Takes an incremental.
    /// Errors: the method has none.
    pub fn next(&mut self, stop: &Stop) -> Result<Manifest, HaulError> {
        match self {
            Self::Backup(backups) => backups.take(stop),
            _ => Err(refused("only --method backup has incrementals", "leave --incrementals out").into()),
        }
    }

    /// Makes a data directory, where the method has one; the position that it is at.
    pub fn restore(&self, data: &Path, stop: &Stop) -> Result<Option<Position>, HaulError> {
        match self {
            Self::Backup(backups) => backups.restore(data, stop),
            Self::Snapshot(taken) => taken.restore(data, stop),
            Self::Dump(taken) => taken.position(),
        }
    }

    /// Loads what is restored by statements into the server that was started for it; false where there is nothing to load.
    pub fn load(&self, target: &Target, stop: &Stop) -> Result<bool, HaulError> {
        match self {
            Self::Dump(taken) => taken.load(target, stop).map(|()| true),
            _ => Ok(false),
        }
    }
}
