//! Rows that a load has written, as the server counts them in its answers.

use super::schedule::Protocol;
use crate::workload::sql::{may_write, parse};
use crate::workload::{Statement, Value};
use evenkeel_wire::{EscapeMode, Field, Parameter, Row, Template, TemplateError, command};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What sessions have written, from the first statement to the last, the warm-up included; what was rolled back is not in it.
/// What triggers, foreign keys and functions wrote besides no answer says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// Rows that INSERT and LOAD DATA added.
    pub inserted: u64,
    pub updated: u64,
    pub deleted: u64,
    /// Rows affected by REPLACE and ON DUPLICATE KEY UPDATE, where one that was there before counts twice.
    pub replaced: u64,
    /// Statements that write, or may do so, and whose rows the server does not tell, as CALL and reads that call stored functions.
    pub uncounted: u64,
    /// Statements that write, or commit, and got no answer: they may have been done.
    pub unanswered: u64,
}

impl Written {
    pub fn add(&mut self, other: &Self) {
        self.inserted += other.inserted;
        self.updated += other.updated;
        self.deleted += other.deleted;
        self.replaced += other.replaced;
        self.uncounted += other.uncounted;
        self.unanswered += other.unanswered;
    }

    fn count(&mut self, change: Change, rows: u64) {
        match change {
            Change::Inserts => self.inserted += rows,
            Change::Updates => self.updated += rows,
            Change::Deletes => self.deleted += rows,
            Change::Replaces => self.replaced += rows,
            Change::Uncounted => self.uncounted += 1,
            Change::Nothing | Change::Begins | Change::Commits | Change::RollsBack => {}
        }
    }

    /// Takes in a statement that was answered; gives what is written for good by now.
    pub(super) fn answered(&mut self, change: Change, rows: Option<u64>, in_transaction: bool) -> Self {
        match (change, rows) {
            (Change::RollsBack, Some(_)) => *self = Self::default(),
            (Change::Nothing, _) | (_, None) => {}
            // A transaction that was open is committed by the beginning of another.
            (Change::Begins | Change::Commits, Some(_)) => return std::mem::take(self),
            (change, Some(rows)) => self.count(change, rows),
        }
        if in_transaction { Self::default() } else { std::mem::take(self) }
    }
}

/// `40790 inserted, 12 updated, 0 deleted`, with what cannot be counted.
impl fmt::Display for Written {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { inserted, updated, deleted, replaced, uncounted, unanswered } = self;
        write!(out, "{inserted} inserted, {updated} updated, {deleted} deleted")?;
        if *replaced > 0 {
            write!(
                out,
                ", {replaced} affected by REPLACE or ON DUPLICATE KEY UPDATE (a row that was there counts twice)"
            )?;
        }
        if *uncounted > 0 {
            write!(
                out,
                "; {uncounted} statements whose rows the server does not count (CALL, stored functions, DDL)"
            )?;
        }
        if *unanswered > 0 {
            write!(out, "; {unanswered} statements without an answer, which may have written too")?;
        }
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Nothing,
    Inserts,
    Updates,
    Deletes,
    Replaces,
    Uncounted,
    Begins,
    Commits,
    RollsBack,
}

impl Change {
    /// Of a statement by its text, and by what it calls.
    pub fn of(statement: &Statement) -> Self {
        match Self::of_text(&statement.sql) {
            Self::Nothing if statement.calls_stored => Self::Uncounted,
            change => change,
        }
    }

    fn of_text(sql: &str) -> Self {
        let upper = sql.to_ascii_uppercase();
        match parse(sql).verb.as_str() {
            "INSERT" if upper.contains("ON DUPLICATE KEY") => Self::Replaces,
            "INSERT" | "LOAD" => Self::Inserts,
            "UPDATE" => Self::Updates,
            "DELETE" => Self::Deletes,
            "REPLACE" => Self::Replaces,
            "BEGIN" | "START" => Self::Begins,
            "COMMIT" => Self::Commits,
            "ROLLBACK" if !upper.contains(" TO ") => Self::RollsBack,
            _ if may_write(sql) => Self::Uncounted,
            _ => Self::Nothing,
        }
    }

    /// Whether rows may be written where no answer came: of a statement outside of a transaction, or of its end.
    pub fn is_open_question(self, in_transaction: bool, pending: &Written) -> bool {
        match self {
            Self::Nothing | Self::RollsBack => false,
            Self::Begins | Self::Commits => *pending != Written::default(),
            _ => !in_transaction,
        }
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_count_once_they_are_committed_and_never_where_they_are_rolled_back() {
        let (mut pending, mut sum) = (Written::default(), Written::default());
        for (sql, rows, in_transaction) in [
            ("INSERT INTO t VALUES (1), (2)", Some(2), false),
            ("BEGIN", Some(0), true),
            ("UPDATE t SET a = 1", Some(5), true),
            ("SELECT a FROM t", Some(0), true),
            ("ROLLBACK", Some(0), false),
            ("BEGIN", Some(0), true),
            ("DELETE FROM t", Some(3), true),
            ("UPDATE t SET a = 2", None, true),
            ("COMMIT", Some(0), false),
            ("CALL p()", Some(9), false),
            ("REPLACE INTO t VALUES (1)", Some(2), false),
        ] {
            sum.add(&pending.answered(Change::of_text(sql), rows, in_transaction));
        }
        let expected = Written { inserted: 2, deleted: 3, replaced: 2, uncounted: 1, ..Written::default() };
        assert_eq!((sum, pending), (expected, Written::default()));
        assert!(Change::of_text("INSERT INTO t VALUES (1)").is_open_question(false, &pending));
        assert!(!Change::of_text("INSERT INTO t VALUES (1)").is_open_question(true, &pending));
        assert!(
            !Change::Commits.is_open_question(true, &pending)
                && Change::Commits.is_open_question(true, &expected)
        );
    }

    #[test]
    fn a_read_that_calls_a_stored_function_is_counted_as_one_whose_rows_nobody_counts() {
        let statement = |sql: &str, calls_stored| Statement {
            name: "s".to_owned(),
            sql: sql.to_owned(),
            captures: false,
            prepared: true,
            tables: Vec::new(),
            calls_stored,
        };
        let (mut pending, mut sum) = (Written::default(), Written::default());
        for (sql, calls, rows) in [
            ("SELECT other.addit(1) FROM item LIMIT 1", true, 0),
            ("SELECT 1", false, 0),
            ("INSERT INTO item SELECT addit(1)", true, 3),
        ] {
            sum.add(&pending.answered(Change::of(&statement(sql, calls)), Some(rows), false));
        }
        assert_eq!(sum, Written { inserted: 3, uncounted: 1, ..Written::default() });
        assert!(sum.to_string().ends_with("does not count (CALL, stored functions, DDL)"), "{sum}");
    }
}
