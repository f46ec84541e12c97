//! Statements made one at a time over the control connection: for looking, not for load.

use super::ExplainError;
use crate::workload::{Parameters, Reply, Statement, Value};
use evenkeel_site::server::Control;
use mysql::prelude::Queryable;
use mysql::{Conn, Params};

/// The server knows the statement, and does not prepare its kind (ER_UNSUPPORTED_PS).
const NOT_PREPARED: u16 = 1295;

/// Prepares the statements of a workload and makes them.
pub struct Executor {
    statements: Vec<Statement>,
}

impl Executor {
    /// For these statements, by their index.
    pub fn new(statements: &[Statement]) -> Self {
        Self { statements: statements.to_vec() }
    }

    /// Makes a statement and takes its whole answer.
    ///
    /// # Errors
    /// [`ExplainError::Execute`] with the server's words.
    pub fn execute(
        &self,
        control: &mut Control,
        index: usize,
        parameters: &Parameters,
    ) -> Result<Reply, ExplainError> {
        let mut conn = control.connection();
        let reply = if self.statements[index].prepared {
            self.execute_prepared(&mut conn, index, parameters)
        } else {
            conn.query_iter(&self.statements[index].sql).and_then(take)
        };
        drop(conn);
        reply.map_err(|source| match control.cut() {
            Some(cut) => cut.into(),
            None => ExplainError::Execute { statement: self.statements[index].name.clone(), source },
        })
    }

    /// Has the server look at a statement that is not made: what it does not take, as a misspelt word or a call of what is
    /// not there, it says then.
    ///
    /// # Errors
    /// [`ExplainError::Execute`] with the server's words.
    pub fn prepare(&self, control: &mut Control, index: usize) -> Result<(), ExplainError> {
        let statement = &self.statements[index];
        match control.connection().prep(&statement.sql) {
            Err(mysql::Error::MySqlError(error)) if error.code == NOT_PREPARED => Ok(()),
            Err(source) => Err(ExplainError::Execute { statement: statement.name.clone(), source }),
            Ok(_) => Ok(()),
        }
    }

    fn execute_prepared(
        &self,
        conn: &mut Conn,
        index: usize,
        parameters: &Parameters,
    ) -> Result<Reply, mysql::Error> {
        // The driver keeps the statements prepared last, and closes older ones itself.
        let prepared = conn.prep(&self.statements[index].sql)?;
        let values: Vec<mysql::Value> = parameters.iter().map(to_driver).collect();
        let params = if values.is_empty() { Params::Empty } else { Params::Positional(values) };
        conn.exec_iter(&prepared, params).and_then(take)
    }
}

fn take<P: mysql::prelude::Protocol>(
    mut result: mysql::QueryResult<'_, '_, '_, P>,
) -> Result<Reply, mysql::Error> {
    let mut reply = Reply {
        affected_rows: result.affected_rows(),
        last_insert_id: result.last_insert_id().unwrap_or(0),
        ..Reply::default()
    };
    for row in result.by_ref() {
        reply.rows.push(row?.unwrap().into_iter().map(from_driver).collect());
    }
    reply.row_count = reply.rows.len() as u64;
    Ok(reply)
}

fn to_driver(value: &Value) -> mysql::Value {
    match value {
        Value::Null => mysql::Value::NULL,
        Value::Int(number) => mysql::Value::Int(*number),
        Value::Double(number) => mysql::Value::Double(*number),
        Value::Text(text) => mysql::Value::Bytes(text.clone()),
    }
}

fn from_driver(value: mysql::Value) -> Value {
    match value {
        mysql::Value::NULL => Value::Null,
        mysql::Value::Bytes(text) => Value::Text(text),
        mysql::Value::Int(number) => Value::Int(number),
        mysql::Value::UInt(number) => {
            i64::try_from(number).map_or_else(|_| Value::Text(number.to_string().into_bytes()), Value::Int)
        }
        mysql::Value::Float(number) => Value::Double(number.into()),
        mysql::Value::Double(number) => Value::Double(number),
        moment => Value::Text(moment.as_sql(true).trim_matches('\'').as_bytes().to_vec()),
    }
}
