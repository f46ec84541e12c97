//! A private server that runs: its tables are held one by one while their files are read, and it is asked for names.

use crate::failure::WithHint;
use anyhow::{Result, anyhow};
use evenkeel_os::Stop;
use evenkeel_sense::pages::{IndexLayout, IndexName, Names, Room, Tablespace, holder, read};
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
        // MySQL has tablespaces that several tables share besides the system's.
        let is_own = if self.prefix == "INNODB_" { "t.SPACE_TYPE = 'Single'" } else { "t.SPACE <> 0" };
        format!(
            "SELECT t.NAME, {is_own} FROM information_schema.{}TABLES t \
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

/// Reads the files of a server's tables, or of those of the target's database, each while the server holds it still; a range of keys reads `range` of an index. Writers of a table
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
    let mut names = names(&mut control, &lists)?;
    let (mut found, mut unread) = (Vec::new(), Vec::new());
    let database = target.database.as_deref();
    for row in control.query(&lists.tables())?.rows {
        let [Some(name), Some(own)] = row.as_slice() else { continue };
        let is_elsewhere = database.is_some_and(|database| !is_in(name, database));
        if is_elsewhere || is_of_full_text(name) || table.is_some_and(|table| !is_named(name, table)) {
            continue;
        }
        match read_one(&mut control, data, (name, own == "1"), range, stop) {
            Ok((path, space)) => {
                // MySQL lists no indexes of partitions.
                let _ = names.add_of_tablespace(&path);
                found.push((path, space));
            }
            Err(error) if table.is_some() || stop.is_set() => return Err(error),
            Err(error) => unread.push((name.clone(), error)),
        }
    }
    if found.is_empty() && !unread.is_empty() {
        return Err(unread.swap_remove(0).1);
    }
    unread.into_iter().for_each(|(name, error)| left(&name, error));
    Ok(found.into_iter().map(|(path, space)| FoundFile::new(&path, space, &names)).collect())
}

fn read_one(
    control: &mut Control,
    data: &Path,
    (name, is_own): (&str, bool),
    range: f64,
    stop: &Stop,
) -> Result<(PathBuf, Tablespace)> {
    if !is_own {
        return Err(anyhow!("table {name} lies in a shared tablespace, which a running server writes to"))
            .hint("stop the server first (a sandbox by evenkeel sandbox down NAME), and name the tablespace's file");
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

#[derive(Debug)]
pub struct FoundFile {
    /// Where the file is.
    pub path: PathBuf,
    pub space: Tablespace,
    /// Its indexes in the order of [`Tablespace::indexes`].
    pub names: Vec<IndexName>,
}

#[derive(Clone, Copy, Debug)]
pub struct FoundIndex<'a> {
    pub name: &'a IndexName,
    pub layout: &'a IndexLayout,
}

impl FoundFile {
    pub fn new(path: &Path, space: Tablespace, names: &Names) -> Self {
        let own = label(path);
        let name = |index: &IndexLayout| {
            let unknown = || IndexName { table: own.clone(), index: format!("index {}", index.id) };
            match names.get(index.id).unwrap_or_else(unknown) {
                // MySQL's files name a partition by its table.
                IndexName { index, .. } if table_of(&own).1.is_some() => {
                    IndexName { table: own.clone(), index }
                }
                name => name,
            }
        };
        let names = space.indexes.iter().map(name).collect();
        Self { path: path.to_owned(), space, names }
    }

    /// Indexes of a table, or of all but the server's own, by table and then as they were made.
    pub fn indexes(&self, table: Option<&str>, all: bool) -> Vec<FoundIndex<'_>> {
        let found = self.names.iter().zip(&self.space.indexes);
        let mut found: Vec<_> = found.map(|(name, layout)| FoundIndex { name, layout }).collect();
        found.retain(|index| match table {
            Some(table) => is_named(&index.name.table, table),
            None => all || !is_own(&index.name.table),
        });
        found.sort_by(|a, b| (&a.name.table, a.layout.id).cmp(&(&b.name.table, b.layout.id)));
        found
    }

    /// The room of its table, where it holds that of one alone; partitions have a file each.
    pub fn room(&self) -> Option<Room> {
        let first = self.names.first()?;
        let is_one = self.space.format.space != 0 && self.names.iter().all(|name| name.table == first.table);
        is_one.then(|| Room::of(&self.space))
    }

    pub fn name_of(&self, id: u64) -> Option<&IndexName> {
        self.space.indexes.iter().position(|index| index.id == id).and_then(|at| self.names.get(at))
    }
}

