//! Why data work failed, and what to do about it.

use super::content::Content;
use evenkeel_site::server::TargetError;
use thiserror::Error;

/// Why data work failed.
#[derive(Debug, Error)]
pub enum DataError {
    /// No connection, or the server's word on a statement.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// A name that cannot stand between backquotes.
    #[error("{0:?} cannot be the name of a database")]
    DatabaseName(String),
    /// Another data set is there.
    #[error("database {database} holds another data set: {}", differences.join(", "))]
    Differs {
        /// The database that was to be filled.
        database: String,
        /// What differs, for example `seed 1 instead of 2`.
        differences: Vec<String>,
    },
    /// A data set whose making was cut short.
    #[error("the data set in database {database} is incomplete")]
    HalfFinished {
        /// The database that the data set was to be made in.
        database: String,
    },
    /// Rows were changed since the data set was made.
    #[error("the rows of the data set in database {database} have been changed since it was made")]
    Written {
        /// The database with the changed rows.
        database: String,
    },
    /// Tables that are not ours.
    #[error("database {database} has tables but no data set of Evenkeel, for example {table}")]
    Foreign {
        /// The database with tables of somebody else.
        database: String,
        /// One of its tables.
        table: String,
    },
    /// The database holds no data set.
    #[error("database {database} holds no data set")]
    Missing {
        /// The database that was looked into.
        database: String,
    },
    /// The stamp cannot be read.
    #[error("the stamp in database {database} is of another version: {stamp}")]
    Stamp {
        /// The database with the stamp.
        database: String,
        /// What stands there.
        stamp: String,
    },
    /// Somebody else is at it.
    #[error("another process is working on the data set in database {database}")]
    Busy {
        /// The database that the other process works on.
        database: String,
    },
    /// The server took rows with complaints.
    #[error("table {table} was loaded with {count} warnings, the first: {first}")]
    Warnings {
        /// The table that was loaded.
        table: String,
        /// How many rows or values the server complained about.
        count: u64,
        /// Text of the first.
        first: String,
    },
    /// The server holds other rows than it was sent.
    #[error(
        "table {table} has {} rows of content {:x} instead of {} rows of content {:x}",
        stored.rows, stored.crc_sum, expected.rows, expected.crc_sum
    )]
    Content {
        /// The table whose rows are not those that were made.
        table: String,
        /// What was sent.
        expected: Content,
        /// What is there.
        stored: Content,
    },
    /// A table that is to be measured.
    #[error("there is no table {0}")]
    NoTable(String),
    /// Somebody asked to stop.
    #[error("stopped")]
    Stopped,
}

impl DataError {
    /// Whether it is no failure: somebody asked to stop, wherever that was noticed.
    pub fn is_stop(&self) -> bool {
        matches!(self, Self::Stopped | Self::Target(TargetError::Stopped))
    }

    /// What to do about it, where there is more to say than the error itself.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Target(TargetError::LocalInfile { .. }) => {
                "SET GLOBAL local_infile = ON, or use --via insert"
            }
            Self::Target(error) => return error.hint(),
            Self::Differs { .. } => "drop that data set first, name another database, or ask for this one",
            Self::HalfFinished { .. } => "fill it again by `evenkeel data fill URL --replace`",
            Self::Written { .. } => {
                "restore the snapshot, or fill it again by `evenkeel data fill URL --replace`"
            }
            Self::Foreign { .. } => {
                "name an empty or new database; for these tables, `evenkeel workload from URL > shop.toml` makes a workload"
            }
            Self::Missing { .. } => "fill it by `evenkeel data fill URL`",
            Self::Busy { .. } => "wait for it to end",
            Self::Content { .. } | Self::Warnings { .. } => {
                "drop the data set and populate again; if it comes back, the server alters rows"
            }
            _ => return None,
        })
    }
}
