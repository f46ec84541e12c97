//! Why a statement cannot be explained.

use super::Refused;
use evenkeel_site::server::TargetError;
use thiserror::Error;

pub type Result<T, E = ExplainError> = std::result::Result<T, E>;

#[derive(Debug, Error)]
pub enum ExplainError {
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error("cannot explain statement `{statement}`: {source}")]
    Plan { statement: String, source: TargetError },
    #[error("statement `{statement}` failed: {source}")]
    Execute { statement: String, source: TargetError },
    /// The server refuses a statement, and all are needed.
    #[error("the server refuses statement {0}")]
    Refused(Refused),
}

impl ExplainError {
    /// What the server said against a statement.
    ///
    /// # Errors
    /// Anything that is not about the statement alone, as a lost connection.
    pub(super) fn refused(self, sql: &str) -> Result<Refused, Self> {
        let (statement, code, message) = match &self {
            Self::Plan { statement, source: TargetError::Statement { code, message, .. } }
            | Self::Execute { statement, source: TargetError::Statement { code, message, .. } } => {
                (statement, *code, message)
            }
            _ => return Err(self),
        };
        let (statement, message) = (statement.clone(), message.clone());
        Ok(Refused { statement, sql: sql.to_owned(), code, message })
    }

    /// Whether it is no failure: somebody asked to stop.
    pub fn is_stop(&self) -> bool {
        matches!(self, Self::Target(TargetError::Stopped) | Self::Plan { source: TargetError::Stopped, .. })
    }

    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Target(error) | Self::Plan { source: error, .. } => error.hint(),
            // ER_NO_DB_ERROR.
            Self::Refused(refused) if refused.code == 1046 => Some("name the database: URL/shop"),
            Self::Execute { source, .. } => source.hint(),
            Self::Refused(_) => None,
        }
    }
}
