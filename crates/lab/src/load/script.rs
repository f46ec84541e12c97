//! Statements made ready to be sent.

use super::plan::Protocol;
use super::written::Change;
use crate::workload::{Statement, Value};
use evenkeel_wire::{EscapeMode, Field, Parameter, Row, Template, TemplateError, command};

#[derive(Clone, Copy, Debug)]
pub(super) struct Handle {
    pub statement: u32,
    pub parameters: u16,
}

pub(super) struct Script {
    pub sql: String,
    pub captures: bool,
    pub prepared: bool,
    pub change: Change,
    template: Template,
}

impl Script {
    pub fn new(statement: &Statement, protocol: Protocol) -> Self {
        Self {
            sql: statement.sql.clone(),
            captures: statement.captures,
            prepared: statement.prepared && protocol == Protocol::Prepared,
            change: Change::of(statement),
            template: Template::new(&statement.sql),
        }
    }

    /// Appends the query with its parameters in the text; the number of the first packet of its answer.
    pub fn put_text(
        &self,
        out: &mut Vec<u8>,
        values: &[Value],
        mode: EscapeMode,
    ) -> Result<u8, TemplateError> {
        let start = out.len();
        let mut written = Ok(());
        let answer =
            command::query_with(out, |out| written = self.template.write(out, parameters(values), mode));
        if written.is_err() {
            out.truncate(start);
        }
        written.map(|()| answer)
    }

    /// Appends the execution of the prepared statement; the number of the first packet of its answer.
    pub fn put_execute(out: &mut Vec<u8>, handle: Handle, values: &[Value]) -> Result<u8, TemplateError> {
        let expected = usize::from(handle.parameters);
        if values.len() != expected {
            return Err(TemplateError::Count { expected, found: values.len() });
        }
        Ok(command::execute(out, handle.statement, parameters(values)))
    }
}

pub(crate) fn parameters(values: &[Value]) -> impl ExactSizeIterator<Item = Parameter<'_>> + Clone {
    values.iter().map(|value| match value {
        Value::Null => Parameter::Null,
        Value::Int(number) => Parameter::Int(*number),
        Value::Double(number) => Parameter::Double(*number),
        Value::Text(text) => Parameter::Text(text),
    })
}

/// The values of a captured row; `None` where the row is malformed.
pub(crate) fn values(row: &Row<'_>) -> Option<Vec<Value>> {
    let value = |field| match field {
        Field::Null => Value::Null,
        Field::Int(number) => Value::Int(number),
        Field::Unsigned(number) => Value::Text(number.to_string().into_bytes()),
        Field::Double(number) => Value::Double(number),
        Field::Text(text) => Value::Text(text.to_vec()),
        Field::Moment(moment) => Value::Text(moment.to_string().into_bytes()),
    };
    row.fields().map(|field| field.ok().map(value)).collect()
}
