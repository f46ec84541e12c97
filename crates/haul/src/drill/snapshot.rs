//! A snapshot of the data directory: a copy that shares its blocks (reflinks, on XFS and btrfs), made under a short lock.

use super::binlog::Position;
use super::manifest::Manifest;
use crate::{HaulError, refused};
use evenkeel_os::{Stop, tools};
use evenkeel_site::server::{Control, Flavor, Target, TargetError};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

pub struct Snapshot {
    folder: PathBuf,
}

impl Snapshot {
    /// Takes it, and copies it off the volume of the data.
    /// Errors: `folder` is on that volume, the file system has no reflinks, or the server does not give the lock.
    pub fn take(
        folder: &Path,
        data: &Path,
        target: &Target,
        stop: &Stop,
    ) -> Result<(Self, Manifest), HaulError> {
        fs::create_dir_all(folder).map_err(HaulError::io("create", folder))?;
        check_volume(folder, data)?;
        let shared = data.with_file_name("evenkeel-snapshot");
        let mut control = Control::connect_until(target, stop)?;
        // Nobody is to wait for long behind a statement that the lock itself waits for.
        control.exec("SET SESSION lock_wait_timeout = 30")?;
        control.exec("FLUSH TABLES WITH READ LOCK")?;
        // Commits that only the binary log has on disk would be undecided in the copy, and no server starts so without that log.
        control.exec("FLUSH ENGINE LOGS")?;
        let position = position(&mut control)?;
        let copied = copy(&["-a", "--reflink=always"], data, &shared);
        control.exec("UNLOCK TABLES")?;
        let kept = copied.and_then(|()| copy(&["-a"], &shared, &folder.join("data")));
        let _ = fs::remove_dir_all(&shared);
        kept?;
        let manifest = Manifest::write(folder, Some(position))?;
        Ok((Self { folder: folder.to_owned() }, manifest))
    }

    /// Makes a data directory of it, which is at the position that it returns.
    /// Errors: a file is not as it was written, or cannot be copied.
    pub fn restore(&self, data: &Path) -> Result<Option<Position>, HaulError> {
        let manifest = Manifest::read(&self.folder)?;
        manifest.verify(&self.folder)?;
        copy(&["-a"], &self.folder.join("data"), data)?;
        Ok(manifest.position)
    }
}

/// A backup on the volume that it is a backup of goes with it.
fn check_volume(folder: &Path, data: &Path) -> Result<(), HaulError> {
    use std::os::unix::fs::MetadataExt;
    let device =
        |path: &Path| fs::metadata(path).map(|found| found.dev()).map_err(HaulError::io("read", path));
    match device(folder)? == device(data)? {
        false => Ok(()),
        true => {
            let what = format!("{} is on the volume of the data that it is to back up", folder.display());
            Err(refused(what, "name a folder on another volume").into())
        }
    }
}

fn copy(flags: &[&str], from: &Path, to: &Path) -> Result<(), HaulError> {
    let words: Vec<&OsStr> = flags.iter().map(OsStr::new).chain([from.as_os_str(), to.as_os_str()]).collect();
    tools::run("cp", &words).map(drop).map_err(|error| {
        refused(
            error.to_string(),
            "a snapshot needs XFS or btrfs under the data directory, and room for the copy",
        )
        .into()
    })
}

fn position(control: &mut Control) -> Result<Position, HaulError> {
    let asked = match control.version().flavor {
        Flavor::MariaDb => control.query("SHOW MASTER STATUS"),
        Flavor::MySql => control.query("SHOW BINARY LOG STATUS"),
    };
    let rows = asked.map_err(|error: TargetError| HaulError::from(error))?;
    let of = |name: &str| rows.rows.first()?.get(rows.column(name)?)?.clone();
    let found = of("File").zip(of("Position").and_then(|text| text.parse().ok()));
    let hint = "turn log_bin on: without it nothing after a backup can be recovered";
    let (log, offset) = found.ok_or_else(|| refused("the server writes no binary log", hint))?;
    Ok(Position { log, offset })
}
