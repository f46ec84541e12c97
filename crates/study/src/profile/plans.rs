//! Statement plans for the store.

use super::StudyError;
use crate::store::format::StatementPlanRecord;
use evenkeel_lab::explain::{Effort, ExplainError, PlanReport, PlanRow, explain};
use evenkeel_lab::workload::Workload;
use evenkeel_os::stop::Stop;
use evenkeel_site::server::Control;
use std::fmt::Write as _;

/// The plans of all statements of a workload. One that the server refuses is an error.
pub(super) fn all(
    control: &mut Control,
    workload: &dyn Workload,
    effort: &Effort,
    stop: &Stop,
) -> Result<Vec<PlanReport>, StudyError> {
    let mut explained = explain(control, workload, effort, stop)?;
    match explained.refused.is_empty() {
        true => Ok(explained.plans),
        false => Err(ExplainError::Refused(explained.refused.swap_remove(0)).into()),
    }
}

/// A plan for the store.
pub fn plan_record(report: &PlanReport) -> StatementPlanRecord {
    StatementPlanRecord {
        statement: report.statement.clone(),
        class: report.class,
        reason: match report.reasons.is_empty() {
            true => "indexes alone".to_owned(),
            false => report.reasons.join(", "),
        },
        sql: report.sample.clone(),
        plan: rows(&report.rows),
        not_made: report.not_made.clone(),
        proposal: report.proposal.clone(),
        rows_share_percent: Some(100.0 * report.rows_share),
        work_share_percent: report.share.map(|share| 100.0 * share),
    }
}

/// How each statement is answered, a line for each of them: which tables are read in which order, how, and by which index. How many rows
/// the server guesses is no part of it, since that is drawn at random from page to page.
pub fn shapes(plans: &[PlanReport]) -> String {
    let mut plans: Vec<&PlanReport> = plans.iter().collect();
    plans.sort_by(|one, other| one.statement.cmp(&other.statement));
    let row = |row: &PlanRow| {
        let how = [&row.table, &row.access, &row.key, &row.extra].map(|word| word.trim());
        how.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    };
    let shape = |report: &&PlanReport| {
        let rows = report.rows.iter().map(row).collect::<Vec<_>>().join(", then ");
        format!("{}: {rows}", report.statement)
    };
    plans.iter().map(shape).collect::<Vec<_>>().join("\n")
}

/// The rows of EXPLAIN as aligned columns.
fn rows(rows: &[PlanRow]) -> String {
    let head = ["id", "select_type", "table", "type", "key", "rows", "extra"].map(str::to_owned);
    let cells = rows.iter().map(|row| {
        [&row.id, &row.select_type, &row.table, &row.access, &row.key, &row.rows, &row.extra]
            .map(String::clone)
    });
    let lines: Vec<[String; 7]> = std::iter::once(head).chain(cells).collect();
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for line in &lines {
        for (column, cell) in line.iter().enumerate() {
            let _ = write!(text, "{cell:<0$}  ", width(column));
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    text
}
