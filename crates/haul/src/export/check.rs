//! Whether files are what was exported, and whether a table is what its files say. A table of an export is loaded again:
//! into a table under another name, which gets its own once its rows are compared.

use super::line;
use super::line::{Checksum, Exported, ExportedFile};
use crate::table::{Found, quoted};
use crate::{HaulError, Refused, refused};
use evenkeel_os::Stop;
use evenkeel_site::server::{Control, Target, TargetError};
use serde::Serialize;
use std::fs::File;
use std::io;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::Path;

/// Bytes of a line at most: twice those of the largest row, since each byte may have a backslash. What is longer was not exported.
const LONGEST: u64 = 256 << 20;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// The file, or the table.
    pub of: String,
    pub what: String,
}

pub fn verify(folder: &Path, exported: &Exported, stop: &Stop) -> Result<Vec<Fault>, HaulError> {
    let mut faults = Vec::new();
    for file in &exported.files {
        let what = match read(&folder.join(&file.name), stop) {
            Err(HaulError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
                Some("it is missing".to_owned())
            }
            found => fault_of(file, found?),
        };
        faults.extend(what.map(|what| Fault { of: file.name.clone(), what }));
    }
    Ok(faults)
}

fn fault_of(file: &ExportedFile, (found, bytes): (Checksum, u64)) -> Option<String> {
    match () {
        () if found.rows != file.rows => {
            Some(format!("{} lines, and {} were exported", found.rows, file.rows))
        }
        () if bytes != file.bytes => Some(format!("{bytes} bytes, and {} were exported", file.bytes)),
        () if found.digits() != file.checksum => Some("the checksum is another one".to_owned()),
        () => None,
    }
}

fn read(path: &Path, stop: &Stop) -> Result<(Checksum, u64), HaulError> {
    let file = File::open(path).map_err(HaulError::io("read", path))?;
    let (mut file, mut line) = (BufReader::with_capacity(1 << 18, file), Vec::new());
    let (mut found, mut bytes) = (Checksum::default(), 0);
    loop {
        line.clear();
        let read = file.by_ref().take(LONGEST).read_until(b'\n', &mut line);
        match read.map_err(HaulError::io("read", path))? {
            0 => return Ok((found, bytes)),
            read => bytes += read as u64,
        }
        found.add(line.strip_suffix(b"\n").unwrap_or(&line));
        if found.rows.is_multiple_of(1 << 14) && stop.is_set() {
            return Err(HaulError::Stopped { path: path.to_owned(), at: bytes });
        }
    }
}

/// Compares a table as it is now with its export.
pub fn compare(target: &Target, exported: &Exported, stop: &Stop) -> Result<Option<Fault>, HaulError> {
    let mut control = connect(target, stop)?;
    begin(&mut control)?;
    let what = difference(&mut control, &exported.table, exported)?;
    Ok(what.map(|what| Fault { of: exported.table.clone(), what }))
}

/// How a table of this name differs from an export.
pub(super) fn difference(
    control: &mut Control,
    name: &str,
    exported: &Exported,
) -> Result<Option<String>, HaulError> {
    let Some(table) = Found::read(control, name)? else { return Ok(Some("it is gone".to_owned())) };
    let select = match line::select(&table, &exported.columns) {
        Err(column) => return Ok(Some(format!("its column {column} is gone"))),
        Ok(select) => select,
    };
    let found = checksum(control, &select)?;
    Ok(match () {
        () if found.rows != exported.rows => {
            Some(format!("{} rows, and {} were exported", found.rows, exported.rows))
        }
        () if found.digits() != exported.checksum => {
            Some("as many rows, but some values differ from the export".to_owned())
        }
        () => None,
    })
}

/// Of all rows that a statement gives.
fn checksum(control: &mut Control, select: &str) -> Result<Checksum, HaulError> {
    let (mut found, mut line) = (Checksum::default(), Vec::new());
    control.for_each_row_sent(select, &mut |row| {
        line.clear();
        line::put(row.texts(), &mut line).map_err(io::Error::other)?;
        found.add(line.strip_suffix(b"\n").unwrap_or(&line));
        Ok(())
    })?;
    Ok(found)
}

