//! A private server that runs: its tables are held one by one while their files are read, and it is asked for names.

use super::found::{FoundFile, is_named};
use crate::failure::WithHint;
use anyhow::{Result, anyhow};
use evenkeel_os::stop::Stop;
use evenkeel_sense::pages::{IndexName, Names, Wanted, read};
use evenkeel_site::server::{Control, Target};
use std::path::Path;

/// Tables with their files, and whether these are their own.
const TABLES: &str = "SELECT t.NAME, t.SPACE <> 0 FROM information_schema.INNODB_SYS_TABLES t \
     WHERE t.NAME LIKE '%/%' AND t.NAME NOT LIKE 'mysql/%' AND t.NAME NOT LIKE 'sys/%' ORDER BY 1";
const INDEXES: &str = "SELECT i.INDEX_ID, t.NAME, i.NAME FROM information_schema.INNODB_SYS_INDEXES i \
     JOIN information_schema.INNODB_SYS_TABLES t ON t.TABLE_ID = i.TABLE_ID";

/// Reads the files of a server's tables, each while the server holds it still. Writers of a table wait for as long as its file takes.
pub fn read_live(
    target: &Target,
    data: &Path,
    table: Option<&str>,
    wanted: &Wanted,
    stop: &Stop,
) -> Result<Vec<FoundFile>> {
    let mut control = Control::connect_until(&Target { database: None, ..target.clone() }, stop)?;
    let names = names(&mut control)?;
    let mut found = Vec::new();
    for row in control.query(TABLES)?.rows {
        let [Some(name), Some(own)] = row.as_slice() else { continue };
        if table.is_some_and(|table| !is_named(name, table)) {
            continue;
        }
        if own != "1" {
            return Err(anyhow!(
                "table {name} lies in the shared tablespace, which a running server writes to"
            ))
            .hint("stop the server first: evenkeel sandbox down NAME");
        }
        let path = data.join(format!("{name}.ibd"));
        control.exec(&format!("FLUSH TABLES {} FOR EXPORT", quoted(name)?))?;
        let outcome = read(&path, wanted, stop);
        control.exec("UNLOCK TABLES")?;
        found.push(FoundFile::new(&path, outcome?, &names));
    }
    Ok(found)
}

fn names(control: &mut Control) -> Result<Names> {
    let rows = control.query(INDEXES)?.rows.into_iter();
    Ok(Names::new(rows.filter_map(|row| {
        let mut fields = row.into_iter().flatten();
        let id = fields.next()?.parse().ok()?;
        Some((id, IndexName { table: fields.next()?, index: fields.next()? }))
    })))
}

/// A table's name for a statement. The dictionary has odd characters in codes, which are not decoded here.
fn quoted(name: &str) -> Result<String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'/');
    match name.split_once('/') {
        Some((database, table)) if name.bytes().all(is_plain) => Ok(format!("`{database}`.`{table}`")),
        _ => Err(anyhow!("table {name} has a name that a running server cannot be asked for here"))
            .hint("name the other tables by --table, or stop the server first"),
    }
}
