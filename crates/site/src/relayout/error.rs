//! Why a table is not built anew.

use crate::server::TargetError;

/// Why a table is not built anew.
#[derive(Debug, thiserror::Error)]
pub enum RelayoutError {
    /// What the server said.
    #[error(transparent)]
    Server(#[from] TargetError),
    /// The URL names no database.
    #[error("the target names no database")]
    NoDatabase,
    /// No such table.
    #[error("there is no table {0} in the database, or none that this account may read")]
    NoTable(String),
    /// Something that would be lost, or a table of a kind that has no pages of its own.
    #[error("table {table} {what}")]
    Refused {
        /// Name of the table, unquoted.
        table: String,
        /// What about it.
        what: String,
        /// What to do.
        hint: &'static str,
    },
    /// Rows of the copy are not those of the table. The table has its place still, and the copy is gone.
    #[error("the copy of table {table} has {what}; nothing was changed")]
    Differs {
        /// Name of the table, unquoted.
        table: String,
        /// Both figures, as a part of a sentence.
        what: String,
    },
    /// Rows came to the table between the check of its copy and the swap. Both are there, and the copy has the name.
    #[error(
        "table {table} was written to while it was locked: {before} has {rows} rows, and its copy was verified with {verified}; nothing was dropped"
    )]
    WrittenTo {
        /// Name of the table, unquoted.
        table: String,
        /// Name of the table as it was.
        before: String,
        /// Rows that it has.
        rows: String,
        /// Rows that the copy had when it was verified.
        verified: String,
    },
    /// Somebody holds the table.
    #[error("table {table} is held by another client for longer than {seconds} s; nothing was changed")]
    Held {
        /// Name of the table, unquoted.
        table: String,
        /// How long it was waited for.
        seconds: u32,
    },
}

impl RelayoutError {
    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Server(error) => error.hint(),
            Self::NoDatabase => Some("write it as mysql://user@host:port/DATABASE"),
            Self::NoTable(_) => Some("SHOW TABLES lists them"),
            Self::Refused { hint, .. } => Some(hint),
            Self::Differs { .. } => Some(
                "run CHECK TABLE on it: rows that cannot be read twice alike are damaged, or not plain values",
            ),
            Self::WrittenTo { .. } => Some(
                "bring the rows that the old table has more into the new one, by its key; then drop the old one",
            ),
            Self::Held { .. } => Some(
                "SHOW FULL PROCESSLIST names who is at the table; run the same again once that one is done",
            ),
        }
    }

    /// Whether somebody asked to stop.
    pub fn is_stop(&self) -> bool {
        matches!(self, Self::Server(TargetError::Stopped))
    }
}
