//! An index that would spare a statement the reading of a whole table.

use super::{PlanRow, Result};
use crate::workload::sql::{Column, Condition, Relation, Shape, last_part, shape};
use evenkeel_site::server::{Control, quoted};
use std::collections::{BTreeMap, BTreeSet};

/// A table with fewer rows is read as fast without an index.
const ROWS_MIN: usize = 500;

/// Columns by table, those that an index can hold whole alone.
type Columns = BTreeMap<String, BTreeSet<String>>;

/// The CREATE INDEX statement for the first table that is read from end to end, by its rows or by an index, although a condition
/// or a join limits it, and no index begins with its column: the columns that are compared for equality, those that are in a list, then one that is compared for
/// a range; behind equalities alone the one that all is sorted by.
/// Errors: the server does not say which columns the tables have.
pub fn propose(control: &mut Control, sql: &str, rows: &[PlanRow]) -> Result<Option<String>> {
    let shape = shape(sql);
    if shape.has_or || !rows.iter().any(is_scan) {
        return Ok(None);
    }
    let columns = columns(control, &shape, WHOLE)?;
    let leading = columns_of_indexes(control, &shape)?;
    for (place, row) in rows.iter().enumerate().filter(|(_, row)| is_scan(row)) {
        // The first table of a SELECT is read before there is a row to join it to; with an index for the join it need not be the first.
        let is_joined = place > 0 && rows[place - 1].id == row.id;
        let found = index(&shape, &columns, &row.table, is_joined)
            .or_else(|| index(&shape, &columns, &row.table, true))
            .filter(|(table, first, _)| !has(&leading, table, first));
        let Some((table, _, proposal)) = found else { continue };
        // The plan goes by statistics, which know little of a table that was just loaded.
        let some = format!("SELECT 1 FROM {} LIMIT {ROWS_MIN}", quoted(table));
        if control.query(&some)?.rows.len() == ROWS_MIN {
            return Ok(Some(proposal));
        }
    }
    Ok(None)
}

/// Whether a table is read from end to end for rows that no index finds.
fn is_scan(row: &PlanRow) -> bool {
    let is_whole = row.access == "ALL" || row.access == "index" && row.extra.contains("Using where");
    is_whole && !row.table.starts_with('<')
}

/// Columns that an index can hold whole.
const WHOLE: &str =
    "COLUMNS WHERE DATA_TYPE NOT LIKE '%text' AND DATA_TYPE NOT LIKE '%blob' AND DATA_TYPE <> 'json'";

/// The first column of each index.
fn columns_of_indexes(control: &mut Control, shape: &Shape) -> Result<Columns> {
    columns(control, shape, "STATISTICS WHERE SEQ_IN_INDEX = 1")
}

