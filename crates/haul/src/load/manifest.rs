//! The manifest: which bytes of which file are in, in two tables of the same database.
//!
//! A row of `evenkeel_loads` is a file that was begun, with its name, length and XXH3, and the state `begun` or `done`; `audited` is 1
//! once an audit of all that is in of it has come to its end. A row of `evenkeel_load_parts` is a stretch `[begin_byte, end_byte)` of
//! it that is in, unpacked, with what became of its records. A part's row goes in the transaction of the part's rows; it is the
//! first thing in it, so that two loads that would store the same bytes meet there and one of them ends.

use crate::HaulError;
use crate::convert::Tally;
use crate::table::literal;
use evenkeel_site::server::{Control, TargetError};
use evenkeel_site::words;

pub const FILES: &str = "evenkeel_loads";
pub(super) const CORRECTED: &str = "evenkeel_load_corrected";
const CREATE_CORRECTED: &str = "CREATE TABLE IF NOT EXISTS evenkeel_load_corrected (file_id BIGINT UNSIGNED NOT NULL, \
     at_byte BIGINT UNSIGNED NOT NULL, record_type SMALLINT UNSIGNED NULL, record LONGBLOB NOT NULL, line LONGBLOB NULL, \
     PRIMARY KEY (file_id, at_byte)) ENGINE=InnoDB";
pub const PARTS: &str = "evenkeel_load_parts";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KnownFile {
    pub id: u64,
    pub name: String,
    /// Length and XXH3 of the file as it is on disk.
    pub content: (u64, u64),
    pub layout: u64,
    pub done: bool,
    pub origin: Origin,
    /// How much of it is in: its parts, which lie one behind the other from its beginning.
    pub end: u64,
    pub records: u64,
    /// Those of corrected rejects with them.
    pub rows: u64,
    /// Those that still are.
    pub rejects: u64,
    /// Whether its parts lie otherwise.
    pub has_holes: bool,
    pub audited: bool,
}

words! {
    /// What the tables of a load were when the first one into them began.
    #[derive(PartialOrd, Ord)]
    Origin {
        /// Made by it.
        Created = "created",
        /// There, and empty.
        Empty = "empty",
        /// There, with rows of others.
        Filled = "filled",
    }
}

impl Origin {
    fn of(word: &str) -> Self {
        word.parse().unwrap_or(Self::Filled)
    }
}

pub(crate) fn create(control: &mut Control) -> Result<(), TargetError> {
    control.exec(&format!(
        "CREATE TABLE IF NOT EXISTS {FILES} (id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, \
         tables_loaded VARBINARY(1000) NOT NULL, name VARBINARY(4096) NOT NULL, bytes BIGINT UNSIGNED NOT NULL, \
         xxh3 BIGINT UNSIGNED NOT NULL, layout BIGINT UNSIGNED NOT NULL, state VARCHAR(8) NOT NULL, \
         origin VARCHAR(8) NOT NULL, audited TINYINT NOT NULL DEFAULT 0, \
         begun_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, \
         INDEX (tables_loaded(250))) ENGINE=InnoDB DEFAULT CHARACTER SET latin1"
    ))?;
    control.exec(&format!(
        "CREATE TABLE IF NOT EXISTS {PARTS} (file_id BIGINT UNSIGNED NOT NULL, begin_byte BIGINT UNSIGNED NOT NULL, \
         end_byte BIGINT UNSIGNED NOT NULL, records BIGINT UNSIGNED NOT NULL, rows_stored BIGINT UNSIGNED NOT NULL, \
         rejects BIGINT UNSIGNED NOT NULL, PRIMARY KEY (file_id, begin_byte)) ENGINE=InnoDB"
    ))?;
    control.exec(CREATE_CORRECTED).map(drop)
}

/// All files that were loaded, or begun, into these tables, in the order in which they were begun.
pub(crate) fn read(control: &mut Control, tables: &str) -> Result<Vec<KnownFile>, HaulError> {
    let rows = control.query(&format!(
        "SELECT f.id, HEX(f.name), f.bytes, f.xxh3, f.layout, f.state, f.origin, COALESCE(MAX(p.end_byte), 0), \
         COALESCE(SUM(p.records), 0), COALESCE(SUM(p.rows_stored), 0), COALESCE(SUM(p.rejects), 0), \
         COALESCE(SUM(p.end_byte - p.begin_byte), 0) <> COALESCE(MAX(p.end_byte), 0), \
         f.audited, (SELECT COUNT(c.line) FROM {CORRECTED} c WHERE c.file_id = f.id) \
         FROM {FILES} f LEFT JOIN {PARTS} p ON p.file_id = f.id WHERE f.tables_loaded = {} \
         GROUP BY f.id, f.name, f.bytes, f.xxh3, f.layout, f.state, f.origin, f.audited ORDER BY f.id",
        literal(tables.as_bytes())
    ))?;
    Ok(rows.rows.iter().map(|row| known(row)).collect())
}

