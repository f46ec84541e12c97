//! A dump by mariadb-dump, of all databases but the server's own, as of one instant.

use super::binlog::Position;
use super::manifest::Manifest;
use super::program::{Login, PATIENCE, run_into};
use crate::{HaulError, refused};
use evenkeel_os::Stop;
use evenkeel_site::server::{Control, Flavor, Target, has_privilege};
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;

const FILE: &str = "dump.sql";
/// The position stands within so many lines.
const HEAD: usize = 100;

pub struct Dump {
    path: PathBuf,
    /// Folder for the login, and for what the client says.
    scratch: PathBuf,
}

impl Dump {
    /// Takes it.
    /// Errors: what the program says, or somebody asked to stop.
    pub fn take(folder: &Path, target: &Target, stop: &Stop) -> Result<(Self, Manifest), HaulError> {
        fs::create_dir_all(folder).map_err(HaulError::io("create", folder))?;
        let mut control = Control::connect_until(target, stop)?;
        let (program, package, position) = match control.version().flavor {
            Flavor::MariaDb => ("mariadb-dump", "mariadb-client", "--master-data=2"),
            Flavor::MySql => ("mysqldump", "mysql-client", "--source-data=2"),
        };
        check_program(program)?;
        check_sight(&mut control)?;
        let login = Login::write(folder, target)?;
        let mut arguments = vec![login.option()];
        let flags = "--single-transaction --routines --triggers --events --hex-blob --max-allowed-packet=1G";
        arguments.extend(flags.split(' ').chain([position, "--databases"]).map(str::to_owned));
        arguments.extend(databases(&mut control)?);
        let path = folder.join(FILE);
        let out = File::create(&path).map_err(HaulError::io("create", &path))?;
        let log = folder.join("dump.log");
        run_into(program, package, &arguments, (Stdio::null(), &log), (out, PATIENCE), stop)?;
        // What is gone by then is no part of the dump.
        drop(login);
        let manifest = Manifest::write(folder, position_of(&path)?)?;
        Ok((Self { path, scratch: folder.with_extension("load") }, manifest))
    }

    /// One that somebody else has made; it is read where it is.
    pub fn of(path: &Path, scratch: &Path) -> Self {
        Self { path: path.to_owned(), scratch: scratch.to_owned() }
    }

    /// Where it ends in the binary logs.
    /// Errors: it is not as it was written.
    pub fn position(&self) -> Result<Option<Position>, HaulError> {
        // Beside one of ours there is a manifest.
        match Manifest::check(self.path.parent().unwrap_or(Path::new(".")))? {
            Some(manifest) => Ok(manifest.position),
            None => position_of(&self.path),
        }
    }

    /// Loads it into a new server.
    pub fn load(&self, target: &Target, stop: &Stop) -> Result<(), HaulError> {
        let scratch = &self.scratch;
        fs::create_dir_all(scratch).map_err(HaulError::io("create", scratch))?;
        let login = Login::write(scratch, target)?;
        let arguments = [login.option(), "--max-allowed-packet=1G".to_owned()];
        let dump = File::open(&self.path).map_err(HaulError::io("read", &self.path))?;
        let log = scratch.join("load.log");
        let out = File::create(scratch.join("load.out")).map_err(HaulError::io("create", &log))?;
        run_into("mariadb", "mariadb-client", &arguments, (Stdio::from(dump), &log), (out, PATIENCE), stop)
    }
}

/// Debian's mariadb-client has a mysqldump of its own.
fn check_program(program: &str) -> Result<(), HaulError> {
    let said = evenkeel_os::tools::output(program, &["--version".as_ref()])
        .map(|said| said.stdout)
        .unwrap_or_default();
    match program == "mysqldump" && String::from_utf8_lossy(&said).contains("MariaDB") {
        true => Err(refused(
            "mysqldump is MariaDB's, and does not dump MySQL",
            "put MySQL's mysqldump first in PATH, or use --method snapshot",
        )
        .into()),
        false => Ok(()),
    }
}

/// What the account does not see would be missing in the dump, and in what it is compared with.
fn check_sight(control: &mut Control) -> Result<(), HaulError> {
    match has_privilege(control, "SELECT", "mysql")? {
        true => Ok(()),
        false => {
            let hint =
                "GRANT SELECT, SHOW VIEW, TRIGGER, EVENT, LOCK TABLES, RELOAD, BINLOG MONITOR ON *.* to it";
            Err(refused("this account does not see all databases: the dump would not be whole", hint).into())
        }
    }
}

fn databases(control: &mut Control) -> Result<Vec<String>, HaulError> {
    let found = control.query(&format!(
        "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME NOT IN {}",
        super::rows::OWN
    ))?;
    Ok(found.rows.into_iter().flatten().flatten().collect())
}

/// From a line as `-- CHANGE MASTER TO MASTER_LOG_FILE='bin.000001', MASTER_LOG_POS=852;`, where there is one.
fn position_of(path: &Path) -> Result<Option<Position>, HaulError> {
    let file = BufReader::new(File::open(path).map_err(HaulError::io("read", path))?);
    let lines = file.lines().take(HEAD).map_while(Result::ok);
    let found = lines.filter_map(|line| {
        let (_, rest) = line.split_once("_LOG_FILE='")?;
        let (log, rest) = rest.split_once("', ")?;
        let (_, offset) = rest.split_once("_LOG_POS=")?;
        Some(Position { log: log.to_owned(), offset: offset.trim_end_matches(';').trim().parse().ok()? })
    });
    Ok(found.last())
}
