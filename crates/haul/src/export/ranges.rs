//! Ranges of a table's primary key, for connections beside each other.

use crate::table::{Found, quoted};
use evenkeel_site::server::{Control, TargetError};

/// Types of a key's first column that can be parted evenly.
const INTEGERS: [&str; 5] = ["tinyint", "smallint", "mediumint", "int", "bigint"];

/// Conditions that each row meets one of: ranges of the first column of the primary key, as many as are asked for at most; one that
/// says nothing where there is no such column.
pub(super) fn of(control: &mut Control, table: &Found, at_most: u64) -> Result<Vec<String>, TargetError> {
    let whole = vec![String::new()];
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
    let column = quoted(&column);
    let ends = control.query(&format!("SELECT MIN({column}), MAX({column}) FROM {}", quoted(&table.name)))?;
    let end = |index: usize| ends.rows.first()?.get(index)?.as_ref()?.parse::<i128>().ok();
    Ok(match (end(0), end(1)) {
        (Some(least), Some(most)) => parted(&column, least, most, at_most.into()),
        _ => whole,
    })
}

/// Even ranges; the first and the last one have no end of their own, so that no row lies outside.
fn parted(column: &str, least: i128, most: i128, at_most: i128) -> Vec<String> {
    let values = most - least + 1;
    let count = at_most.min(values).max(1);
    let begin = |number: i128| least + values * number / count;
    (0..count)
        .map(|number| match (number, number + 1 == count) {
            (0, true) => String::new(),
            (0, false) => format!(" WHERE {column} < {}", begin(1)),
            (_, true) => format!(" WHERE {column} >= {}", begin(number)),
            (_, false) => {
                format!(" WHERE {column} >= {} AND {column} < {}", begin(number), begin(number + 1))
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_meet_and_leave_nothing_out() {
        assert_eq!(
            parted("`a`", 1, 9, 3),
            [" WHERE `a` < 4", " WHERE `a` >= 4 AND `a` < 7", " WHERE `a` >= 7"]
        );
        assert_eq!(parted("`a`", 5, 5, 4), [""]);
        let wide = parted("`a`", i64::MIN.into(), u64::MAX.into(), 2);
        assert_eq!(wide, [" WHERE `a` < 4611686018427387904", " WHERE `a` >= 4611686018427387904"]);
    }
}
