//! The SQL text in a command.

use super::command::Command;
use super::dialect::Dialect;
use super::kind::CommandKind;
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