/// Whether a table is the server's own.
fn is_own(table: &str) -> bool {
    let database = table.split_once('/').map_or("", |(database, _)| database);
    matches!(database, "mysql" | "sys" | "performance_schema")
        || table.starts_with("SYS_")
        || matches!(table, "change buffer" | "ibdata1")
}

/// Whether a table is one in which InnoDB keeps a full-text index: `shop/FTS_0000000000000015_CONFIG`.
pub fn is_of_full_text(table: &str) -> bool {
    let name = table.rsplit('/').next().unwrap_or_default().as_bytes();
    let is_number = |bytes: &[u8]| bytes.iter().all(u8::is_ascii_hexdigit);
    name.len() > 20 && name[..4].eq_ignore_ascii_case(b"fts_") && is_number(&name[4..20]) && name[20] == b'_'
}

/// The table of a file, as the server's dictionary writes it: `shop/item`.
pub fn label(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let is_table = path.extension().is_some_and(|end| end == "ibd");
    let database = path.parent().and_then(Path::file_name).filter(|_| is_table);
    database.map_or_else(|| stem.clone().into_owned(), |name| format!("{}/{stem}", name.to_string_lossy()))
}

/// Whether a table of the dictionary is in this database.
fn is_in(found: &str, database: &str) -> bool {
    let name = found.split_once('/').map_or("", |(name, _)| name);
    name == database || decoded(name).as_deref() == Some(database)
}

/// Whether a table of the dictionary (`shop/item`, a partition `shop/item#P#p0`) is meant by `item`, `shop.item` or `shop/item`.
pub fn is_named(found: &str, wanted: &str) -> bool {
    let whole = table_of(found).0;
    let Some((database, table)) = whole.split_once('/') else { return whole == wanted };
    // What cannot be decoded is named as the file is.
    let [database, table] = [database, table].map(|name| decoded(name).unwrap_or_else(|| name.to_owned()));
    wanted == table || [".", "/"].iter().any(|between| wanted == format!("{database}{between}{table}"))
}

/// A table of the dictionary, and its partition: `shop/item#P#p0`, with small letters in MySQL 8.
pub fn table_of(found: &str) -> (&str, Option<&str>) {
    let split = found.split_once("#P#").or_else(|| found.split_once("#p#"));
    split.map_or((found, None), |(table, partition)| (table, Some(partition)))
}

/// A name as people write it. The dictionary has letters beyond plain ones by their number, `@002d` for a hyphen; `None` where it has one by
/// another code, which MySQL uses for letters of some scripts.
pub fn decoded(name: &str) -> Option<String> {
    let mut parts = name.split('@');
    let mut text = parts.next()?.to_owned();
    for part in parts {
        let (code, rest) = part.split_at_checked(4)?;
        text.push(char::from_u32(u32::from_str_radix(code, 16).ok()?)?);
        text.push_str(rest);
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_named_with_its_database_or_without() {
        for wanted in ["item", "shop.item", "shop/item"] {
            assert!(is_named("shop/item", wanted) && is_named("shop/item#P#p0", wanted), "{wanted}");
            assert!(!is_named("shop/items", wanted) && !is_named("item/shop", wanted), "{wanted}");
        }
        assert!(is_named("my@002dshop/order@002dlines#p#p0", "my-shop.order-lines"));
        assert!(is_named("a@002eb/item", "a.b.item") && !is_named("a@1zb/item", "item@"));
        assert!(is_named("shop/b@0vcher", "shop.b@0vcher") && !is_named("shop/b@0vcher", ""));
        assert_eq!(
            (decoded("we@0060ird@003b@0020db").as_deref(), decoded("db@0p")),
            (Some("we`ird; db"), None)
        );
        assert!(is_in("my@002dshop/item", "my-shop") && !is_in("shops/item", "shop"));
        assert!(is_of_full_text("shop/FTS_0000000000000015_CONFIG") && !is_of_full_text("shop/fts_queue"));
        assert!(!is_of_full_text("shop/fts_of_all_the_orders_of_today") && !is_of_full_text("FTS_"));
        assert_eq!(label(Path::new("/data/shop/item.ibd")), "shop/item");
        assert_eq!(label(Path::new("/data/ibdata1")), "ibdata1");
    }
}