/// Columns of the statement's tables, by a table of information_schema with its condition.
fn columns(control: &mut Control, shape: &Shape, from: &str) -> Result<Columns> {
    let names = shape
        .sources
        .iter()
        .map(|source| format!("'{}'", last_part(&source.table).replace(['\'', '\\'], "")));
    let rows = control.query(&format!(
        "SELECT TABLE_NAME, COLUMN_NAME FROM information_schema.{from} AND TABLE_SCHEMA = DATABASE() AND TABLE_NAME IN ({})",
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

/// The table that the plan calls `alias`, the first column of an index for it, and the statement that makes it.
fn index<'a>(
    shape: &'a Shape,
    columns: &Columns,
    alias: &str,
    is_joined: bool,
) -> Option<(&'a str, &'a str, String)> {
    let own = |source: &&crate::workload::sql::Source| match source.alias.is_empty() {
        true => last_part(&source.table) == alias,
        false => source.alias == alias,
    };
    let source = shape.sources.iter().find(own)?;
    let table = last_part(&source.table);
    let is_its = |column: &Column| {
        has(columns, table, &column.name)
            && match &column.of {
                Some(of) => last_part(of) == alias,
                // A name without a table is its own where no other table has it.
                None => shape
                    .sources
                    .iter()
                    .all(|other| other == source || !has(columns, last_part(&other.table), &column.name)),
            }
    };
    let usable = |condition: &&Condition| (is_joined || !condition.joins) && is_its(&condition.column);
    let mut names: Vec<&str> = Vec::new();
    for relation in [Relation::Equal, Relation::OneOf, Relation::Range] {
        let of = shape.conditions.iter().filter(|condition| condition.relation == relation).filter(usable);
        let found = of.map(|condition| condition.column.name.as_str());
        let most = if relation == Relation::Range { 1 } else { usize::MAX };
        let fresh: Vec<&str> = found.filter(|name| !names.contains(name)).take(most).collect();
        names.extend(fresh);
    }
    let mut usables = shape.conditions.iter().filter(usable);
    // Behind equalities alone the rows of an index lie in the order of its next column.
    if !is_joined && !names.is_empty() && usables.all(|condition| condition.relation == Relation::Equal) {
        names.extend(shape.order.iter().filter(|column| is_its(column)).map(|column| column.name.as_str()));
    }
    // A list in front would leave all rows to be sorted; in the order of a LIMIT the first that fit end the search.
    let mut usables = shape.conditions.iter().filter(usable);
    if !is_joined
        && shape.has_limit
        && usables.all(|condition| condition.relation == Relation::OneOf)
        && let Some(order) = shape.order.as_ref().filter(|column| is_its(column))
    {
        names = vec![order.name.as_str()];
    }
    let mut seen = BTreeSet::new();
    names.retain(|name| seen.insert(*name));
    let list = names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ");
    let statement = format!("CREATE INDEX {} ON {} ({list})", quoted(&names.join("_")), quoted(table));
    names.first().map(|first| (table, *first, statement))
}

fn has(columns: &Columns, table: &str, column: &str) -> bool {
    columns.get(table).is_some_and(|own| own.iter().any(|name| name.eq_ignore_ascii_case(column)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equalities_come_first_then_one_range_or_the_order_and_only_columns_of_the_table() {
        let table = |name: &str, columns: &[&str]| {
            (name.to_owned(), columns.iter().map(|&name| name.to_owned()).collect())
        };
        let columns: Columns =
            [table("orders", &["id", "status", "created", "customer"]), table("customer", &["id", "name"])]
                .into();
        for (sql, alias, is_joined, expected) in [
            (
                "SELECT id FROM orders WHERE created > ? AND status = 'open' ORDER BY customer",
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
            (
                "SELECT id FROM orders WHERE customer = ? ORDER BY created DESC LIMIT 10",
                "orders",
                false,
                Some("CREATE INDEX `customer_created` ON `orders` (`customer`, `created`)"),
            ),
            (
                "SELECT id FROM orders WHERE status IN ('open', 'sent') AND customer = ? ORDER BY created",
                "orders",
                false,
                Some("CREATE INDEX `customer_status` ON `orders` (`customer`, `status`)"),
            ),
            (
                "SELECT id FROM orders WHERE status IN ('open', 'sent') ORDER BY created DESC LIMIT 10",
                "orders",
                false,
                Some("CREATE INDEX `created` ON `orders` (`created`)"),
            ),
            ("SELECT id FROM orders WHERE note = 'x' AND DATE(created) = ?", "orders", false, None),
        ] {
            let found = index(&shape(sql), &columns, alias, is_joined).map(|(.., index)| index);
            assert_eq!(found.as_deref(), expected, "{sql}");
        }
    }

    #[test]
    fn an_index_in_the_order_of_a_limit_is_a_scan_whatever_explain_expects() {
        let [table, access, key, rows, extra] =
            ["orders", "index", "placed", "10", "Using where"].map(str::to_owned);
        let row = PlanRow { table, access, key, rows, extra, ..PlanRow::default() };
        assert!(is_scan(&row));
        assert!(!is_scan(&PlanRow { extra: String::new(), ..row }));
    }
}
