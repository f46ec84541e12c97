//! Why data work failed, and what to do about it.

use super::content::Content;
use evenkeel_site::server::TargetError;
use thiserror::Error;

pub type Result<T, E = DataError> = std::result::Result<T, E>;

#[derive(Debug, Error)]
pub enum DataError {
    /// No connection, or the server's word on a statement.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// A name that cannot stand between backquotes.
    #[error("{0:?} cannot be the name of a database")]
    DatabaseName(String),
    /// For example by `seed 1 instead of 2`.
    #[error("database {database} holds another data set: {}", differences.join(", "))]
    Differs { database: String, differences: Vec<String> },
    #[error("the data set in database {database} is incomplete")]
    HalfFinished { database: String },
    #[error("the rows of the data set in database {database} have been changed since it was made")]
    Written { database: String },
    #[error("database {database} has tables but no data set of Evenkeel, for example {table}")]
    Foreign { database: String, table: String },
    #[error("database {database} holds no data set")]
    Missing { database: String },
    #[error("the stamp in database {database} is of another version: {stamp}")]
    Stamp { database: String, stamp: String },
    #[error("another process is working on the data set in database {database}")]
    Busy { database: String },
    #[error("table {table} was loaded with {count} warnings, the first: {first}")]
    Warnings { table: String, count: u64, first: String },
    #[error(
        "table {table} has {} rows of content {:x} instead of {} rows of content {:x}",
        stored.rows, stored.crc_sum, expected.rows, expected.crc_sum
    )]
    Content { table: String, expected: Content, stored: Content },
    #[error("there is no table {0}")]
    NoTable(String),
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
