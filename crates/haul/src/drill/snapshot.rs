//! A snapshot of the data directory under a short lock: by commands of the user's, or of a private server by reflinks (XFS, btrfs).

use super::binlog::Position;
use super::manifest::Manifest;
use super::program::{PATIENCE, copy, shell};
use crate::{HaulError, refused};
use evenkeel_os::Stop;
use evenkeel_os::clock::Clock;
use evenkeel_os::process::signal;
use evenkeel_site::server::{Control, Flavor, Target};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

const SIGCONT: i32 = 18;
const SIGSTOP: i32 = 19;
/// The longest time in which a command holds the lock.
const LOCK: Duration = Duration::from_secs(30);
const ROOM: &str = "free some space there";

pub struct Snapshot {
    folder: PathBuf,
}

/// How a snapshot is made where the file system has no reflinks: LVM, ZFS, the disks of a cloud.
#[derive(Clone, Debug)]
pub struct SnapshotCommands {
    /// A shell command that gets the data directory as `$1` and prints where its copy can be read.
    pub take: String,
    /// A shell command that removes what is at `$1`.
    pub remove: Option<String>,
}

/// A server that is backed up.
pub struct Source<'a> {
    pub folder: PathBuf,
    pub data: PathBuf,
    pub target: Target,
    /// How its snapshots are made; `None` by reflinks, for which a private server is stopped for a moment: files are shared one after the
    /// other, and InnoDB writes on under any lock.
    pub snapshot: Option<&'a SnapshotCommands>,
    /// The process of a private server.
    pub process: Option<i32>,
    pub stop: &'a Stop,
}

impl Snapshot {
    /// Takes it, and copies it off the volume of the data.
    /// Errors: `folder` is on that volume, there is no way to make a snapshot, or the server does not give the lock.
    pub fn take(source: &Source<'_>) -> Result<(Self, Manifest), HaulError> {
        let (folder, stop) = (source.folder.as_path(), source.stop);
        fs::create_dir_all(folder).map_err(HaulError::io("create", folder))?;
        check_volume(folder, &source.data)?;
        let mut control = Control::connect_until(&source.target, stop)?;
        // Nobody is to wait for long behind a statement that the lock itself waits for.
        control.exec("SET SESSION lock_wait_timeout = 30")?;
        let clock = Clock::start();
        control.exec("FLUSH TABLES WITH READ LOCK")?;
        // Commits that only the binary log has on disk would be undecided in the copy, and no server starts so without that log.
        control.exec("FLUSH ENGINE LOGS")?;
        let position = position(&mut control)?;
        let shared = Shared::take(source);
        control.exec("UNLOCK TABLES")?;
        let lock_s = clock.now().as_secs_f64();
        let shared = shared?;
        copy((&["-a"], &shared.at, &folder.join("data")), ROOM, &folder.join("copy.log"), stop)?;
        shared.remove(folder, stop)?;
        let manifest = Manifest::write(folder, Some(position))?;
        Ok((Self { folder: folder.to_owned() }, Manifest { lock_s: Some(lock_s), ..manifest }))
    }

    /// Makes a data directory of it, which is at the position that it returns.
    /// Errors: a file is not as it was written, or cannot be copied.
    pub fn restore(&self, data: &Path, stop: &Stop) -> Result<Option<Position>, HaulError> {
        let manifest = Manifest::check(&self.folder)?;
        copy((&["-a"], &self.folder.join("data"), data), ROOM, &self.folder.join("restore.log"), stop)?;
        // By this MySQL knows a server; two must not have the same.
        let _ = fs::remove_file(data.join("auto.cnf"));
        Ok(manifest.and_then(|manifest| manifest.position))
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

/// A snapshot on the volume of the data; one by reflinks is removed when this is dropped.
struct Shared<'a> {
    at: PathBuf,
    commands: Option<&'a SnapshotCommands>,
}

impl<'a> Shared<'a> {
    fn take(source: &Source<'a>) -> Result<Self, HaulError> {
        let (folder, data, stop) = (&source.folder, source.data.as_path(), source.stop);
        if let Some(commands) = source.snapshot {
            let log = folder.join("take.log");
            let at = shell(&commands.take, &[data], (&log, LOCK), stop)?;
            return Ok(Self { at: PathBuf::from(at), commands: Some(commands) });
        }
        let process = source.process.ok_or_else(|| {
            let what = "reflink copies of a running server's files are not a consistent snapshot";
            refused(what, "give the command that snapshots your volume: --snapshot-command")
        })?;
        let shared = Self { at: data.with_file_name("evenkeel-snapshot"), commands: None };
        let hint = "reflinks need XFS or btrfs under the data directory";
        signal(process, SIGSTOP);
        let copied =
            copy((&["-a", "--reflink=always"], data, &shared.at), hint, &folder.join("share.log"), stop);
        signal(process, SIGCONT);
        copied.map(|()| shared)
    }

    fn remove(self, folder: &Path, stop: &Stop) -> Result<(), HaulError> {
        let Some(remove) = self.commands.and_then(|commands| commands.remove.as_ref()) else { return Ok(()) };
        shell(remove, &[&self.at], (&folder.join("remove.log"), PATIENCE), stop).map(drop)
    }
}

impl Drop for Shared<'_> {
    fn drop(&mut self) {
        if self.commands.is_none() {
            let _ = fs::remove_dir_all(&self.at);
        }
    }
}

fn position(control: &mut Control) -> Result<Position, HaulError> {
    let asked = match control.version().flavor {
        Flavor::MariaDb => control.query("SHOW MASTER STATUS"),
        Flavor::MySql => control.query("SHOW BINARY LOG STATUS"),
    };
    let rows = asked?;
    let found = rows.named("File").zip(rows.named("Position").and_then(|text| text.parse().ok()));
    let hint = "turn log_bin on: without it nothing after a backup can be recovered";
    let (log, offset) = found.ok_or_else(|| refused("the server writes no binary log", hint))?;
    Ok(Position { log: log.to_owned(), offset })
}
