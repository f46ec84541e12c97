//! What came of rejects that were corrected, as the server has it.

use super::manifest::{CORRECTED, FILES, unhex};
use super::part::{Part, split};
use crate::dispatch::Day;
use crate::table::literal;
use evenkeel_site::server::{Control, TargetError};
use std::collections::BTreeMap;

/// Bytes of a statement, far below any server's `max_allowed_packet`.
const STATEMENT: usize = 1 << 20;

/// What came of a reject.
#[derive(Clone, Debug)]
pub(crate) struct Correction {
    pub record: Vec<u8>,
    /// Its type and its line, where it is stored; otherwise it is still a reject.
    pub stored: Option<(usize, Vec<u8>)>,
}

/// By offset of the record in its file.
pub(crate) type Corrections = BTreeMap<u64, Correction>;

/// Whether there are any, as far as the account may see.
pub(crate) fn any(control: &mut Control) -> Result<bool, TargetError> {
    match control.query_value(&format!("SELECT 1 FROM {CORRECTED} LIMIT 1")) {
        Err(TargetError::Statement { code: 1142 | 1146, .. }) => Ok(false),
        found => Ok(found?.is_some()),
    }
}

/// Those of a file with this content that was loaded into one of the tables, or into the source of one.
pub(crate) fn read(
    control: &mut Control,
    tables: &[&str],
    (bytes, hash): (u64, u64),
) -> Result<Corrections, TargetError> {
    let is_day =
        |text: &str| text.strip_prefix('_').is_some_and(|day| day.len() == 8 && Day::parse(day).is_some());
    let is_of = |source: &str| {
        let is_own = |rest: &str| rest.is_empty() || is_day(rest);
        tables.iter().any(|table| table.strip_prefix(source).is_some_and(is_own))
    };
    select(control, &format!("f.bytes = {bytes} AND f.xxh3 = {hash}"), &|named| named.split(',').any(is_of))
}

/// Those of a file that was loaded, by its number.
pub(super) fn of_file(control: &mut Control, id: u64) -> Result<Corrections, TargetError> {
    select(control, &format!("f.id = {id}"), &|_| true)
}

fn select(
    control: &mut Control,
    which: &str,
    is_of: &dyn Fn(&str) -> bool,
) -> Result<Corrections, TargetError> {
    let found = control.query(&format!(
        "SELECT HEX(f.tables_loaded), c.at_byte, c.record_type, HEX(c.record), HEX(c.line) \
         FROM {CORRECTED} c JOIN {FILES} f ON f.id = c.file_id WHERE {which}"
    ))?;
    let mut all = Corrections::new();
    for row in &found.rows {
        let [Some(named), Some(at), of, Some(record), line] = &row[..] else { continue };
        if is_of(&String::from_utf8_lossy(&unhex(named))) {
            let stored = of.as_ref().and_then(|of| of.parse().ok()).zip(line.as_deref().map(unhex));
            all.insert(at.parse().unwrap_or(0), Correction { record: unhex(record), stored });
        }
    }
    Ok(all)
}

/// Writes down, in the transaction of its rows, what came of the rejects of a part.
pub(super) fn write(control: &mut Control, part: &Part) -> Result<(), TargetError> {
    let mut lines: BTreeMap<u64, (usize, &[u8])> = BTreeMap::new();
    for (of, (all, places)) in part.lines.iter().zip(&part.places).enumerate() {
        let each = split(all).zip(places);
        lines.extend(each.map(|(line, at)| (*at, (of, line))));
    }
    let mut values = String::new();
    for (number, (at, record)) in part.corrected.iter().enumerate() {
        let (of, line) = match lines.get(at) {
            Some((of, line)) => (of.to_string(), literal(line)),
            None => ("NULL".to_owned(), "NULL".to_owned()),
        };
        let comma = if values.is_empty() { "" } else { "," };
        values.push_str(&format!("{comma}({}, {at}, {of}, {}, {line})", part.file, literal(record)));
        if values.len() > STATEMENT || number + 1 == part.corrected.len() {
            control.exec(&format!(
                "REPLACE INTO {CORRECTED} (file_id, at_byte, record_type, record, line) VALUES {values}"
            ))?;
            values.clear();
        }
    }
    Ok(())
}
