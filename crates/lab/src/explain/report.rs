//! What is found out about a statement.

use crate::load::{parameters, values};
use crate::workload::{Class, Parameters, Reply, Statement};
use evenkeel_core::Nanos;
use evenkeel_site::server::{Control, RowTaker, TargetError};
use evenkeel_wire::{ProtocolError, Row};
use std::fmt;
use thiserror::Error;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Explained {
    /// Those that have a plan, the heaviest first.
    pub plans: Vec<PlanReport>,
    /// What the server said against others, each statement once. One with a plan is among them where it was explained and
    /// would not be made.
    pub refused: Vec<Refused>,
}

impl Explained {
    /// Adds what the server said against a statement, unless it has said so before.
    pub(super) fn refuse(&mut self, refused: Refused) {
        if self.refused.iter().all(|known| known.statement != refused.statement) {
            self.refused.push(refused);
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    pub statement: String,
    pub sql: String,
    pub code: u16,
    pub message: String,
}

/// `orders: error 1146: Table 'shop.orders' doesn't exist`.
impl fmt::Display for Refused {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: error {}: {}", self.statement, self.code, self.message)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct PlanReport {
    pub statement: String,
    /// The statement with the parameters that were explained.
    pub sample: String,
    pub class: Class,
    /// Why it is complex, and what else costs: "filesort", "temporary table", "full scan of item".
    pub reasons: Vec<String>,
    pub rows: Vec<PlanRow>,
    pub json: String,
    /// Rows that the server means to read for one execution, by its own estimate.
    pub rows_examined: f64,
    /// Mean executions per request of the workload.
    pub weight: f64,
    /// What executions took; only for reads.
    pub measured: Option<Measured>,
    /// Why a read was not made and measured, or not to the end: `it has SLEEP(), which waits`. `None` of writes, and where it
    /// was.
    pub not_made: Option<String>,
    /// Share of the time of all measured reads, weighted.
    pub share: Option<f64>,
    /// The CREATE INDEX statement that would spare it a full scan; nobody has tried it.
    pub proposal: Option<String>,
    /// Share of the rows that all statements read, weighted.
    pub rows_share: f64,
}

/// One row of EXPLAIN, empty where it says NULL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanRow {
    pub id: String,
    pub select_type: String,
    pub table: String,
    /// How it is read: `const`, `ref`, `range`, `index`, `ALL` ...
    pub access: String,
    pub possible_keys: String,
    pub key: String,
    /// Rows read for each row before, estimated.
    pub rows: String,
    /// Percentage of them that is kept, estimated, where the server says it.
    pub filtered: String,
    pub extra: String,
}

/// What executions of a read took, in the mean.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// From the command to the last row.
    pub time: Nanos,
    /// Rows and index entries that the server read: the sum of `Handler_read_key`, `Handler_read_rnd_next` ...
    pub rows_read: f64,
}

impl PlanReport {
    /// Rows read per request: as counted where it was measured, else as the plan has them.
    fn rows_read(&self) -> f64 {
        self.weight * self.measured.as_ref().map_or(self.rows_examined, |measured| measured.rows_read)
    }

    /// Work per request: mean time, times executions.
    fn work(&self) -> Option<f64> {
        self.measured.as_ref().map(|measured| measured.time.0 as f64 * self.weight)
    }
}

pub(super) fn rank(reports: &mut [PlanReport]) {
    let sum: f64 = reports.iter().filter_map(PlanReport::work).sum();
    let rows: f64 = reports.iter().map(PlanReport::rows_read).sum();
    for report in &mut *reports {
        report.rows_share = if rows > 0.0 { report.rows_read() / rows } else { 0.0 };
        report.share = report.work().map(|work| if sum > 0.0 { work / sum } else { 0.0 });
    }
    let weight = |report: &PlanReport| (report.share.unwrap_or(0.0), report.rows_examined * report.weight);
    reports.sort_by(|a, b| {
        let ((share_a, rows_a), (share_b, rows_b)) = (weight(a), weight(b));
        share_b.total_cmp(&share_a).then(rows_b.total_cmp(&rows_a))
    });
}

/// The server knows the statement, and does not prepare its kind (ER_UNSUPPORTED_PS).
const NOT_PREPARED: u16 = 1295;

/// Prepares the statements of a workload and makes them.
pub struct Executor {
    statements: Vec<Statement>,
}

impl Executor {
    pub fn new(statements: &[Statement]) -> Self {
        Self { statements: statements.to_vec() }
    }

