//! The server builds a table anew by itself.

use super::RelayoutError;
use super::facts::named;
use super::session::explained;
use crate::server::{Control, quoted};
use serde::Serialize;

/// Whom a relayout keeps waiting while it builds. At its end everybody waits for a moment, or for who is at the table then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Waits {
    /// Nobody, but for moments at the begin and the end.
    Nobody,
    /// Who writes to the table, all the time that it takes.
    Writers,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Done {
    pub waits: Waits,
}

/// From the one that keeps nobody waiting to the one that any table allows.
const MANNERS: [(&str, &str, Waits); 3] = [
    ("INPLACE", "NONE", Waits::Nobody),
    ("INPLACE", "SHARED", Waits::Writers),
    ("COPY", "SHARED", Waits::Writers),
];

/// ER_ALTER_OPERATION_NOT_SUPPORTED, and the same with a reason: for a table like this one another manner has to be taken.
const NOT_SUPPORTED: [u16; 2] = [1845, 1846];

/// Whether it has a column that the server computes where a row is written, and does not where rows stay as they are.
fn has_stored(control: &mut Control, table: &str) -> Result<bool, RelayoutError> {
    let sql = format!(
        "SELECT 1 FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = {} \
         AND EXTRA LIKE '%STORED GENERATED%' LIMIT 1",
        named(table)
    );
    Ok(control.query_value(&sql)?.is_some())
}

/// Has the server do it, in the first manner that it takes.
pub(super) fn run(
    control: &mut Control,
    table: &str,
    tell: &mut dyn FnMut(&str),
) -> Result<Done, RelayoutError> {
    let mut refused = RelayoutError::NoTable(table.to_owned());
    let computes = has_stored(control, table)?;
    for (algorithm, lock, waits) in MANNERS {
        if computes && algorithm == "COPY" {
            return Err(RelayoutError::Refused {
                table: table.to_owned(),
                what: "has a stored generated column, whose values a copy may change, and the server cannot \
                       rebuild it in place"
                    .to_owned(),
                hint: "drop what prevents the rebuild, such as a FULLTEXT index, and add it again afterwards",
            });
        }
        tell(&format!("rebuilding {table} (ALGORITHM={algorithm}, LOCK={lock})"));
        let sql = format!("ALTER TABLE {} FORCE, ALGORITHM={algorithm}, LOCK={lock}", quoted(table));
        match control.exec(&sql) {
            Ok(_) => return Ok(Done { waits }),
            Err(error) => {
                let is_other_manner = error.code().is_some_and(|code| NOT_SUPPORTED.contains(&code));
                refused = explained(error, table);
                if !is_other_manner {
                    break;
                }
            }
        }
    }
    Err(refused)
}
