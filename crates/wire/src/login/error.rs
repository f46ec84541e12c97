//! Why a login failed.

use super::public_key::PublicKeyError;
use crate::error::{ProtocolError, ServerError};

#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    #[error(transparent)]
    Server(#[from] ServerError),
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    #[error("authentication plugin '{0}' is not supported")]
    UnknownPlugin(String),
    #[error("server offers no TLS")]
    NoTls,
    #[error("authentication plugin '{0}' sends the password as it is and needs TLS")]
    NeedsTls(&'static str),
    #[error("server {0} is too old")]
    TooOld(String),
    #[error("public key of the server: {0}")]
    PublicKey(#[from] PublicKeyError),
}
