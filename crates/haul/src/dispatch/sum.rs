//! Sums over the rows of a table, and the repair of one whose server was killed.

use super::{DispatchError, Shape};
use crate::table::quoted;
use evenkeel_site::server::{Control, row_hash, sum_of_hashes};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sum {
    pub count: u64,
    pub checksum: u128,
}

impl Sum {
    pub fn and(self, other: Self) -> Self {
        Self { count: self.count + other.count, checksum: self.checksum + other.checksum }
    }
}

/// The SHA-256 of a row's values, as an expression.
fn hash(shape: &Shape) -> String {
    let is_float =
        |name: &String| shape.columns.iter().any(|(other, kind)| other == name && kind.starts_with("float"));
    let columns: Vec<(String, bool)> =
        shape.given.iter().map(|name| (quoted(name), is_float(name))).collect();
    row_hash(columns.iter().map(|(name, is_float)| (name.as_str(), *is_float)))
}

/// Adds the rows of a table up: by the first 64 bits of their hashes.
pub(super) fn sum(
    control: &mut Control,
    shape: &Shape,
    table: &str,
    which: &str,
) -> Result<Sum, DispatchError> {
    let hash = hash(shape);
    let rows = control.query(&format!(
        "SELECT COUNT(*), {}, COALESCE(SUM({hash} IS NULL), 0) FROM {} WHERE {which}",
        sum_of_hashes(&hash),
        quoted(table)
    ))?;
    let text = |place: usize| rows.rows.first().and_then(|row| row[place].clone()).unwrap_or_default();
    match (text(0).parse(), text(1).parse(), text(2).as_str()) {
        (Ok(count), Ok(checksum), "0") => Ok(Sum { count, checksum }),
        _ => Err(DispatchError::Unfit {
            table: table.to_owned(),
            what: "has records that are too large to be compared".to_owned(),
            hint: "raise max_allowed_packet at the server",
        }),
    }
}

/// Repairs a table if its server was killed while it wrote to it: without transactions that can leave an index that does not fit
/// its rows, which the repair at the next opening does not always see.
pub(super) fn mend(control: &mut Control, table: &str) -> Result<(), DispatchError> {
    let mut verdict = |what: &str| -> Result<String, DispatchError> {
        let rows = control.query(&format!("{what} TABLE {}", quoted(table)))?;
        let last = rows.rows.last().and_then(|row| row.last().cloned().flatten());
        Ok(last.unwrap_or_default())
    };
    let is_well = |text: &str| matches!(text, "OK" | "Table is already up to date");
    if is_well(&verdict("CHECK")?) {
        return Ok(());
    }
    verdict("REPAIR")?;
    match verdict("CHECK")? {
        text if is_well(&text) => Ok(()),
        text => Err(DispatchError::Unfit {
            table: table.to_owned(),
            what: format!("is damaged, and REPAIR TABLE does not help: {text}"),
            hint: "restore it from a backup: the records of the dispatch that was cut are still where they came from",
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dispatch::Create;

    #[test]
    fn a_float_is_hashed_by_all_of_its_digits_and_what_the_server_computes_is_not_hashed() {
        let kinds = [("f", "float"), ("d", "double"), ("g", "int(11)")];
        let shape = Shape {
            table: "t".to_owned(),
            engine: "MyISAM".to_owned(),
            columns: kinds.map(|(name, kind)| (name.to_owned(), kind.to_owned())).to_vec(),
            given: ["f", "d"].map(str::to_owned).to_vec(),
            create: Create::parse("CREATE TABLE `t` (\n  `f` float\n) ENGINE=MyISAM").unwrap(),
        };
        let sql = hash(&shape);
        assert!(sql.contains("CAST(`f` + 0e0 AS BINARY)") && sql.contains("CAST(`d` AS BINARY)"), "{sql}");
        assert!(!sql.contains("`g`"), "{sql}");
    }
}
