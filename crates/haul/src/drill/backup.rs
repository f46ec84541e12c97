//! A full backup and its incrementals by mariadb-backup.

use super::binlog::Position;
use super::manifest::Manifest;
use super::program::{login, run};
use crate::{HaulError, refused};
use evenkeel_os::Stop;
use evenkeel_site::server::{Control, Flavor, Target};
use std::fs;
use std::path::{Path, PathBuf};

const PROGRAM: &str = "mariadb-backup";

/// A full backup and the incrementals on it, in their order.
pub struct Backups {
    folder: PathBuf,
    /// The login, in a file that nobody else reads.
    login: Option<PathBuf>,
    taken: Vec<PathBuf>,
}

impl Backups {
    /// Begins in a new folder.
    /// Errors: the server is no MariaDB, or mariadb-backup is of another release.
    pub fn new(folder: &Path, target: &Target, stop: &Stop) -> Result<Self, HaulError> {
        let control = Control::connect_until(target, stop)?;
        check(&control)?;
        fs::create_dir_all(folder).map_err(HaulError::io("create", folder))?;
        Ok(Self { folder: folder.to_owned(), login: Some(login(folder, target)?), taken: Vec::new() })
    }

    /// Copies a full backup and incrementals on it, which somebody else has taken, to be restored: they are not changed.
    /// Errors: one of them is no backup of mariadb-backup, or cannot be copied.
    pub fn copy(folder: &Path, of: &[PathBuf]) -> Result<Self, HaulError> {
        fs::create_dir_all(folder).map_err(HaulError::io("create", folder))?;
        let mut taken = Vec::new();
        for (number, backup) in of.iter().enumerate() {
            if !is_backup(backup) {
                let what = format!("{} is no backup of mariadb-backup", backup.display());
                return Err(refused(what, "name the folder of --target-dir").into());
            }
            let into = folder.join(number.to_string());
            let words = ["-a".as_ref(), "--reflink=auto".as_ref(), backup.as_os_str(), into.as_os_str()];
            let copied = evenkeel_os::tools::run("cp", &words);
            copied.map_err(|error| {
                refused(error.to_string(), "a copy is prepared, since that changes a backup: free some space")
            })?;
            if !into.join(Manifest::NAME).exists() {
                Manifest::write(&into, position(&into))?;
            }
            taken.push(into);
        }
        Ok(Self { folder: folder.to_owned(), login: None, taken })
    }

    /// Takes the full backup, and after it incrementals.
    /// Errors: what the program says, or somebody asked to stop.
    pub fn take(&mut self, stop: &Stop) -> Result<Manifest, HaulError> {
        let name = self.taken.len().to_string();
        let into = self.folder.join(&name);
        let login = self.login.as_ref().map(|login| format!("--defaults-file={}", login.display()));
        let mut arguments: Vec<String> = login.into_iter().collect();
        arguments.extend(["--backup".to_owned(), format!("--target-dir={}", into.display())]);
        arguments.extend(self.taken.last().map(|base| format!("--incremental-basedir={}", base.display())));
        run(PROGRAM, PROGRAM, &arguments, &self.log(&format!("backup-{name}")), stop)?;
        self.taken.push(into.clone());
        Manifest::write(&into, position(&into))
    }

    /// Makes one data directory of all, which is at the position that it returns. The full backup is prepared, and no base any more.
    /// Errors: a file is not as it was written, or what the program says.
    pub fn restore(&self, data: &Path, stop: &Stop) -> Result<Option<Position>, HaulError> {
        let (full, rest) =
            self.taken.split_first().ok_or_else(|| refused("there is no backup", "take one"))?;
        let mut last = None;
        for each in &self.taken {
            let manifest = Manifest::read(each)?;
            manifest.verify(each)?;
            last = manifest.position;
        }
        let target = format!("--target-dir={}", full.display());
        let prepare = |more: Option<String>, name: &str| {
            let arguments =
                ["--no-defaults", "--prepare", &target].map(str::to_owned).into_iter().chain(more);
            run(PROGRAM, PROGRAM, &arguments.collect::<Vec<_>>(), &self.log(name), stop)
        };
        prepare(None, "prepare-0")?;
        for (index, each) in rest.iter().enumerate() {
            prepare(
                Some(format!("--incremental-dir={}", each.display())),
                &format!("prepare-{}", index + 1),
            )?;
        }
        let datadir = format!("--datadir={}", data.display());
        let arguments = ["--no-defaults", "--copy-back", &target, &datadir].map(str::to_owned);
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
    let said = evenkeel_os::tools::output(PROGRAM, &["--version".as_ref()])
        .map_err(|error| refused(error.to_string(), "apt-get install mariadb-backup"))?;
    let said = String::from_utf8_lossy(&[said.stdout, said.stderr].concat()).into_owned();
    let release = format!("{}.{}.", version.numbers.0, version.numbers.1);
    match said.contains(&release) {
        true => Ok(()),
        false => {
            let what = format!("mariadb-backup is of another release than {version}: {}", said.trim());
            Err(refused(what, "install the one of the server's release").into())
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
