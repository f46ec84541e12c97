//! Why a login failed.

use super::public_key::PublicKeyError;
use crate::error::{ProtocolError, ServerError};

/// What the server refused, what it cannot do, or what it said that is not the protocol.
#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    /// The server said no.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The server said something that is not the protocol.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    /// The server wants a way to prove the password that is not known here.
    #[error("authentication plugin '{0}' is not supported")]
    UnknownPlugin(String),
    /// Encryption was asked for.
    #[error("server offers no TLS")]
    NoTls,
    /// The server wants the password itself, and others could read it.
    #[error("authentication plugin '{0}' sends the password as it is and needs TLS")]
    NeedsTls(&'static str),
    /// The server is too old: protocol 4.1 with plugins began with MySQL 5.5 and MariaDB 5.2.
    #[error("server {0} is too old")]
    TooOld(String),
    /// The server's key cannot be used.
    #[error("public key of the server: {0}")]
    PublicKey(#[from] PublicKeyError),
}
