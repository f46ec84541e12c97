//! The SQL text in a command.

use super::command::{Command, CommandKind};
use crate::bytes::Reader;

/// The text of a query or a preparation as far as the head of the command shows it; `None` for other
/// commands, and where attributes before the text fill the head.
pub fn sql<'a>(command: &Command<'a>, dialect: Dialect) -> Option<&'a [u8]> {
    let text = command.head.get(1..)?;
    match command.kind {
        CommandKind::Query if dialect.has_query_attributes() => skip_attributes(text),
        CommandKind::Query | CommandKind::Prepare => Some(text),
        _ => None,
    }
}

/// Attributes are parameters in binary, each with a name, before the text.
fn skip_attributes(payload: &[u8]) -> Option<&[u8]> {
    let mut reader = Reader(payload);
    let count = usize::try_from(reader.number()?).ok()?;
    let _sets = reader.number()?;
    if count == 0 {
        return Some(reader.0);
    }
    let nulls = reader.take(count.div_ceil(8))?;
    if reader.u8()? != 1 {
        return None;
    }
    let types = reader.0;
    for _ in 0..count {
        attribute_type(&mut reader)?;
    }
    let mut types = Reader(types);
    for index in 0..count {
        let kind = attribute_type(&mut types)?;
        if nulls.get(index / 8)? & 1 << (index % 8) == 0 {
            skip_value(&mut reader, kind)?;
        }
    }
    Some(reader.0)
}

/// A type, its flags and the attribute's name.
fn attribute_type(reader: &mut Reader<'_>) -> Option<u8> {
    let kind = reader.u8()?;
    reader.u8()?;
    reader.string()?;
    Some(kind)
}

fn skip_value(reader: &mut Reader<'_>, kind: u8) -> Option<()> {
    match kind {
        // TINY; SHORT, YEAR; LONG, FLOAT, INT24; DOUBLE, LONGLONG; NULL.
        0x01 => reader.take(1)?,
        0x02 | 0x0d => reader.take(2)?,
        0x03 | 0x04 | 0x09 => reader.take(4)?,
        0x05 | 0x08 => reader.take(8)?,
        0x06 => &[],
        // Times and dates carry one byte of length, strings a length-encoded one; they agree below 251.
        _ => reader.string()?,
    };
    Some(())
}

/// The capabilities of one connection: the lower 32 bits as everybody knows them, the upper 32 MariaDB's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dialect {
    bits: u64,
}

/// Bits of the capabilities.
pub(super) mod bit {
    pub const LONG_PASSWORD: u64 = 1;
    pub const CONNECT_WITH_DB: u64 = 1 << 3;
    pub const COMPRESS: u64 = 1 << 5;
    pub const PROTOCOL_41: u64 = 1 << 9;
    pub const SSL: u64 = 1 << 11;
    pub const SECURE_CONNECTION: u64 = 1 << 15;
    pub const PLUGIN_AUTH: u64 = 1 << 19;
    pub const PLUGIN_AUTH_LENENC: u64 = 1 << 21;
    pub const DEPRECATE_EOF: u64 = 1 << 24;
    pub const OPTIONAL_METADATA: u64 = 1 << 25;
    pub const ZSTD: u64 = 1 << 26;
    pub const QUERY_ATTRIBUTES: u64 = 1 << 27;
    /// Progress reports as old clients of MariaDB ask for them; something else at a MySQL server.
    pub const PROGRESS_OLD: u64 = 1 << 29;
    pub const PROGRESS: u64 = 1 << 32;
    pub const BULK: u64 = 1 << 34;
    pub const EXTENDED_METADATA: u64 = 1 << 35;
    pub const CACHE_METADATA: u64 = 1 << 36;
    pub const BULK_UNIT_RESULTS: u64 = 1 << 37;
    /// All of MariaDB's own that are known here.
    pub const MARIADB: u64 = PROGRESS | BULK | EXTENDED_METADATA | CACHE_METADATA | BULK_UNIT_RESULTS;
}

impl Dialect {
    /// From the capabilities that both sides have: those of the client's answer, masked by the greeting.
    pub fn new(capabilities: u64) -> Self {
        Self { bits: capabilities }
    }

    pub fn bits(self) -> u64 {
        self.bits
    }

    fn has(self, bit: u64) -> bool {
        self.bits & bit != 0
    }

    /// Rows end with an OK packet, and nothing stands between definitions and rows.
    pub fn deprecate_eof(self) -> bool {
        self.has(bit::DEPRECATE_EOF)
    }

    /// The column count is followed by a byte that says whether definitions follow (MariaDB 10.6).
    pub(super) fn caches_metadata(self) -> bool {
        self.has(bit::CACHE_METADATA)
    }

    /// Error packets with code 0xFFFF report progress and end nothing (MariaDB).
    pub(super) fn reports_progress(self) -> bool {
        self.has(bit::PROGRESS | bit::PROGRESS_OLD)
    }

    /// Query text is preceded by attributes (MySQL 8.0.23).
    pub(super) fn has_query_attributes(self) -> bool {
        self.has(bit::QUERY_ATTRIBUTES)
    }

    /// The plugin's name is part of a change of user.
    pub(super) fn names_plugins(self) -> bool {
        self.has(bit::PLUGIN_AUTH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(payload: &[u8]) -> Option<&[u8]> {
        let command = Command { kind: CommandKind::Query, head: payload, length: payload.len() };
        sql(&command, Dialect::new(1 << 27))
    }

    #[test]
    fn text_is_found_behind_attributes() {
        assert_eq!(query(b"\x03\x00\x01SELECT 1"), Some(&b"SELECT 1"[..]));
        let attributes = [
            &b"\x03\x03\x01\x02\x01"[..],
            b"\x03\x00\x01a\x06\x00\x01b\xfd\x00\x02cd",
            b"\x07\x00\x00\x00\x03xyz",
            b"COMMIT",
        ];
        assert_eq!(query(&attributes.concat()), Some(&b"COMMIT"[..]));
    }

    #[test]
    fn attributes_that_end_early_give_no_text_and_no_panic() {
        let whole = b"\x03\x02\x01\x00\x01\x03\x00\x01a\xfd\x00\x02cd\x07\x00\x00\x00\x03xyz";
        for end in 0..whole.len() {
            assert_eq!(query(&whole[..end]), None, "{end}");
        }
        assert_eq!(query(b"\x03\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"), None);
    }
}