/// Rows of a table of the connection's database, and their checksum, which does not depend on their order.
/// Errors: there is no such table, or the server does not answer.
pub fn rows(control: &mut Control, name: &str) -> Result<(u64, String), HaulError> {
    let table = Found::read(control, name)?.ok_or_else(|| crate::audit::no_table(name))?;
    let columns: Vec<String> = table.columns.iter().map(|column| column.name.clone()).collect();
    let select = line::select(&table, &columns)
        .map_err(|column| crate::audit::no_table(&format!("{name}.{column}")))?;
    let found = checksum(control, &select)?;
    Ok((found.rows, found.digits()))
}

/// A connection that reads and writes values as they are in the files: times are in UTC.
pub(crate) fn connect(target: &Target, stop: &Stop) -> Result<Control, TargetError> {
    let mut control = Control::connect_until(target, stop)?;
    crate::audit::prepare(&mut control)?;
    control.exec("SET SESSION time_zone = '+00:00'")?;
    control.exec("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")?;
    Ok(control)
}

fn begin(control: &mut Control) -> Result<(), TargetError> {
    control.exec("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY").map(drop)
}

/// Opens connections that see their tables as of one instant, which is said by the server's clock. Writes are held back while several are
/// opened.
pub(super) fn open(
    target: &Target,
    connections: usize,
    stop: &Stop,
) -> Result<(Vec<Control>, String), HaulError> {
    let mut all = Vec::new();
    for _ in 0..connections.max(1) {
        all.push(connect(target, stop)?);
    }
    if let [one] = all.as_mut_slice() {
        begin(one)?;
        let at = now(one)?;
        return Ok((all, at));
    }
    let mut lock = Control::connect_until(target, stop)?;
    check_one_server(all.iter_mut().chain([&mut lock]))?;
    // Nobody is to wait for long behind a statement that the lock itself waits for.
    lock.exec("SET SESSION lock_wait_timeout = 30")?;
    lock.exec("FLUSH TABLES WITH READ LOCK").map_err(|error| match error {
        TargetError::Statement { message: reason, .. } => no_snapshot(connections, &reason),
        other => HaulError::from(other),
    })?;
    all.iter_mut().try_for_each(begin)?;
    let at = now(&mut lock)?;
    lock.exec("UNLOCK TABLES")?;
    Ok((all, at))
}

fn now(control: &mut Control) -> Result<String, TargetError> {
    Ok(control.query_value("SELECT UTC_TIMESTAMP(6)")?.unwrap_or_default())
}

/// Refuses connections that lead to several servers, as behind a balancer: the lock holds back writes on one of them alone.
fn check_one_server<'a>(all: impl Iterator<Item = &'a mut Control>) -> Result<(), HaulError> {
    let mut places = Vec::new();
    for control in all {
        places
            .push(control.query_value("SELECT CONCAT_WS(' ', @@hostname, @@port, @@server_id, @@datadir)")?);
    }
    if places.windows(2).all(|pair| pair[0] == pair[1]) {
        return Ok(());
    }
    Err(no_snapshot(places.len() - 1, "they lead to several servers"))
}

fn no_snapshot(connections: usize, reason: &str) -> HaulError {
    let what = format!("{connections} connections cannot share a snapshot: {reason}");
    refused(what, "grant RELOAD to the account, or use --connections 1").into()
}

pub(super) fn no_name(table: &str) -> Refused {
    refused(format!("table {table:?}: its name cannot be the name of a file"), "rename the table")
}

/// Characters of a table's name at most.
const NAME: usize = 64;

pub struct Import<'a> {
    pub target: &'a Target,
    pub folder: &'a Path,
    /// Whether the rows are compared with the export before the table gets its name.
    pub compares: bool,
    pub stop: &'a Stop,
}

