//! What goes wrong between two ends of the protocol.

use crate::bytes::Reader;
use std::fmt;

/// Bytes that are not the protocol, or more than the limits allow.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    #[error("malformed {0}")]
    Malformed(&'static str),
    #[error("packet number {found} where {expected} was due")]
    Sequence { expected: u8, found: u8 },
    #[error("packet above the limit of {limit} bytes")]
    TooLarge { limit: usize },
    #[error("server asks for a local file")]
    LocalFile,
    #[error("bytes without a command")]
    Unasked,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerError {
    pub code: u16,
    /// SQLSTATE, `HY000` where the server sent none.
    pub state: [u8; 5],
    /// Text, cut at [`ServerError::TEXT_MAX`] bytes.
    pub text: String,
}

impl ServerError {
    /// Longest text kept; the server's own limit is 512.
    pub const TEXT_MAX: usize = 512;

    /// Reads an error packet, its first byte (0xFF) included.
    pub fn parse(payload: &[u8]) -> Result<Self, ProtocolError> {
        let mut reader = Reader(payload);
        let code = match (reader.u8(), reader.u16()) {
            (Some(0xff), Some(code)) => code,
            _ => return Err(ProtocolError::Malformed("error packet")),
        };
        let mut state = *b"HY000";
        if let [b'#', a, b, c, d, e, text @ ..] = reader.0 {
            state = [*a, *b, *c, *d, *e];
            reader.0 = text;
        }
        let text = &reader.0[..reader.0.len().min(Self::TEXT_MAX)];
        Ok(Self { code, state, text: String::from_utf8_lossy(text).into_owned() })
    }
}

impl std::error::Error for ServerError {}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error {} ({}): {}", self.code, String::from_utf8_lossy(&self.state), self.text)
    }
}
