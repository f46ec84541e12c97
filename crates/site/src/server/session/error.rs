//! An error says why a session cannot be had, or why a statement does not work.

use evenkeel_os::tls::TlsError;
use evenkeel_wire::{LoginError, ProtocolError, ServerError};
use std::io;

/// Why a session cannot be had, or a statement does not work. It becomes a `TargetError`, which says where, and what was asked.
#[derive(Debug, thiserror::Error)]
pub(in crate::server) enum SessionError {
    #[error(transparent)]
    Server(#[from] ServerError),
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    #[error(transparent)]
    Login(LoginError),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    File(io::Error),
    #[error(transparent)]
    Enough(io::Error),
    #[error("answer above the limit of {0} bytes")]
    TooLarge(usize),
    #[error("statement takes {expected} parameters, got {found}")]
    Parameters { expected: usize, found: usize },
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
