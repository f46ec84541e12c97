//! All rows of a server, as a checksum for each table.

use crate::HaulError;
use crate::export::{connect, rows};
use evenkeel_os::Stop;
use evenkeel_site::server::{Control, Target, quoted};
use std::collections::BTreeMap;

/// Rows and checksum of each table, by its name as `shop.item`.
pub type Sums = BTreeMap<String, (u64, String)>;

/// Databases of servers themselves.
pub(super) const OWN: &str = "('mysql', 'information_schema', 'performance_schema', 'sys')";

/// Reads all tables of users.
/// Errors: the server does not answer, or somebody asked to stop.
pub fn sums(target: &Target, stop: &Stop) -> Result<Sums, HaulError> {
    let mut control = connect(target, stop)?;
    let mut sums = Sums::new();
    for (schema, table) in tables(&mut control)? {
        control.exec(&format!("USE {}", quoted(&schema)))?;
        sums.insert(format!("{schema}.{table}"), rows(&mut control, &table)?);
    }
    Ok(sums)
}

/// Databases and names of all tables of users.
pub fn tables(control: &mut Control) -> Result<Vec<(String, String)>, HaulError> {
    let found = control.query(&format!(
        "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES \
         WHERE TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED', 'SEQUENCE') AND TABLE_SCHEMA NOT IN {OWN} ORDER BY 1, 2"
    ))?;
    let pair = |row: Vec<Option<String>>| <[_; 2]>::try_from(row).ok().and_then(|[a, b]| a.zip(b));
    Ok(found.rows.into_iter().filter_map(pair).collect())
}

/// Tables that are damaged, each with what the server says (CHECK TABLE).
pub fn damaged(target: &Target, stop: &Stop) -> Result<Vec<String>, HaulError> {
    let mut control = connect(target, stop)?;
    let mut damaged = Vec::new();
    for (schema, table) in tables(&mut control)? {
        let said = control.query(&format!("CHECK TABLE {}.{}", quoted(&schema), quoted(&table)))?;
        let text =
            |row: &[Option<String>], index: usize| row.get(index).cloned().flatten().unwrap_or_default();
        let bad = said.rows.iter().find(|row| text(row, 2) == "error" || text(row, 2) == "Error");
        damaged.extend(bad.map(|row| format!("{schema}.{table}: {}", text(row, 3))));
    }
    Ok(damaged)
}

/// How what was recovered differs from its source, a line for each table.
pub fn differences(source: &Sums, recovered: &Sums) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, (rows, sum)) in source {
        match recovered.get(name) {
            None => lines.push(format!("{name} is missing ({rows} rows)")),
            Some((found, _)) if found != rows => {
                lines.push(format!("{name} has {found} rows instead of {rows}"))
            }
            Some((_, found)) if found != sum => {
                lines.push(format!("{name} has the same number of rows, but other values"))
            }
            Some(_) => {}
        }
    }
    let more = recovered.keys().filter(|name| !source.contains_key(*name));
    lines.extend(more.map(|name| format!("{name} does not exist on the source")));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(tables: &[(&str, u64, &str)]) -> Sums {
        tables.iter().map(|(name, rows, sum)| ((*name).to_owned(), (*rows, (*sum).to_owned()))).collect()
    }

    #[test]
    fn each_table_that_differs_is_named() {
        let source = of(&[("d.a", 1, "x"), ("d.b", 2, "x"), ("d.c", 3, "x"), ("d.d", 4, "x")]);
        assert!(differences(&source, &source).is_empty());
        let recovered = of(&[("d.a", 1, "x"), ("d.b", 1, "x"), ("d.c", 3, "y"), ("d.e", 4, "x")]);
        assert_eq!(
            differences(&source, &recovered),
            [
                "d.b has 1 rows instead of 2",
                "d.c has the same number of rows, but other values",
                "d.d is missing (4 rows)",
                "d.e does not exist on the source"
            ]
        );
    }
}
