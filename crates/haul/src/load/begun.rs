//! A load into tables without transactions that was cut: its rows cannot be told from those of others.

use super::LoadError;
use super::files::Looked;
use super::manifest::{self, KnownFile, Origin};
use crate::HaulError;
use crate::input::{Input, is_packed};
use crate::table::{Table, quoted};
use evenkeel_site::server::Control;

/// Rows of all tables.
pub(super) fn count(control: &mut Control, tables: &[Table]) -> Result<u64, HaulError> {
    let mut sum = 0;
    for table in tables {
        let count = control.query_value(&format!("SELECT COUNT(*) FROM {}", quoted(&table.name)))?;
        sum += count.and_then(|count| count.parse::<u64>().ok()).unwrap_or(0);
    }
    Ok(sum)
}

/// Empties the tables where a load into them was cut, and forgets that any file was loaded; says so. Nothing is done where no row
/// of the cut load is there, or where no load was cut.
///
/// # Errors
/// Rows would be lost that no load brought, or whose file is not among those that are loaded now.
pub(super) fn settle(
    control: &mut Control,
    (tables, named): (&[Table], &str),
    known: &[KnownFile],
    looked: &[Looked],
    shortest: u64,
) -> Result<Option<String>, HaulError> {
    let begun: Vec<KnownFile> = known.iter().filter(|file| !file.done).cloned().collect();
    if begun.is_empty() {
        return Ok(None);
    }
    let rows = count(control, tables)?;
    let done: u64 = known.iter().filter(|file| file.done).map(|file| file.rows).sum();
    if rows == done {
        manifest::forget(control, &begun, true)?;
        return Ok(None);
    }
    let refuse = |why| Err(LoadError::NotOurs { tables: named.to_owned(), why }.into());
    if known.iter().any(|file| file.origin == Origin::Filled) {
        return refuse("rows of others were in them before the load".to_owned());
    }
    let is_there = |file: &KnownFile| looked.iter().any(|now| now.content == file.content);
    if let Some(missing) = known.iter().find(|file| !is_there(file)) {
        return refuse(format!("{} was loaded too, and is not among the files of this load", missing.name));
    }
    let most = begun.iter().map(|file| most_rows(file, looked, shortest)).fold(done, u64::saturating_add);
    if rows > most {
        return refuse(format!(
            "they have {rows} rows, and the files that were begun cannot have brought more than {most}"
        ));
    }
    // In this order: a kill between both leaves tables whose load was cut, as before.
    manifest::forget(control, known, false)?;
    for table in tables {
        control.exec(&format!("TRUNCATE TABLE {}", quoted(&table.name)))?;
    }
    Ok(Some(format!(
        "a load into {named} was cut, and without transactions its rows cannot be told apart: emptied of {rows} rows, and all {} \
         files begin again",
        known.len()
    )))
}

/// Rows that a file can have brought at most; of a packed one nobody knows.
fn most_rows(file: &KnownFile, looked: &[Looked], shortest: u64) -> u64 {
    let now = looked.iter().find(|now| now.content == file.content);
    match now.map(|now| &now.input) {
        Some(Input::File(path)) if !is_packed(path) => file.content.0 / shortest.max(1) + 1,
        _ => u64::MAX,
    }
}