    /// Makes a statement and takes its whole answer.
    /// Errors: [`ExplainError::Execute`] with the server's words.
    pub fn execute(&self, control: &mut Control, index: usize, values: &Parameters) -> Result<Reply> {
        let statement = &self.statements[index];
        make(control, statement, values).map_err(|source| failed(control, statement, source))
    }

    /// Has the server look at a statement that is not made: what it does not take, as a misspelt word or a call of what is
    /// not there, it says then.
    /// Errors: [`ExplainError::Execute`] with the server's words.
    pub fn prepare(&self, control: &mut Control, index: usize) -> Result<()> {
        let statement = &self.statements[index];
        match control.prepare(&statement.sql) {
            Err(error) if error.code() == Some(NOT_PREPARED) => Ok(()),
            prepared => prepared.map_err(|source| failed(control, statement, source)),
        }
    }
}

/// What is not about the statement, but about the whole connection, is told as such.
fn failed(control: &Control, statement: &Statement, source: TargetError) -> ExplainError {
    match control.cut() {
        Some(cut) => cut.into(),
        None => ExplainError::Execute { statement: statement.name.clone(), source },
    }
}

fn make(
    control: &mut Control,
    statement: &Statement,
    parameters_of: &Parameters,
) -> Result<Reply, TargetError> {
    let mut rows = Vec::new();
    let mut keep = |row: &Row<'_>| {
        rows.push(values(row).ok_or(ProtocolError::Malformed("row"))?);
        Ok(())
    };
    let each = statement.captures.then_some(&mut keep as RowTaker<'_>);
    let outcome = if statement.prepared {
        let parameters: Vec<_> = parameters(parameters_of).collect();
        control.execute(&statement.sql, &parameters, each)?
    } else {
        control.run(&statement.sql, each)?
    };
    Ok(Reply {
        rows,
        row_count: outcome.rows,
        affected_rows: outcome.affected_rows,
        last_insert_id: outcome.last_insert_id,
    })
}

pub type Result<T, E = ExplainError> = std::result::Result<T, E>;

#[derive(Debug, Error)]
pub enum ExplainError {
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error("cannot explain statement `{statement}`: {source}")]
    Plan { statement: String, source: TargetError },
    #[error("statement `{statement}` failed: {source}")]
    Execute { statement: String, source: TargetError },
    /// The server refuses a statement, and all are needed.
    #[error("the server refuses statement {0}")]
    Refused(Refused),
}

impl ExplainError {
    /// What the server said against a statement.
    /// Errors: anything that is not about the statement alone, as a lost connection.
    pub(super) fn refused(self, sql: &str) -> Result<Refused, Self> {
        let (statement, code, message) = match &self {
            Self::Plan { statement, source: TargetError::Statement { code, message, .. } }
            | Self::Execute { statement, source: TargetError::Statement { code, message, .. } } => {
                (statement, *code, message)
            }
            _ => return Err(self),
        };
        let (statement, message) = (statement.clone(), message.clone());
        Ok(Refused { statement, sql: sql.to_owned(), code, message })
    }

    /// Whether it is no failure: somebody asked to stop.
    pub fn is_stop(&self) -> bool {
        matches!(self, Self::Target(TargetError::Stopped) | Self::Plan { source: TargetError::Stopped, .. })
    }

    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Target(error) | Self::Plan { source: error, .. } => error.hint(),
            // ER_NO_DB_ERROR.
            Self::Refused(refused) if refused.code == 1046 => Some("name the database: URL/shop"),
            Self::Execute { source, .. } => source.hint(),
            Self::Refused(_) => None,
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn report(statement: &str, weight: f64, time: Option<u64>, rows_examined: f64) -> PlanReport {
        PlanReport {
            statement: statement.into(),
            sample: String::new(),
            class: Class::Simple,
            reasons: Vec::new(),
            rows: Vec::new(),
            json: String::new(),
            rows_examined,
            weight,
            not_made: None,
            measured: time.map(|time| Measured { time: Nanos(time), ..Measured::default() }),
            share: None,
            proposal: None,
            rows_share: 0.0,
        }
    }

    #[test]
    fn the_heaviest_comes_first_and_shares_add_up() {
        let mut reports = [
            report("insert", 1.0, None, 1.0),
            report("often", 9.0, Some(100), 1.0),
            report("heavy", 0.1, Some(81_000), 1.0),
            report("update", 1.0, None, 5.0),
        ];
        rank(&mut reports);
        assert_eq!(reports.each_ref().map(|r| r.statement.as_str()), ["heavy", "often", "update", "insert"]);
        assert_eq!(reports.each_ref().map(|r| r.share), [Some(0.9), Some(0.1), None, None]);
    }
}
