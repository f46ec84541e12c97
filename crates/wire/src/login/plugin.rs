//! Proving the password.

use super::public_key::PublicKeyError;
use super::{proof, public_key};
use crate::error::{ProtocolError, ServerError};

pub(super) const NATIVE: &[u8] = b"mysql_native_password";
const ED25519: &[u8] = b"client_ed25519";

const FAST_OK: u8 = 3;
const FULL_NEEDED: u8 = 4;
const KEY_REQUEST: u8 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plugin {
    Native,
    CachingSha2,
    Ed25519,
    Clear,
}

/// A plugin with the random bytes that the server sent for it.
#[derive(Debug)]
pub(super) struct Answer {
    plugin: Plugin,
    nonce: Vec<u8>,
}

/// The random bytes in what a server sent for the plugin of this name. They are text with a zero at its end,
/// except those of ed25519: its 32 bytes may end in any byte, and a zero is as much a part of them.
pub(super) fn nonce<'a>(name: &[u8], data: &'a [u8]) -> &'a [u8] {
    match name {
        ED25519 => data,
        _ => data.strip_suffix(&[0]).unwrap_or(data),
    }
}

impl Answer {
    /// The plugin of this name, if it is known.
    pub fn new(name: &[u8], nonce: Vec<u8>) -> Result<Self, ()> {
        let plugin = match name {
            NATIVE | b"" => Plugin::Native,
            b"caching_sha2_password" => Plugin::CachingSha2,
            ED25519 => Plugin::Ed25519,
            b"mysql_clear_password" => Plugin::Clear,
            _ => return Err(()),
        };
        Ok(Self { plugin, nonce })
    }

    pub fn name(&self) -> &'static [u8] {
        match self.plugin {
            Plugin::Native => NATIVE,
            Plugin::CachingSha2 => b"caching_sha2_password",
            Plugin::Ed25519 => ED25519,
            Plugin::Clear => b"mysql_clear_password",
        }
    }

    /// The first proof. An empty password is proved by nothing at all, except with ed25519, which signs
    /// with it.
    pub fn proof(&self, password: &str, private: bool) -> Result<Vec<u8>, LoginError> {
        let password = password.as_bytes();
        Ok(match self.plugin {
            Plugin::Native | Plugin::CachingSha2 if password.is_empty() => Vec::new(),
            Plugin::Native => proof::native(&self.nonce, password),
            Plugin::CachingSha2 => proof::caching_sha2(&self.nonce, password),
            Plugin::Ed25519 => proof::ed25519(&self.nonce, password),
            Plugin::Clear if private => with_zero(password),
            Plugin::Clear => return Err(LoginError::NeedsTls("mysql_clear_password")),
        })
    }

    /// What the server's further data asks for, if anything. Only caching_sha2_password has any: whether
    /// its cache knew the password, and its public key.
    pub fn more(&self, data: &[u8], password: &str, private: bool) -> Result<Option<Vec<u8>>, LoginError> {
        match data {
            _ if self.plugin != Plugin::CachingSha2 => Err(ProtocolError::Malformed("login data").into()),
            [FAST_OK] => Ok(None),
            [FULL_NEEDED] if private => Ok(Some(with_zero(password.as_bytes()))),
            [FULL_NEEDED] => Ok(Some(vec![KEY_REQUEST])),
            key if key.starts_with(b"-----BEGIN") => {
                Ok(Some(public_key::encrypt(&masked(password.as_bytes(), &self.nonce), key)?))
            }
            _ => Err(ProtocolError::Malformed("login data").into()),
        }
    }
}

fn with_zero(password: &[u8]) -> Vec<u8> {
    [password, &[0]].concat()
}

/// The password with its zero, exclusive-or the nonce again and again.
fn masked(password: &[u8], nonce: &[u8]) -> Vec<u8> {
    let mut masked = with_zero(password);
    masked.iter_mut().zip(nonce.iter().cycle()).for_each(|(byte, mask)| *byte ^= mask);
    masked
}

// Why a login failed.

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
