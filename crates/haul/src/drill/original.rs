//! A server of the user's is backed up and restored, as the beginning of a private one. It is only read.

use super::method::{Method, Source, Taken};
use super::restored::{Tell, Work};
use super::snapshot::SnapshotCommands;
use crate::{HaulError, refused};
use evenkeel_os::Stop;
use evenkeel_site::server::{Control, Target, TlsMode};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// A backup of a server of the user's, restored into a folder.
pub struct Copied {
    work: Work,
    pub taken: Taken,
    pub bytes: u64,
    /// Settings of the original that say what a kill may lose.
    pub durability: BTreeMap<String, String>,
}

/// mariadb-backup and snapshots read files, which are those of this machine.
fn check_machine(control: &mut Control) -> Result<(), HaulError> {
    let server = control.query_value("SELECT @@hostname")?.unwrap_or_default();
    let here = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    match server == here.trim() {
        true => Ok(()),
        false => {
            let what = format!("the server is on {server}, and this is {}", here.trim());
            Err(refused(what, "run it there, or use --method dump").into())
        }
    }
}

/// A backup, what it is restored to, the backup of that and its restore, with logs.
fn check_room(control: &mut Control, home: &Path) -> Result<(), HaulError> {
    fs::create_dir_all(home).map_err(HaulError::io("create", home))?;
    let sql = "SELECT COALESCE(SUM(DATA_LENGTH + INDEX_LENGTH), 0) FROM information_schema.TABLES";
    let bytes: f64 = control.query_value(sql)?.and_then(|text| text.parse().ok()).unwrap_or_default();
    let free = evenkeel_os::free_bytes(home).map_err(HaulError::io("look for free space in", home))? as f64;
    match free >= 5.0 * bytes {
        true => Ok(()),
        false => {
            let gib = |bytes: f64| bytes / f64::from(1 << 30);
            let what = format!(
                "{} has {:.1} GiB free, and the drill needs five times the {:.1} GiB of the server",
                home.display(),
                gib(free),
                gib(bytes)
            );
            Err(refused(what, "name another --home").into())
        }
    }
}

impl Copied {
    /// Backs up a server of the user's by the same method, and restores that.
    pub fn of(
        target: &Target,
        (home, method): (&Path, Method),
        snapshot: Option<&SnapshotCommands>,
        stop: &Stop,
        tell: Tell<'_>,
    ) -> Result<Self, HaulError> {
        tell(&format!("backing up {target}"));
        if matches!(target.tls, TlsMode::Required | TlsMode::VerifyIdentity) {
            let what = "the drill runs mariadb-backup and mariadb-dump without TLS, and this URL requires it";
            return Err(refused(
                what,
                "run it on the server's machine by its socket, without tls in the URL",
            )
            .into());
        }
        let mut control = Control::connect_until(target, stop)?;
        if method != Method::Dump {
            check_machine(&mut control)?;
        }
        check_room(&mut control, home)?;
        let durability = ["sync_binlog", "innodb_flush_log_at_trx_commit"].map(|name| {
            let value = control.query_value(&format!("SELECT @@GLOBAL.{name}"))?;
            Ok::<_, HaulError>((name.to_owned(), value.unwrap_or_default()))
        });
        let durability = durability.into_iter().collect::<Result<_, _>>()?;
        let data = control.query_value("SELECT @@datadir")?;
        let work = Work::new(home)?;
        let from = Source {
            folder: work.0.join("original"),
            data: PathBuf::from(data.unwrap_or_default()),
            target: target.clone(),
            snapshot,
            process: None,
            stop,
        };
        let (taken, manifest) = Taken::first(method, &from)?;
        taken.restore(&work.0.join("data"), stop)?;
        Ok(Self { work, taken, bytes: manifest.bytes(), durability })
    }

    pub fn data(&self) -> PathBuf {
        self.work.0.join("data")
    }
}
