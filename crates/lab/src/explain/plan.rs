//! Plans as servers print them.

use super::{ExplainError, PlanRow, Result};
use crate::workload::Statement;
use evenkeel_site::server::{Control, Rows, TargetError};

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
}
