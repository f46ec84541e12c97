//! What the manifest knows of dispatches from tables without transactions: parts whose rows have gone to day tables.
//!
//! A load that was cut empties such a table and begins again. That may only concern rows that are still there, so that a dispatch
//! marks the parts that it takes. With transactions nothing is ever emptied, and nothing is marked.

use super::manifest::{self, FILES, PARTS};
use crate::table::{literal, quoted};
use evenkeel_site::server::{Control, TargetError};

fn of(source: &str) -> String {
    let name = literal(source.as_bytes());
    format!("(tables_loaded = {name} OR FIND_IN_SET({name}, tables_loaded))")
}

/// Whether anything was ever loaded in this database.
pub(crate) fn is_there(control: &mut Control) -> Result<bool, TargetError> {
    let sql = format!(
        "SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '{FILES}'"
    );
    let is_there = control.query_value(&sql)?.is_some();
    if is_there {
        manifest::create(control)?;
    }
    Ok(is_there)
}

/// The statement that marks all parts of files that are wholly loaded into a table.
pub(crate) fn mark_sql(source: &str) -> String {
    format!(
        "UPDATE {PARTS} SET dispatched = 1 WHERE dispatched = 0 AND file_id IN \
         (SELECT id FROM {FILES} WHERE state = 'done' AND {})",
        of(source)
    )
}

/// A file whose load into a table was cut, where rows of it may be there: they cannot be told from others.
pub(crate) fn cut_file(control: &mut Control, source: &str) -> Result<Option<String>, TargetError> {
    let files = of(source);
    let sql = format!("SELECT HEX(name) FROM {FILES} WHERE state = 'begun' AND {files} ORDER BY id LIMIT 1");
    let Some(name) = control.query_value(&sql)? else { return Ok(None) };
    let whole = control.query_value(&format!(
        "SELECT COALESCE(SUM(p.rows_stored), 0) FROM {PARTS} AS p JOIN {FILES} AS f ON f.id = p.file_id \
         WHERE p.dispatched = 0 AND f.state = 'done' AND {files}"
    ))?;
    let there = control.query_value(&format!("SELECT COUNT(*) FROM {}", quoted(source)))?;
    Ok((whole != there).then(|| manifest::unhex(&name)))
}
