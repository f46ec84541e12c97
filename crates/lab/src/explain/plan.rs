//! Plans as servers print them.

use super::{Class, ExplainError, PlanRow, Result};
use crate::workload::Statement;
use crate::workload::sql::Purpose;
use evenkeel_site::server::{Control, Rows, TargetError};
use serde_json::Value;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    pub rows: Vec<PlanRow>,
    pub json: String,
}

/// Asks for the plan of a statement with its parameters written in. Both dialects have both forms.
pub fn read_plan(control: &mut Control, statement: &Statement, text: &str) -> Result<Plan> {
    let failed = |source| ExplainError::Plan { statement: statement.name.clone(), source };
    let rows = read_rows(control, text).map_err(failed)?;
    let json = control.query(&format!("EXPLAIN FORMAT=JSON {text}")).map_err(failed)?;
    Ok(Plan { rows, json: json.value().unwrap_or_default().to_owned() })
}

/// The rows of EXPLAIN alone.
pub fn read_rows(control: &mut Control, text: &str) -> Result<Vec<PlanRow>, TargetError> {
    // MySQL may be set to print a tree where no form is named; MariaDB has no name for the rows.
    let rows = control
        .query(&format!("EXPLAIN FORMAT=TRADITIONAL {text}"))
        .or_else(|_| control.query(&format!("EXPLAIN {text}")))?;
    Ok(plan_rows(&rows))
}

fn plan_rows(rows: &Rows) -> Vec<PlanRow> {
    let text = |row: &[Option<String>], name: &str| {
        let place = rows.column(name)?;
        row.get(place)?.clone()
    };
    let read = |row: &Vec<Option<String>>| {
        let text = |name: &str| text(row, name).unwrap_or_default();
        PlanRow {
            id: text("id"),
            select_type: text("select_type"),
            table: text("table"),
            access: text("type"),
            possible_keys: text("possible_keys"),
            key: text("key"),
            rows: text("rows"),
            filtered: text("filtered"),
            extra: text("Extra"),
        }
    };
    rows.rows.iter().map(read).collect()
}

impl Plan {
    /// Whether some table is read at all. A plan that found out while planning that no row has the key it was
    /// asked for says nothing about other keys.
    pub fn says_something(&self) -> bool {
        self.rows.iter().any(|row| !row.table.is_empty())
            || self
                .rows
                .iter()
                .all(|row| !row.extra.contains("mpossible") && !row.extra.contains("no matching"))
    }

    /// Rows read for one execution: within each SELECT every table is read once for each row kept of the
    /// tables before it; each SELECT is counted once.
    pub fn rows_examined(&self) -> f64 {
        let mut sum = 0.0;
        let (mut select, mut kept) = ("", 1.0);
        for row in &self.rows {
            if row.id != select {
                (select, kept) = (&row.id, 1.0);
            }
            let Ok(rows) = row.rows.parse::<f64>() else { continue };
            sum += kept * rows;
            kept *= rows * row.filtered.parse::<f64>().unwrap_or(100.0) / 100.0;
        }
        sum
    }
}

/// Class and reasons: a write by what it is for; complex where something is sorted, put into a temporary table or
/// read from end to end; simple where every table is reached by an index.
pub fn classify(purpose: Purpose, plan: &Plan) -> (Class, Vec<String>) {
    let mut found = Found::default();
    plan.rows.iter().for_each(|row| found.look_at_row(row));
    if let Ok(json) = serde_json::from_str(&plan.json) {
        found.look_at_json(&json);
    }
    let costs = found.filesort || found.temporary_table || !found.scans.is_empty();
    let class = match purpose {
        Purpose::Read if costs => Class::Complex,
        Purpose::Read => Class::Simple,
        Purpose::Write | Purpose::Other => Class::Write,
    };
    (class, found.reasons())
}

#[derive(Debug, Default)]
struct Found {
    filesort: bool,
    temporary_table: bool,
    /// Tables read from end to end.
    scans: Vec<String>,
    /// Indexes read from end to end: still indexes alone, but worth a word.
    index_scans: Vec<String>,
}

impl Found {
    fn look_at_row(&mut self, row: &PlanRow) {
        self.filesort |= row.extra.contains("Using filesort");
        self.temporary_table |= row.extra.contains("Using temporary");
        // <derived2>, <subquery3>, <union1,2>: made by the statement itself.
        if row.table.starts_with('<') {
            self.temporary_table = true;
            return;
        }
        match row.access.as_str() {
            // Picks an index anew for each row of the tables before.
            "ALL" if row.extra.contains("Range checked for each record") => {}
            // An insert of given rows is printed so; nothing is read.
            "ALL" if row.select_type == "INSERT" || row.select_type == "REPLACE" || row.rows.is_empty() => {}
            "ALL" | "hash_ALL" => self.scans.push(row.table.clone()),
            // InnoDB keeps a table's rows in its primary key.
            "index" if row.key == "PRIMARY" => {
                self.index_scans.push(format!("{} (PRIMARY: the rows themselves)", row.table));
            }
            "index" | "hash_index" => self.index_scans.push(row.table.clone()),
            _ => {}
        }
    }

