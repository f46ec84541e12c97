//! Why a table is not built anew.

use crate::server::TargetError;

/// Why a table is not built anew.
#[derive(Debug, thiserror::Error)]
pub enum RelayoutError {
    #[error(transparent)]
    Server(#[from] TargetError),
    #[error("the target names no database")]
    NoDatabase,
    #[error("a table has no name")]
    NoName,
    #[error("there is no table {0} in the database, or none that this account may read")]
    NoTable(String),
    #[error("table {table} {what}")]
    Refused { table: String, what: String, hint: &'static str },
    #[error("another client held table {table} for longer than {seconds} s; nothing was changed")]
    Held { table: String, seconds: u32 },
}

impl RelayoutError {
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Server(error) => error.hint(),
            Self::NoDatabase => Some("write it as mysql://user@host:port/DATABASE"),
            Self::NoName => Some("write them as --tables item,author"),
            Self::NoTable(_) => Some("SHOW TABLES lists them"),
            Self::Refused { hint, .. } => Some(hint),
            Self::Held { .. } => Some(
                "SHOW FULL PROCESSLIST shows which client uses the table; run the same again once it is done",
            ),
        }
    }

    pub fn is_stop(&self) -> bool {
        matches!(self, Self::Server(TargetError::Stopped))
    }
}
