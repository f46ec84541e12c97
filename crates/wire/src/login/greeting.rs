//! The first packet of a server.

use super::CapabilityFlags;
use crate::bytes::Reader;
use crate::error::ProtocolError;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Greeting {
    /// Version text, for example `11.4.2-MariaDB`.
    pub version: String,
    /// Number of the connection, which `KILL` takes.
    pub connection: u32,
    pub capabilities: CapabilityFlags,
    /// Plugin it uses by default.
    pub(super) plugin: Vec<u8>,
    /// Random bytes that the proof of the password contains.
    pub(super) nonce: Vec<u8>,
}

impl Greeting {
    /// Reads protocol version 10, the only one since 1998.
    pub fn parse(payload: &[u8]) -> Result<Self, ProtocolError> {
        Self::read(Reader(payload)).ok_or(ProtocolError::Malformed("greeting"))
    }

    fn read(mut reader: Reader<'_>) -> Option<Self> {
        if reader.u8()? != 10 {
            return None;
        }
        // MariaDB puts this before its version for replicas that know nothing above 5.
        let version = reader.until_zero()?;
        let version = version.strip_prefix(b"5.5.5-").unwrap_or(version);
        let version = String::from_utf8_lossy(version).into_owned();
        let connection = reader.u32()?;
        let mut nonce = reader.take(8)?.to_vec();
        reader.u8()?;
        let low = u32::from(reader.u16()?);
        // Collation and status; the rest is missing in servers too old to be used.
        reader.take(3)?;
        let high = u32::from(reader.u16()?);
        let nonce_length = usize::from(reader.u8()?);
        reader.take(10)?;
        let rest = reader.take(nonce_length.saturating_sub(8).max(13).min(reader.0.len()))?;
        nonce.extend_from_slice(rest.strip_suffix(&[0]).unwrap_or(rest));
        // Some versions leave out the zero after the name.
        let plugin = reader.until_zero().unwrap_or(reader.0).to_vec();
        let capabilities = CapabilityFlags::from_bits_truncate(high << 16 | low);
        Some(Self { version, connection, capabilities, plugin, nonce })
    }
}