#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Imported {
    pub table: String,
    /// Rows that were loaded; none where the table was there, as it was exported.
    pub rows: u64,
    pub was_there: bool,
    /// How the loaded rows differ; they are in the table that this names.
    pub fault: Option<Fault>,
}

impl Import<'_> {
    /// Loads a table; one that is there has to be as it was exported. What a killed load left is loaded anew.
    /// Errors: the table is another one, or a file cannot be read or stored. The table is not there then.
    pub fn run(&self, exported: &Exported, tell: &mut dyn FnMut(&Path)) -> Result<Imported, HaulError> {
        let mut control = connect(self.target, self.stop)?;
        control
            .exec("SET SESSION sql_mode = 'NO_AUTO_VALUE_ON_ZERO', foreign_key_checks = 0, autocommit = 1")?;
        let table = exported.table.clone();
        crate::load::lock(&mut control, &table)?;
        if Found::read(&mut control, &table)?.is_some() {
            return match difference(&mut control, &table, exported)? {
                Some(what) => Err(refused(
                    format!(
                        "table {table} is there and is not as it was exported: {what}; it was not changed"
                    ),
                    "load into another database, or drop the table",
                )
                .into()),
                None => Ok(Imported { table, rows: 0, was_there: true, fault: None }),
            };
        }
        let next = make(&mut control, exported)?;
        for file in &exported.files {
            tell(&self.folder.join(&file.name));
            self.load(&mut control, &next, (exported, file))?;
        }
        if self.compares
            && let Some(what) = difference(&mut control, &next, exported)?
        {
            let fault = Some(Fault { of: next, what });
            return Ok(Imported { table, rows: exported.rows, was_there: false, fault });
        }
        control.exec(&format!("RENAME TABLE {} TO {}", quoted(&next), quoted(&table)))?;
        Ok(Imported { table, rows: exported.rows, was_there: false, fault: None })
    }

    fn load(
        &self,
        control: &mut Control,
        table: &str,
        (exported, file): (&Exported, &ExportedFile),
    ) -> Result<(), HaulError> {
        let path = self.folder.join(&file.name);
        let columns: Vec<String> = exported.columns.iter().map(|name| quoted(name)).collect();
        let sql = format!(
            "LOAD DATA LOCAL INFILE 'export' INTO TABLE {} CHARACTER SET utf8mb4 FIELDS TERMINATED BY 0x3B ESCAPED BY 0x5C \
             LINES TERMINATED BY 0x0A ({})",
            quoted(table),
            columns.join(",")
        );
        let opened = File::open(&path).map_err(HaulError::io("read", &path))?;
        let stored = control.load_data_local(&sql, opened)?;
        if stored == file.rows {
            return Ok(());
        }
        let said = control.query("SHOW WARNINGS LIMIT 1")?.rows;
        let said = said.first().and_then(|row| row.get(2)?.clone());
        let server = said.unwrap_or_else(|| "the server gave no reason".to_owned());
        let (path, rows) = (path.display(), file.rows);
        let what = format!("{path}: the server stored {stored} of its {rows} rows ({server})");
        Err(refused(what, "fix what the server says, and run the same command again").into())
    }
}

/// Makes the table that is filled, in the place of one that a killed load left; its name.
fn make(control: &mut Control, exported: &Exported) -> Result<String, HaulError> {
    let table = &exported.table;
    let next = format!("evenkeel_import_{table}");
    if next.chars().count() > NAME {
        return Err(no_name(table).into());
    }
    // Whatever else stands in a manifest is no statement for us to make.
    let rest = exported.create.strip_prefix(&format!("CREATE TABLE {} (", quoted(table)));
    let what = || format!("{table}: it has no statement that makes it");
    let rest = rest.ok_or_else(|| refused(what(), "export the tables again"))?;
    control.exec(&format!("DROP TABLE IF EXISTS {}", quoted(&next)))?;
    control.exec(&format!("CREATE TABLE {} ({rest}", quoted(&next)))?;
    Ok(next)
}
