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
    #[error("the copy of table {table} has {what}; nothing was changed")]
    Differs { table: String, what: String },
    #[error(
        "table {table} {what} during the swap with its copy: {before} has that, {table} has not; nothing was dropped"
    )]
    Changed { table: String, before: String, what: String },
    #[error("table {table} is rebuilt and in place, and the old table is kept as {before}: {what}")]
    Left { table: String, before: String, what: String },
    #[error("{error}; its unfinished copy {copy} may still exist")]
    Remains { copy: String, error: Box<RelayoutError> },
    #[error("another client is rebuilding table {0}, or the lock for that was lost; nothing was changed")]
    Busy(String),
    #[error("another client altered table {0} before it could be copied; nothing was changed")]
    Stuck(String),
    #[error("another client held table {table} for longer than {seconds} s; nothing was changed")]
    Held { table: String, seconds: u32 },
}

impl RelayoutError {
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Server(error) => error.hint(),
            Self::Remains { .. } => Some(
                "the table is unchanged: drop the copy, or run the same with --fresh again, which drops it",
            ),
            Self::NoDatabase => Some("write it as mysql://user@host:port/DATABASE"),
            Self::NoName => Some("write them as --tables item,author"),
            Self::Left { .. } => Some(
                "compare both by number of rows and CHECKSUM TABLE, and drop the old one if they are the same",
            ),
            Self::NoTable(_) => Some("SHOW TABLES lists them"),
            Self::Refused { hint, .. } => Some(hint),
            Self::Differs { .. } => Some(
                "if it has a stored generated column, relayout it in place (without --fresh), since the \
                 server may now compute other values; if not, run CHECK TABLE, since its rows are damaged",
            ),
            Self::Changed { .. } => Some(
                "drop neither: compare both by their keys, also changed and deleted rows; copy what is \
                 missing into the new one, and make the same change to it",
            ),
            Self::Busy(_) | Self::Stuck(_) => Some("wait for it, and run the same again"),
            Self::Held { .. } => Some(
                "SHOW FULL PROCESSLIST shows which client uses the table; run the same again once it is done",
            ),
        }
    }

    /// Whether a connection may have ended before its statement did.
    pub(super) fn is_cut(&self) -> bool {
        let is_lost = |error: &TargetError| {
            matches!(
                error,
                TargetError::Lost { .. } | TargetError::Silent { .. } | TargetError::Timeout { .. }
            )
        };
        self.is_stop() || matches!(self, Self::Server(error) if is_lost(error))
    }

    pub fn is_stop(&self) -> bool {
        match self {
            Self::Server(TargetError::Stopped) => true,
            Self::Remains { error, .. } => error.is_stop(),
            _ => false,
        }
    }
}
