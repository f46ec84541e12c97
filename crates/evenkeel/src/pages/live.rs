//! A private server that runs: its tables are held one by one while their files are read, and it is asked for names.

use super::found::{FoundFile, decoded, is_named, is_of_full_text, table_of};
use crate::failure::WithHint;
use anyhow::{Result, anyhow};
use evenkeel_os::stop::Stop;
use evenkeel_sense::pages::{IndexName, Names, Tablespace, holder, read};
use evenkeel_site::server::{Control, Local, Target, TargetError};
use std::path::{Path, PathBuf};

/// Seconds that a transaction on a table is waited for.
const WAIT_S: u32 = 2;
/// ER_LOCK_WAIT_TIMEOUT: somebody held the table for longer.
const LOCK_TIMED_OUT: u16 = 1205;

/// How a server calls its lists of tables and indexes: `INNODB_SYS_` before their names in MariaDB and MySQL 5.7, `INNODB_` in MySQL 8.
struct Lists {
    prefix: &'static str,
}

impl Lists {
    fn of(control: &mut Control) -> Result<Self> {
        let found = control.query_value(
            "SELECT COUNT(*) FROM information_schema.TABLES \
             WHERE TABLE_SCHEMA = 'information_schema' AND TABLE_NAME = 'INNODB_SYS_TABLES'",
        )?;
        let is_there = found.is_some_and(|count| count != "0");
        Ok(Self { prefix: if is_there { "INNODB_SYS_" } else { "INNODB_" } })
    }

    /// Tables with their files, and whether these are their own.
    fn tables(&self) -> String {
        format!(
            "SELECT t.NAME, t.SPACE <> 0 FROM information_schema.{}TABLES t \
             WHERE t.NAME LIKE '%/%' AND t.NAME NOT LIKE 'mysql/%' AND t.NAME NOT LIKE 'sys/%' ORDER BY 1",
            self.prefix
        )
    }

    fn indexes(&self) -> String {
        let prefix = self.prefix;
        format!(
            "SELECT i.INDEX_ID, t.NAME, i.NAME FROM information_schema.{prefix}INDEXES i \
             JOIN information_schema.{prefix}TABLES t ON t.TABLE_ID = i.TABLE_ID"
        )
    }
}

/// Where the files of a server lie, provided that it runs on this machine and they can be seen here: a folder of the same name may be
/// another server's, so that the server's process must have its files open.
pub fn data_of(control: &mut Control) -> Result<Option<PathBuf>> {
    let local = Local::of(control).filter(|local| holder(&local.data_dir.join("ibdata1")) == Some(local.pid));
    Ok(local.map(|local| local.data_dir))
}

/// Reads the files of a server's tables, each while the server holds it still; a range of keys reads `range` of an index. Writers of a table
/// wait for as long as its file takes. Where all tables are wanted, one that cannot be read is handed over to `left` with the reason; where
/// none can be read, that is the error.
pub fn read_live(
    target: &Target,
    data: &Path,
    table: Option<&str>,
    range: f64,
    stop: &Stop,
    left: &mut dyn FnMut(&str, anyhow::Error),
) -> Result<Vec<FoundFile>> {
    let mut control = Control::connect_until(&Target { database: None, ..target.clone() }, stop)?;
    control.exec(&format!("SET SESSION lock_wait_timeout = {WAIT_S}"))?;
    let lists = Lists::of(&mut control)?;
    let names = names(&mut control, &lists)?;
    let (mut found, mut unread) = (Vec::new(), Vec::new());
    for row in control.query(&lists.tables())?.rows {
        let [Some(name), Some(own)] = row.as_slice() else { continue };
        if is_of_full_text(name) || table.is_some_and(|table| !is_named(name, table)) {
            continue;
        }
        match read_one(&mut control, data, (name, own == "1"), range, stop) {
            Ok((path, space)) => found.push(FoundFile::new(&path, space, &names)),
            Err(error) if table.is_some() || stop.is_set() => return Err(error),
            Err(error) => unread.push((name.clone(), error)),
        }
    }
    if found.is_empty() && !unread.is_empty() {
        return Err(unread.swap_remove(0).1);
    }
    unread.into_iter().for_each(|(name, error)| left(&name, error));
    Ok(found)
}

fn read_one(
    control: &mut Control,
    data: &Path,
    (name, is_own): (&str, bool),
    range: f64,
    stop: &Stop,
) -> Result<(PathBuf, Tablespace)> {
    if !is_own {
        return Err(anyhow!("table {name} lies in the shared tablespace, which a running server writes to"))
            .hint("stop the server first: evenkeel sandbox down NAME");
    }
    let path = data.join(format!("{name}.ibd"));
    control.exec(&format!("FLUSH TABLES {} FOR EXPORT", quoted(name)?)).map_err(|error| busy(error, name))?;
    let outcome = read(&path, range, stop);
    control.exec("UNLOCK TABLES")?;
    Ok((path, outcome?))
}

/// Who waits for a table keeps all others from it that come after, so that we do not wait for long.
fn busy(error: TargetError, name: &str) -> anyhow::Error {
    match error.code() {
        Some(LOCK_TIMED_OUT) => {
            anyhow!("table {name} cannot be read now: a transaction of another client uses it")
        }
        _ => error.into(),
    }
}

fn names(control: &mut Control, lists: &Lists) -> Result<Names> {
    let rows = control.query(&lists.indexes())?.rows;
    let named = rows.iter().filter_map(|row| {
        let [Some(id), Some(table), Some(index)] = row.as_slice() else { return None };
        Some((id.parse::<u64>().ok()?, IndexName { table: table.clone(), index: index.clone() }))
    });
    Ok(Names::new(named))
}

/// A table's name for a statement. Partitions are held with their table.
fn quoted(name: &str) -> Result<String> {
    let parts = table_of(name).0.split('/').map(decoded).collect::<Option<Vec<String>>>();
    let parts = parts.ok_or_else(|| {
        anyhow!("the name of table {name} has letters that cannot be converted, so the server cannot be told to hold it")
    });
    let parts = parts.hint("name the other tables by --table, or stop the server first")?;
    Ok(parts.iter().map(|part| evenkeel_site::server::quoted(part)).collect::<Vec<_>>().join("."))
}