fn known(row: &[Option<String>]) -> KnownFile {
    let text = |at: usize| row.get(at).and_then(Option::as_deref).unwrap_or_default();
    let number = |at: usize| text(at).parse().unwrap_or(0);
    let corrected = number(13);
    KnownFile {
        id: number(0),
        name: String::from_utf8_lossy(&unhex(text(1))).into_owned(),
        content: (number(2), number(3)),
        layout: number(4),
        done: text(5) == "done",
        origin: Origin::of(text(6)),
        end: number(7),
        records: number(8),
        rows: number(9) + corrected,
        rejects: number(10).saturating_sub(corrected),
        has_holes: text(11) != "0",
        audited: text(12) == "1",
    }
}

pub(super) fn unhex(digits: &str) -> Vec<u8> {
    let byte = |at: usize| digits.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
    (0..digits.len()).step_by(2).filter_map(byte).collect()
}

/// Notes that a file is begun; its number.
pub(crate) fn begin(
    control: &mut Control,
    tables: &str,
    (name, (bytes, hash)): (&str, (u64, u64)),
    layout: u64,
    origin: Origin,
) -> Result<u64, TargetError> {
    let (tables, name, origin) = (literal(tables.as_bytes()), literal(name.as_bytes()), origin.word());
    let sql = format!(
        "INSERT INTO {FILES} (tables_loaded, name, bytes, xxh3, layout, state, origin) \
         VALUES ({tables}, {name}, {bytes}, {hash}, {layout}, 'begun', '{origin}')"
    );
    control.run(&sql, None).map(|outcome| outcome.last_insert_id)
}

/// Notes that a file has grown since its first bytes were loaded.
pub(crate) fn grow(control: &mut Control, id: u64, (bytes, hash): (u64, u64)) -> Result<(), TargetError> {
    let sql = format!(
        "UPDATE {FILES} SET bytes = {bytes}, xxh3 = {hash}, state = 'begun', audited = 0 WHERE id = {id}"
    );
    control.exec(&sql).map(drop)
}

/// Says in the transaction of a part that these bytes are its own. What it brought is told at the end.
pub(crate) fn claim(control: &mut Control, id: u64, (begin, end): (u64, u64)) -> Result<(), TargetError> {
    let columns = "file_id, begin_byte, end_byte, records, rows_stored, rejects";
    control.exec(&format!("INSERT INTO {PARTS} ({columns}) VALUES ({id}, {begin}, {end}, 0, 0, 0)")).map(drop)
}

/// Says in the same transaction what the part brought, and whether the file ends with it.
pub(crate) fn tell(
    control: &mut Control,
    (id, begin): (u64, u64),
    brought: &Tally,
    is_last: bool,
) -> Result<(), TargetError> {
    let Tally { records, lines, rejects, .. } = brought;
    let rows: u64 = lines.iter().sum();
    control.exec(&format!(
        "UPDATE {PARTS} SET records = {records}, rows_stored = {rows}, rejects = {rejects} \
         WHERE file_id = {id} AND begin_byte = {begin}"
    ))?;
    if is_last {
        control.exec(&format!("UPDATE {FILES} SET state = 'done' WHERE id = {id}"))?;
    }
    Ok(())
}

/// Notes that all that is in of these files was audited; those that are not done have more to come.
pub(super) fn audited(control: &mut Control, files: &[KnownFile]) -> Result<(), TargetError> {
    let Some(ids) = ids(files) else { return Ok(()) };
    control.exec(&format!("UPDATE {FILES} SET audited = 1 WHERE state = 'done' AND id IN ({ids})")).map(drop)
}

/// Forgets that any byte of these files is in, all at once; with `also_files` that they were begun too.
pub(crate) fn forget(
    control: &mut Control,
    files: &[KnownFile],
    also_files: bool,
) -> Result<(), TargetError> {
    let Some(ids) = ids(files) else { return Ok(()) };
    control.exec("BEGIN")?;
    for table in [PARTS, CORRECTED] {
        control.exec(&format!("DELETE FROM {table} WHERE file_id IN ({ids})"))?;
    }
    control.exec(&match also_files {
        true => format!("DELETE FROM {FILES} WHERE id IN ({ids})"),
        false => format!("UPDATE {FILES} SET state = 'begun', audited = 0 WHERE id IN ({ids})"),
    })?;
    control.exec("COMMIT").map(drop)
}

/// Within a transaction of the caller's.
pub(super) fn remove(control: &mut Control, file: &KnownFile) -> Result<(), TargetError> {
    for table in [PARTS, CORRECTED] {
        control.exec(&format!("DELETE FROM {table} WHERE file_id = {}", file.id))?;
    }
    control.exec(&format!("DELETE FROM {FILES} WHERE id = {}", file.id)).map(drop)
}

fn ids(files: &[KnownFile]) -> Option<String> {
    let ids: Vec<String> = files.iter().map(|file| file.id.to_string()).collect();
    (!ids.is_empty()).then(|| ids.join(", "))
}
