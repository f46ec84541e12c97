//! An index that would spare a statement the reading of a whole table.

use super::{ExplainError, PlanRow};
use crate::workload::sql::{Condition, Relation, Shape, last_part, shape};
use evenkeel_site::server::Control;
use std::collections::{BTreeMap, BTreeSet};

/// A table with fewer rows is read as fast without an index.
const ROWS_MIN: f64 = 500.0;

/// Columns by table, those that an index can hold whole alone.
type Columns = BTreeMap<String, BTreeSet<String>>;

/// The CREATE INDEX statement for the first table that is read from end to end although a condition limits it, and no
/// index serves one: the columns that are compared for equality, then one that is compared for a range.
///
/// # Errors
/// The server does not say which columns the tables have.
pub fn propose(control: &mut Control, sql: &str, rows: &[PlanRow]) -> Result<Option<String>, ExplainError> {
    let is_scan = |row: &PlanRow| {
        let is_large = row.rows.parse::<f64>().is_ok_and(|rows| rows > ROWS_MIN);
        row.access == "ALL" && is_large && row.possible_keys.is_empty() && !row.table.starts_with('<')
    };
    let shape = shape(sql);
    if shape.has_or || !rows.iter().any(is_scan) {
        return Ok(None);
    }
    let columns = columns(control, &shape)?;
    let scans = rows.iter().enumerate().filter(|(_, row)| is_scan(row));
    Ok(scans.into_iter().find_map(|(place, row)| {
        // The first table of a SELECT is read before there is a row to join it to.
        let is_joined = place > 0 && rows[place - 1].id == row.id;
        index(&shape, &columns, &row.table, is_joined)
    }))
}

fn columns(control: &mut Control, shape: &Shape) -> Result<Columns, ExplainError> {
    let names = shape
        .sources
        .iter()
        .map(|source| format!("'{}'", last_part(&source.table).replace(['\'', '\\'], "")));
    let rows = control.query(&format!(
        "SELECT TABLE_NAME, COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() \
         AND DATA_TYPE NOT LIKE '%text' AND DATA_TYPE NOT LIKE '%blob' AND DATA_TYPE <> 'json' \
         AND TABLE_NAME IN ({})",
        names.collect::<Vec<_>>().join(", ")
    ))?;
    let mut columns = Columns::new();
    for row in rows.rows {
        if let [Some(table), Some(column)] = &row[..] {
            columns.entry(table.clone()).or_default().insert(column.clone());
        }
    }
    Ok(columns)
}

/// The index for the table that the plan calls `alias`.
fn index(shape: &Shape, columns: &Columns, alias: &str, is_joined: bool) -> Option<String> {
    let own = |source: &&crate::workload::sql::Source| match source.alias.is_empty() {
        true => last_part(&source.table) == alias,
        false => source.alias == alias,
    };
    let source = shape.sources.iter().find(own)?;
    let table = last_part(&source.table);
    let is_its = |condition: &Condition| match &condition.column.of {
        Some(of) => last_part(of) == alias,
        // A name without a table is its own where no other table has it.
        None => shape
            .sources
            .iter()
            .all(|other| other == source || !has(columns, last_part(&other.table), &condition.column.name)),
    };
    let usable = |condition: &&Condition| {
        (is_joined || !condition.joins) && is_its(condition) && has(columns, table, &condition.column.name)
    };
    let mut names: Vec<&str> = Vec::new();
    for relation in [Relation::Equal, Relation::Range] {
        let of = shape.conditions.iter().filter(|condition| condition.relation == relation).filter(usable);
        let found = of.map(|condition| condition.column.name.as_str());
        let most = if relation == Relation::Range { 1 } else { usize::MAX };
        let fresh: Vec<&str> = found.filter(|name| !names.contains(name)).take(most).collect();
        names.extend(fresh);
    }
    names.dedup();
    let quoted = |name: &str| format!("`{}`", name.replace('`', "``"));
    let list = names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ");
    (!names.is_empty())
        .then(|| format!("CREATE INDEX {} ON {} ({list})", quoted(&names.join("_")), quoted(table)))
}

fn has(columns: &Columns, table: &str, column: &str) -> bool {
    columns.get(table).is_some_and(|own| own.iter().any(|name| name.eq_ignore_ascii_case(column)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equalities_come_first_then_one_range_and_only_columns_of_the_table() {
        let table = |name: &str, columns: &[&str]| {
            (name.to_owned(), columns.iter().map(|&name| name.to_owned()).collect())
        };
        let columns: Columns =
            [table("orders", &["id", "status", "created", "customer"]), table("customer", &["id", "name"])]
                .into();
        for (sql, alias, is_joined, expected) in [
            (
                "SELECT id FROM orders WHERE created > ? AND status = 'open'",
                "orders",
                false,
                Some("CREATE INDEX `status_created` ON `orders` (`status`, `created`)"),
            ),
            (
                "SELECT o.id FROM customer c JOIN orders o ON o.customer = c.id WHERE c.name = ?",
                "o",
                true,
                Some("CREATE INDEX `customer` ON `orders` (`customer`)"),
            ),
            (
                "SELECT o.id FROM customer c JOIN orders o ON o.customer = c.id WHERE c.name = ?",
                "c",
                false,
                Some("CREATE INDEX `name` ON `customer` (`name`)"),
            ),
            ("SELECT o.id FROM orders o JOIN customer c ON o.customer = c.id", "o", false, None),
            ("SELECT id FROM orders WHERE note = 'x' AND DATE(created) = ?", "orders", false, None),
        ] {
            assert_eq!(index(&shape(sql), &columns, alias, is_joined).as_deref(), expected, "{sql}");
        }
    }
}
