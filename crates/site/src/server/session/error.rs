//! An error says why a session cannot be had, or why a statement does not work.

use evenkeel_os::tls::TlsError;
use evenkeel_wire::{LoginError, ProtocolError, ServerError};
use std::io;

/// Why a session cannot be had, or a statement does not work. It becomes a `TargetError`, which says where, and what was asked.
#[derive(Debug, thiserror::Error)]
pub(in crate::server) enum SessionError {
    /// The server said no.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The server said something that is not the protocol.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    /// There is no way to log in.
    #[error(transparent)]
    Login(LoginError),
    /// TLS cannot be set up.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The connection broke, or was silent for too long.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file that the server asked for cannot be read.
    #[error(transparent)]
    File(io::Error),
    /// Whoever takes the rows wants no more.
    #[error(transparent)]
    Enough(io::Error),
    /// More than is kept of an answer.
    #[error("answer above the limit of {0} bytes")]
    TooLarge(usize),
    /// A prepared statement takes so many parameters, and got so many.
    #[error("statement takes {expected} parameters, got {found}")]
    Parameters {
        /// As the server says.
        expected: usize,
        /// As were given.
        found: usize,
    },
}

impl SessionError {
    /// Whether nothing more can be asked.
    pub fn ends_session(&self) -> bool {
        !matches!(self, Self::Server(_) | Self::Enough(_) | Self::Parameters { .. })
    }
}

impl From<LoginError> for SessionError {
    fn from(error: LoginError) -> Self {
        match error {
            LoginError::Server(error) => Self::Server(error),
            LoginError::Protocol(error) => Self::Protocol(error),
            other => Self::Login(other),
        }
    }
}
