//! A full backup and its incrementals by mariadb-backup.

use super::binlog::Position;
use super::manifest::{Manifest, list};
use super::program::{Login, copy, installed, run};
use crate::{HaulError, refused};
use evenkeel_os::Stop;
use evenkeel_site::server::{Control, Flavor, Target};
use std::fs;
use std::path::{Path, PathBuf};

const PROGRAM: &str = "mariadb-backup";

/// A full backup and the incrementals on it, in their order.
pub struct Backups {
    folder: PathBuf,
    /// The server, where it is ours to back up.
    target: Option<Target>,
    taken: Vec<PathBuf>,
}

impl Backups {
    /// Begins in a new folder.
    /// Errors: the server is no MariaDB, or mariadb-backup is of another release.
    pub fn new(folder: &Path, target: &Target, stop: &Stop) -> Result<Self, HaulError> {
        let control = Control::connect_until(target, stop)?;
        check(&control)?;
        fs::create_dir_all(folder).map_err(HaulError::io("create", folder))?;
        Ok(Self { folder: folder.to_owned(), target: Some(target.clone()), taken: Vec::new() })
    }

    /// Copies a full backup and incrementals on it, which somebody else has taken, to be restored: they are not changed.
    /// Errors: one of them is no backup of mariadb-backup, or cannot be copied.
    pub fn copy(folder: &Path, of: &[PathBuf], stop: &Stop) -> Result<Self, HaulError> {
        fs::create_dir_all(folder).map_err(HaulError::io("create", folder))?;
        let mut taken = Vec::new();
        for (number, backup) in of.iter().enumerate() {
            if !is_backup(backup) {
                let what = format!("{} is not a mariadb-backup folder", backup.display());
                return Err(refused(what, "name the folder of --target-dir").into());
            }
            let into = folder.join(number.to_string());
            let hint = "--prepare changes a backup, so that a copy is prepared: free some space";
            list(backup, &mut Vec::new())?;
            copy((&["-a", "--reflink=auto"], backup, &into), hint, &folder.join("copy.log"), stop)?;
            taken.push(into);
        }
        Ok(Self { folder: folder.to_owned(), target: None, taken })
    }

    /// Takes the full backup, and after it incrementals.
    /// Errors: what the program says, or somebody asked to stop.
    pub fn take(&mut self, stop: &Stop) -> Result<Manifest, HaulError> {
        let name = self.taken.len().to_string();
        let into = self.folder.join(&name);
        let login = self.target.as_ref().map(|target| Login::write(&self.folder, target)).transpose()?;
        let mut arguments: Vec<String> = login.iter().map(Login::option).collect();
        arguments.extend(["--backup".to_owned(), format!("--target-dir={}", into.display())]);
        arguments.extend(self.taken.last().map(|base| format!("--incremental-basedir={}", base.display())));
        run(PROGRAM, PROGRAM, &arguments, &self.log(&format!("backup-{name}")), stop)?;
        self.taken.push(into.clone());
        Manifest::write(&into, position(&into))
    }

    /// Makes one data directory of all, which is at the position that it returns. The full backup is prepared, and no base any more.
    /// Errors: a file is not as it was written, or what the program says.
    pub fn restore(&self, data: &Path, stop: &Stop) -> Result<Option<Position>, HaulError> {
        for each in &self.taken {
            Manifest::check(each)?;
        }
        let last = self.taken.last().and_then(|last| position(last));
        let target = format!("--target-dir={}", self.taken[0].display());
        for (index, each) in self.taken.iter().enumerate() {
            let more = (index > 0).then(|| format!("--incremental-dir={}", each.display()));
            let words = ["--no-defaults", "--prepare", &target].map(str::to_owned).into_iter().chain(more);
            let log = self.log(&format!("prepare-{index}"));
            run(PROGRAM, PROGRAM, &words.collect::<Vec<_>>(), &log, stop)?;
        }
        let datadir = format!("--datadir={}", data.display());
        // A copy of ours is not needed any more.
        let back = if self.target.is_none() { "--move-back" } else { "--copy-back" };
        let arguments = ["--no-defaults", back, &target, &datadir].map(str::to_owned);
        run(PROGRAM, PROGRAM, &arguments, &self.log("copy-back"), stop)?;
        Ok(last)
    }

    fn log(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.log"))
    }
}

fn check(control: &Control) -> Result<(), HaulError> {
    let version = control.version();
    if version.flavor != Flavor::MariaDb {
        return Err(refused(
            format!("mariadb-backup does not back up {version}"),
            "use --method snapshot or dump",
        )
        .into());
    }
    installed(PROGRAM, PROGRAM)?;
    let said = evenkeel_os::tools::output(PROGRAM, &["--version".as_ref()])
        .map_err(|error| refused(error.to_string(), "apt-get install mariadb-backup"))?;
    let said = String::from_utf8_lossy(&[said.stdout, said.stderr].concat()).into_owned();
    let release = format!("{}.{}.", version.numbers.0, version.numbers.1);
    match said.contains(&release) {
        true => Ok(()),
        false => {
            let what = format!("mariadb-backup does not match the server {version}: {}", said.trim());
            Err(refused(what, "install the mariadb-backup of the server's release").into())
        }
    }
}

/// Where the backup ends in the binary logs; newer releases name the file after themselves. `None` of a server that writes none.
fn position(backup: &Path) -> Option<Position> {
    let names = ["xtrabackup_binlog_info", "mariadb_backup_binlog_info"];
    let text = names.iter().find_map(|name| fs::read_to_string(backup.join(name)).ok())?;
    let mut words = text.split_whitespace();
    Some(Position { log: words.next()?.to_owned(), offset: words.next()?.parse().ok()? })
}

fn is_backup(folder: &Path) -> bool {
    ["xtrabackup_checkpoints", "mariadb_backup_checkpoints"].iter().any(|name| folder.join(name).exists())
}
