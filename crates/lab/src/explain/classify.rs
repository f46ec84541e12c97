//! The class of a statement, by its plan.

use super::plan::Plan;
use super::{Class, PlanRow};
use crate::workload::sql::Purpose;
use serde_json::Value;

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

    fn row(access: &str, extra: &str) -> PlanRow {
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
            check(Purpose::Read, row(access, extra), "", class, reasons);
        }
        check(Purpose::Write, row("ALL", "Using where"), "", Class::Write, &["full scan of item"]);
        check(Purpose::Write, PlanRow { rows: String::new(), ..row("ALL", "") }, "", Class::Write, &[]);
        let derived = PlanRow { table: "<derived2>".into(), ..row("ALL", "") };
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
            check(Purpose::Read, row("ref", ""), json, Class::Complex, reasons);
        }
        check(
            Purpose::Read,
            row("ref", ""),
            r#"{"query_block": {"ordering_operation": {"using_filesort": false}}}"#,
            Class::Simple,
            &[],
        );
    }
}
