//! Ranges of a table's primary key, for connections beside each other.

use crate::table::{Found, quoted};
use evenkeel_site::server::{Control, TargetError};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Types of a key's first column that can be parted evenly.
const INTEGERS: [&str; 5] = ["tinyint", "smallint", "mediumint", "int", "bigint"];

/// The keys of a range, each end as its decimal digits; what has no end goes as far as there are keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyRange {
    /// The first column of the primary key.
    pub column: String,
    /// The least value that is in it.
    pub from: Option<String>,
    /// The least value above it.
    pub below: Option<String>,
}

impl KeyRange {
    /// Whether its ends are numbers, whoever wrote them.
    pub(super) fn is_plain(&self) -> bool {
        [&self.from, &self.below].into_iter().flatten().all(|end| end.parse::<i128>().is_ok())
    }

    /// What its rows meet, behind the name of the table.
    pub(super) fn condition(&self) -> String {
        let column = quoted(&self.column);
        match (&self.from, &self.below) {
            (None, None) => String::new(),
            (None, Some(below)) => format!(" WHERE {column} < {below}"),
            (Some(from), None) => format!(" WHERE {column} >= {from}"),
            (Some(from), Some(below)) => format!(" WHERE {column} >= {from} AND {column} < {below}"),
        }
    }
}

impl fmt::Display for KeyRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let column = &self.column;
        match (&self.from, &self.below) {
            (None, None) => write!(f, "any {column}"),
            (None, Some(below)) => write!(f, "{column} below {below}"),
            (Some(from), None) => write!(f, "{column} from {from} on"),
            (Some(from), Some(below)) => write!(f, "{column} from {from} to below {below}"),
        }
    }
}

/// Ranges that each row is in one of: ranges of the first column of the primary key, as many as are asked for at most; `None`
/// for all rows where there is no such column.
pub(super) fn of(
    control: &mut Control,
    table: &Found,
    at_most: u64,
) -> Result<Vec<Option<KeyRange>>, TargetError> {
    let whole = vec![None];
    let keys = control.query(&format!("SHOW INDEX FROM {}", quoted(&table.name)))?;
    let (Some(name), Some(place), Some(column)) =
        (keys.column("Key_name"), keys.column("Seq_in_index"), keys.column("Column_name"))
    else {
        return Ok(whole);
    };
    let is_first = |row: &&Vec<Option<String>>| {
        row[name].as_deref() == Some("PRIMARY") && row[place].as_deref() == Some("1")
    };
    let Some(column) = keys.rows.iter().find(is_first).and_then(|row| row[column].clone()) else {
        return Ok(whole);
    };
    let is_integer = |found: &&crate::table::FoundColumn| {
        found.name == column && INTEGERS.contains(&found.data_type.as_str())
    };
    if at_most < 2 || !table.columns.iter().any(|found| is_integer(&found)) {
        return Ok(whole);
    }
    let name = column;
    let column = quoted(&name);
    let ends = control.query(&format!("SELECT MIN({column}), MAX({column}) FROM {}", quoted(&table.name)))?;
    let end = |index: usize| ends.rows.first()?.get(index)?.as_ref()?.parse::<i128>().ok();
    Ok(match (end(0), end(1)) {
        (Some(least), Some(most)) => {
            parted(&name, least, most, at_most.into()).into_iter().map(Some).collect()
        }
        _ => whole,
    })
}

/// Even ranges; the first and the last one have no end of their own, so that no row lies outside.
fn parted(column: &str, least: i128, most: i128, at_most: i128) -> Vec<KeyRange> {
    let values = most - least + 1;
    let count = at_most.min(values).max(1);
    let begin = |number: i128| (least + values * number / count).to_string();
    let range = |number: i128| KeyRange {
        column: column.to_owned(),
        from: (number > 0).then(|| begin(number)),
        below: (number + 1 < count).then(|| begin(number + 1)),
    };
    (0..count).map(range).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_meet_and_leave_nothing_out() {
        let conditions =
            |ranges: Vec<KeyRange>| -> Vec<String> { ranges.iter().map(KeyRange::condition).collect() };
        assert_eq!(
            conditions(parted("a", 1, 9, 3)),
            [" WHERE `a` < 4", " WHERE `a` >= 4 AND `a` < 7", " WHERE `a` >= 7"]
        );
        assert_eq!(conditions(parted("a", 5, 5, 4)), [""]);
        let wide = parted("a", i64::MIN.into(), u64::MAX.into(), 2);
        assert!(wide.iter().all(KeyRange::is_plain));
        assert_eq!(
            conditions(wide),
            [" WHERE `a` < 4611686018427387904", " WHERE `a` >= 4611686018427387904"]
        );
    }

    #[test]
    fn ends_that_are_no_numbers_are_none_of_ours() {
        let from = Some("1 OR 1".to_owned());
        assert!(!KeyRange { column: "a".into(), from, below: None }.is_plain());
    }
}
