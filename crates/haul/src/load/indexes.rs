//! Indexes that come after the rows.

use crate::HaulError;
use crate::table::{Table, literal};
use evenkeel_site::server::Control;
use std::collections::BTreeMap;

pub(super) fn missing(control: &mut Control, table: &Table) -> Result<Option<String>, HaulError> {
    let rows = control.query(&format!(
        "SELECT INDEX_NAME, COLUMN_NAME FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() \
         AND TABLE_NAME = CONVERT({} USING utf8) ORDER BY INDEX_NAME, SEQ_IN_INDEX",
        literal(table.name.as_bytes())
    ))?;
    let mut there: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in rows.rows {
        let [Some(index), Some(column)] = &row[..] else { continue };
        there.entry(index.clone()).or_default().push(column.clone());
    }
    let mut missing = table.clone();
    missing.indexes.retain(|index| !there.values().any(|known| known == index));
    if there.contains_key("PRIMARY") {
        missing.primary.clear();
    }
    Ok(missing.add_indexes_sql())
}
