//! What keeps records from being dispatched.

use evenkeel_site::server::TargetError;

/// Why records were not dispatched, or day tables not retired. What was moved before is moved and in the journal.
#[derive(Debug, thiserror::Error)]
pub enum DispatchError {
    /// What the server said.
    #[error(transparent)]
    Server(#[from] TargetError),
    /// A pattern that names no day tables.
    #[error("--name {pattern}: {why}")]
    Pattern {
        /// As it was given.
        pattern: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The URL names no database.
    #[error("the target names no database")]
    NoDatabase,
    /// No such table.
    #[error("there is no table {0}")]
    NoTable(String),
    /// No such column.
    #[error("table {table} has no column {column}")]
    NoColumn {
        /// The table.
        table: String,
        /// The column.
        column: String,
    },
    /// A table of a kind that records cannot be moved from, or to, in safety.
    #[error("table {table} {what}")]
    Unfit {
        /// The table.
        table: String,
        /// What about it.
        what: String,
        /// What to do.
        hint: &'static str,
    },
    /// Somebody else works on the same source.
    #[error("somebody else dispatches table {table}: connection {connection} of the server")]
    Busy {
        /// The source.
        table: String,
        /// The other's number.
        connection: String,
    },
    /// Dates that are hardly those of calls.
    #[error("table {table} has records of {days} days, and --max-days is {most}")]
    TooManyDays {
        /// The source.
        table: String,
        /// Days in it.
        days: usize,
        /// How many there may be.
        most: usize,
    },
    /// A count or a checksum that is not what it has to be. Nothing was deleted.
    #[error("table {table}: {what}")]
    Disagree {
        /// The table.
        table: String,
        /// Both figures.
        what: String,
    },
}

impl DispatchError {
    /// Whether somebody asked to stop.
    pub fn is_stop(&self) -> bool {
        matches!(self, Self::Server(TargetError::Stopped))
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Server(error) => error.hint(),
            Self::Pattern { .. } => Some("as --name '{table}_{day}', where {day} becomes yyyymmdd"),
            Self::NoDatabase => Some("write it as mysql://user@host:port/DATABASE"),
            Self::NoTable(_) => Some("load the records first, or correct --table"),
            Self::NoColumn { .. } => Some("correct --by"),
            Self::Unfit { hint, .. } => Some(hint),
            Self::Busy { .. } => Some("wait for it; a statement of a client that was killed ends by itself"),
            Self::TooManyDays { .. } => Some(
                "look at the dates of the records: some may be wrong; raise --max-days where they are right",
            ),
            Self::Disagree { .. } => Some("nothing was deleted: compare both tables, then run it again"),
        }
    }
}
