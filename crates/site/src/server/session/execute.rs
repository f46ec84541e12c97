//! A session prepares statements and makes prepared ones.

use super::answer::Taking;
use super::prepared::Handle;
use super::{EachRow, Outcome, Session, SessionError};
use evenkeel_wire::{Expect, Parameter, ProtocolError, command};

impl Session {
    /// Prepares a statement, unless it is; the one that was used longest ago goes where there are many.
    pub fn prepare(&mut self, sql: &str) -> Result<Handle, SessionError> {
        if let Some(handle) = self.prepared.find(sql) {
            return Ok(handle);
        }
        if let Some(oldest) = self.prepared.make_room() {
            command::close(&mut self.out, oldest.statement);
        }
        let sequence = command::prepare(&mut self.out, sql.as_bytes());
        let outcome = self.ask(Expect::Prepared, sequence, Taking::new(None))?;
        let handle = outcome.prepared.ok_or(ProtocolError::Malformed("answer to a preparation"))?;
        self.prepared.keep(sql, handle);
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
