//! Statements made one at a time over the control connection: for looking, not for load.

use super::{ExplainError, Result};
use crate::load::{parameters, values};
use crate::workload::{Parameters, Reply, Statement};
use evenkeel_site::server::{Control, RowTaker, TargetError};
use evenkeel_wire::{ProtocolError, Row};

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
    ///
    /// # Errors
    /// [`ExplainError::Execute`] with the server's words.
    pub fn execute(&self, control: &mut Control, index: usize, values: &Parameters) -> Result<Reply> {
        let statement = &self.statements[index];
        make(control, statement, values).map_err(|source| failed(control, statement, source))
    }

    /// Has the server look at a statement that is not made: what it does not take, as a misspelt word or a call of what is
    /// not there, it says then.
    ///
    /// # Errors
    /// [`ExplainError::Execute`] with the server's words.
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
