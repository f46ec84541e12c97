//! Why a statement cannot be explained.

use crate::target::TargetError;
use thiserror::Error;

/// Why a statement cannot be explained.
#[derive(Debug, Error)]
pub enum ExplainError {
    /// The server did not take a question of ours.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The server would not explain a statement.
    #[error("cannot explain statement `{statement}`: {source}")]
    Plan {
        /// Its name.
        statement: String,
        /// Why.
        source: TargetError,
    },
    /// The server would not make a statement.
    #[error("statement `{statement}` failed: {source}")]
    Execute {
        /// Its name.
        statement: String,
        /// Why.
        source: mysql::Error,
    },
}

impl ExplainError {
    /// Whether it is no failure: somebody asked to stop.
    pub fn is_stop(&self) -> bool {
        matches!(self, Self::Target(TargetError::Stopped) | Self::Plan { source: TargetError::Stopped, .. })
    }

    /// What the user can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Target(error) | Self::Plan { source: error, .. } => error.hint(),
            Self::Execute { .. } => None,
        }
    }
}