    /// What the rows do not say: sorts and temporary tables inside subqueries, in the words of MariaDB
    /// (objects) and MySQL (flags, and the operations of its second form).
    fn look_at_json(&mut self, json: &Value) {
        match json {
            Value::Object(entries) => {
                for (key, value) in entries {
                    let on = *value != Value::Bool(false);
                    match key.as_str() {
                        "filesort" | "using_filesort" => self.filesort |= on,
                        "temporary_table" | "using_temporary_table" => self.temporary_table |= on,
                        "materialized" | "materialized_from_subquery" => self.temporary_table |= on,
                        "operation" => self.look_at_operation(value.as_str().unwrap_or_default()),
                        _ => {}
                    }
                    self.look_at_json(value);
                }
            }
            Value::Array(values) => values.iter().for_each(|value| self.look_at_json(value)),
            _ => {}
        }
    }

    fn look_at_operation(&mut self, operation: &str) {
        self.filesort |= operation.starts_with("Sort");
        self.temporary_table |= operation.starts_with("Materialize") || operation.contains("temporary");
    }

    fn reasons(self) -> Vec<String> {
        let mut reasons = Vec::new();
        if self.filesort {
            reasons.push("filesort".to_owned());
        }
        if self.temporary_table {
            reasons.push("temporary table".to_owned());
        }
        reasons.extend(self.scans.iter().map(|table| format!("full scan of {table}")));
        reasons.extend(self.index_scans.iter().map(|table| format!("full index scan of {table}")));
        reasons
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &str, rows: &str, filtered: &str) -> PlanRow {
        let text = str::to_owned;
        PlanRow { id: text(id), rows: text(rows), filtered: text(filtered), ..PlanRow::default() }
    }

    #[test]
    fn rows_examined_multiply_within_a_select_and_add_between_them() {
        for (rows, examined) in [
            (vec![row("1", "1", "")], 1.0),
            (vec![row("1", "400", ""), row("1", "1", "")], 800.0),
            (vec![row("1", "400", "25.00"), row("1", "2", "")], 600.0),
            (vec![row("1", "10", ""), row("2", "7", ""), row("2", "", "")], 17.0),
        ] {
            assert_eq!(Plan { rows, ..Plan::default() }.rows_examined(), examined);
        }
    }

    #[test]
    fn a_plan_without_a_row_for_the_key_says_nothing() {
        let extra = |extra: &str| Plan {
            rows: vec![PlanRow { extra: extra.to_owned(), ..PlanRow::default() }],
            ..Plan::default()
        };
        assert!(!extra("Impossible WHERE noticed after reading const tables").says_something());
        assert!(!extra("no matching row in const table").says_something());
        assert!(extra("Select tables optimized away").says_something());
    }

    fn item(access: &str, extra: &str) -> PlanRow {
        let text = str::to_owned;
        PlanRow {
            select_type: text("SIMPLE"),
            table: text("item"),
            access: text(access),
            rows: text("9"),
            extra: text(extra),
            ..PlanRow::default()
        }
    }

    fn check(purpose: Purpose, row: PlanRow, json: &str, class: Class, reasons: &[&str]) {
        let plan = Plan { rows: vec![row], json: json.to_owned() };
        assert_eq!(
            classify(purpose, &plan),
            (class, reasons.iter().map(|&text| text.to_owned()).collect()),
            "{plan:?}"
        );
    }

    #[test]
    fn rows_tell_the_class() {
        for (access, extra, class, reasons) in [
            ("const", "", Class::Simple, &[][..]),
            ("eq_ref", "Using where", Class::Simple, &[]),
            ("", "Select tables optimized away", Class::Simple, &[]),
            ("ALL", "Range checked for each record (index map: 0x1)", Class::Simple, &[]),
            ("index", "Using index", Class::Simple, &["full index scan of item"]),
            ("ref", "Using where; Using filesort", Class::Complex, &["filesort"]),
            ("ref", "Using temporary; Using filesort", Class::Complex, &["filesort", "temporary table"]),
            ("ALL", "Using where", Class::Complex, &["full scan of item"]),
        ] {
            check(Purpose::Read, item(access, extra), "", class, reasons);
        }
        check(Purpose::Write, item("ALL", "Using where"), "", Class::Write, &["full scan of item"]);
        check(Purpose::Write, PlanRow { rows: String::new(), ..item("ALL", "") }, "", Class::Write, &[]);
        let derived = PlanRow { table: "<derived2>".into(), ..item("ALL", "") };
        check(Purpose::Read, derived, "", Class::Complex, &["temporary table"]);
    }

    #[test]
    fn json_tells_what_the_rows_do_not_in_either_dialect() {
        for (json, reasons) in [
            (
                r#"{"query_block": {"filesort": {"sort_key": "a", "temporary_table": {}}}}"#,
                &["filesort", "temporary table"][..],
            ),
            (r#"{"query_block": {"nested_loop": [{"read_sorted_file": {"filesort": {}}}]}}"#, &["filesort"]),
            (r#"{"query_block": {"ordering_operation": {"using_filesort": true}}}"#, &["filesort"]),
            (
                r#"{"query_block": {"grouping_operation": {"using_temporary_table": true, "using_filesort": false}}}"#,
                &["temporary table"],
            ),
            (r#"{"query_block": {"table": {"materialized_from_subquery": {}}}}"#, &["temporary table"]),
            (r#"{"query_plan": {"operation": "Sort: item.i_title", "inputs": []}}"#, &["filesort"]),
        ] {
            check(Purpose::Read, item("ref", ""), json, Class::Complex, reasons);
        }
        check(
            Purpose::Read,
            item("ref", ""),
            r#"{"query_block": {"ordering_operation": {"using_filesort": false}}}"#,
            Class::Simple,
            &[],
        );
    }
}
