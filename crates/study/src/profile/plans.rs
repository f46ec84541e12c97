//! Statement plans for the store.

use super::StudyError;
use crate::store::format::{ClassRecord, StatementPlanRecord};
use evenkeel_lab::explain::{Effort, ExplainError, PlanReport, PlanRow, Refused, explain};
use evenkeel_lab::workload::{Class, Workload};
use evenkeel_os::stop::Stop;
use evenkeel_site::server::Control;
use std::fmt::Write as _;

/// What the server makes of a workload's statements.
#[derive(Clone, Debug, Default)]
pub struct StatementPlans {
    pub plans: Vec<StatementPlanRecord>,
    /// Statements that it does not take.
    pub refused: Vec<Refused>,
}

impl StatementPlans {
    pub fn all(mut self) -> Result<Vec<StatementPlanRecord>, StudyError> {
        match self.refused.is_empty() {
            true => Ok(self.plans),
            false => Err(ExplainError::Refused(self.refused.swap_remove(0)).into()),
        }
    }
}

/// The plans of a workload's statements, and what the server says against others.
pub fn statement_plans(
    control: &mut Control,
    workload: &dyn Workload,
    effort: &Effort,
    stop: &Stop,
) -> Result<StatementPlans, StudyError> {
    let explained = explain(control, workload, effort, stop)?;
    let plans = explained.plans.iter().map(record).collect();
    Ok(StatementPlans { plans, refused: explained.refused })
}

fn record(report: &PlanReport) -> StatementPlanRecord {
    StatementPlanRecord {
        statement: report.statement.clone(),
        class: match report.class {
            Class::Simple => ClassRecord::Simple,
            Class::Complex => ClassRecord::Complex,
            Class::Write => ClassRecord::Write,
        },
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

/// What the server means to do with each statement, by its plan alone.
pub(super) fn explained(
    control: &mut Control,
    workload: &dyn Workload,
    stop: &Stop,
) -> Result<Vec<PlanReport>, StudyError> {
    let mut explained = explain(control, workload, &Effort { executions: 0, ..Effort::default() }, stop)?;
    match explained.refused.is_empty() {
        true => Ok(explained.plans),
        false => Err(ExplainError::Refused(explained.refused.swap_remove(0)).into()),
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
