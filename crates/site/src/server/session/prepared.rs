//! The server keeps prepared statements for a session.

use super::answer::Taking;
use super::{EachRow, Outcome, Session, SessionError};
use evenkeel_wire::{Expect, Parameter, ProtocolError, command};

/// Statements kept at a time: more than a workload has, and few among the 16,382 that a server holds.
const KEPT: usize = 32;

/// How the server knows a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::server) struct Handle {
    pub statement: u32,
    pub parameters: u16,
}

/// A statement that the server keeps.
pub(super) struct Prepared {
    sql: String,
    handle: Handle,
}

impl Session {
    /// Prepares a statement, unless it is; the one that was used longest ago goes where there are many.
    pub fn prepare(&mut self, sql: &str) -> Result<Handle, SessionError> {
        if let Some(at) = self.prepared.iter().position(|prepared| prepared.sql == sql) {
            self.prepared[at..].rotate_left(1);
            return Ok(self.prepared[self.prepared.len() - 1].handle);
        }
        if self.prepared.len() >= KEPT {
            command::close(&mut self.out, self.prepared.remove(0).handle.statement);
        }
        let sequence = command::prepare(&mut self.out, sql.as_bytes());
        let outcome = self.ask(Expect::Prepared, sequence, Taking::new(None))?;
        let handle = outcome.prepared.ok_or(ProtocolError::Malformed("answer to a preparation"))?;
        self.prepared.push(Prepared { sql: sql.to_owned(), handle });
        Ok(handle)
    }

    /// Makes a prepared statement; `each` gets the rows of its first result.
    pub fn execute(
        &mut self,
        sql: &str,
        parameters: &[Parameter<'_>],
        each: Option<EachRow<'_>>,
    ) -> Result<Outcome, SessionError> {
        let handle = self.prepare(sql)?;
        let (expected, found) = (usize::from(handle.parameters), parameters.len());
        if expected != found {
            return Err(SessionError::Parameters { expected, found });
        }
        let sequence = command::execute(&mut self.out, handle.statement, parameters.iter().copied());
        self.ask(Expect::Binary, sequence, Taking::new(each))
    }
}
