//! A load into tables without transactions that was cut: its rows cannot be told from those of others.

use super::files::{self, Looked};
use super::manifest::{self, KnownFile, Origin};
use crate::input::is_packed;
use crate::table::{Table, quoted};
use crate::{HaulError, refused};
use evenkeel_site::server::Control;

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
    let mut rows = count(control, tables)?;
    let done: u64 = known.iter().filter(|file| file.done).map(|file| file.rows).sum();
    if rows == done && uncover(control, tables)? {
        rows = count(control, tables)?;
    }
    if rows == done {
        manifest::forget(control, &begun, true)?;
        return Ok(None);
    }
    let refuse = |why: String| {
        let what =
            "was interrupted; its rows cannot be distinguished from others, and the tables cannot be emptied";
        let hint = "name all files that were loaded into it, or remove by hand what the cut load brought, and take --again on an empty table";
        Err(refused(format!("a load into {named} {what}: {why}"), hint).into())
    };
    if known.iter().any(|file| file.origin == Origin::Filled) {
        return refuse("rows of others were in them before the load".to_owned());
    }
    let is_there = |file: &KnownFile| looked.iter().any(|now| is_same(file, now));
    if let Some(missing) = known.iter().find(|file| !is_there(file)) {
        return refuse(format!("{} was loaded too, and is not among the files of this load", missing.name));
    }
    let most = begun.iter().map(|file| most_rows(file, looked, shortest)).fold(done, u64::saturating_add);
    if rows > most {
        return refuse(format!(
            "they have {rows} rows, but the loaded and interrupted files account for at most {most}"
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

/// Whether a file is there: as it was, or one that was begun and has grown since.
fn is_same(file: &KnownFile, now: &Looked) -> bool {
    let path = &now.path;
    let is_longer = || now.content.0 > file.content.0 && path.to_string_lossy() == file.name;
    let begins_alike = || files::hash(path, file.content.0).is_ok_and(|hash| hash == file.content.1);
    now.content == file.content || (!file.done && is_longer() && begins_alike())
}

/// Has tables count what is in them; whether one of them did not. A server that was killed within a statement leaves rows in the
/// file of a MyISAM table that its head does not count: the table looks empty, and the next load fails in it.
fn uncover(control: &mut Control, tables: &[Table]) -> Result<bool, HaulError> {
    let mut found = false;
    for table in tables {
        let name = quoted(&table.name);
        let said = control.query(&format!("CHECK TABLE {name}"))?;
        let is_ok = said.rows.last().and_then(|row| row.last()).and_then(Option::as_deref) == Some("OK");
        if !is_ok {
            control.query(&format!("REPAIR TABLE {name}"))?;
            found = true;
        }
    }
    Ok(found)
}

fn most_rows(file: &KnownFile, looked: &[Looked], shortest: u64) -> u64 {
    match looked.iter().find(|now| is_same(file, now)) {
        Some(now) if !is_packed(&now.path) => file.content.0 / shortest.max(1) + 1,
        _ => u64::MAX,
    }
}
