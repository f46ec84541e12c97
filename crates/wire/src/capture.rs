//! A capture: what clients asked a server and what it answered, as records of a file that is only appended to.
//!
//! The file begins with [`MAGIC`] and a line of JSON, which says where it comes from and is its writer's. A record is its length
//! and its CRC-32 (four bytes each, least significant first) and a body. Where a file ends inside a record, its writer died.

use crate::bytes::{Reader, put_number, put_string};
use crate::error::ProtocolError;

pub const MAGIC: &[u8; 8] = b"EVKCAP1\n";
/// Most bytes of a command that are kept; of a longer one only its length is.
pub const COMMAND_MAX: usize = 64 << 20;
const HEADER_BYTES: usize = 8;
const BODY_MAX: usize = COMMAND_MAX + (64 << 10);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record<'a> {
    Opened(Opened<'a>),
    Asked(Asked<'a>),
    /// The session ended, nanoseconds since 1970.
    Closed {
        session: u64,
        at: u64,
    },
    LeftOut(LeftOut),
    /// The recorder stopped, nanoseconds since 1970; so many commands it had not kept, those included that records name.
    Ended {
        left_out: u64,
        at: u64,
    },
}

/// A session whose commands follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened<'a> {
    pub session: u64,
    /// Nanoseconds since 1970.
    pub at: u64,
    pub user: &'a [u8],
    /// Empty where there is none.
    pub database: &'a [u8],
    /// It had begun before the recording: what it had set and prepared by then is not known.
    pub is_late: bool,
}

/// A command with its answer. Records of one session stand in the order of its commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked<'a> {
    pub session: u64,
    /// Nanoseconds since 1970.
    pub start: u64,
    /// When its answer had ended; `None` where that is not known, or never happened.
    pub end: Option<u64>,
    /// As the protocol has it: its number (3 a query), then the rest.
    pub command: &'a [u8],
    pub answer: Answer,
}

/// What is known of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Rows of all of its results.
    pub rows: Option<u64>,
    pub affected: Option<u64>,
    /// First AUTO_INCREMENT number of the rows that were inserted.
    pub inserted: Option<u64>,
    pub bytes: Option<u64>,
    /// Code of the error that ended it.
    pub error: Option<u16>,
    /// The number that the server gave to the statement that was prepared.
    pub statement: Option<u32>,
}

/// Commands that the recorder could not keep, of one session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeftOut {
    pub session: u64,
    pub at: u64,
    pub commands: u64,
    pub why: Why,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// Longer than [`COMMAND_MAX`].
    TooLong,
    /// The recorder's memory was full.
    Behind,
    /// A file of the client's, a stream of changes, another user's login: nothing that can be sent again.
    NotRepeatable,
}

impl Record<'_> {
    /// Appends the record to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        let at = out.len();
        out.extend_from_slice(&[0; HEADER_BYTES]);
        self.write_body(out);
        let body = &out[at + HEADER_BYTES..];
        let (length, sum) = (body.len() as u32, crc32fast::hash(body));
        out[at..at + 4].copy_from_slice(&length.to_le_bytes());
        out[at + 4..at + HEADER_BYTES].copy_from_slice(&sum.to_le_bytes());
    }

    fn write_body(&self, out: &mut Vec<u8>) {
        match self {
            Self::Opened(opened) => {
                out.push(if opened.is_late { b'L' } else { b'O' });
                put_number(out, opened.session);
                put_number(out, opened.at);
                put_string(out, opened.user);
                put_string(out, opened.database);
            }
            Self::Asked(asked) => {
                out.push(b'A');
                put_number(out, asked.session);
                put_number(out, asked.start);
                let Answer { rows, affected, inserted, bytes, error, statement } = asked.answer;
                let (error, statement) = (error.map(u64::from), statement.map(u64::from));
                let numbers = [asked.end, rows, affected, inserted, bytes, error, statement];
                numbers.into_iter().for_each(|number| put_known(out, number));
                put_string(out, asked.command);
            }
            Self::Closed { session, at } => {
                out.push(b'C');
                put_number(out, *session);
                put_number(out, *at);
            }
            Self::Ended { left_out, at } => {
                out.push(b'E');
                put_number(out, *left_out);
                put_number(out, *at);
            }
            Self::LeftOut(left) => {
                out.push(match left.why {
                    Why::TooLong => b't',
                    Why::Behind => b'b',
                    Why::NotRepeatable => b'n',
                });
                [left.session, left.at, left.commands].into_iter().for_each(|number| put_number(out, number));
            }
        }
    }

    /// The record at the front of `input` and its length; `None` where it is not all there.
    pub fn read(input: &[u8]) -> Result<Option<(Record<'_>, usize)>, ProtocolError> {
        let mut reader = Reader(input);
        let (Some(length), Some(sum)) = (reader.u32(), reader.u32()) else { return Ok(None) };
        let length = length as usize;
        if length > BODY_MAX {
            return Err(ProtocolError::TooLarge { limit: BODY_MAX });
        }
        let Some(body) = reader.take(length) else { return Ok(None) };
        if crc32fast::hash(body) != sum {
            return Err(ProtocolError::Malformed("checksum of a capture's record"));
        }
        let record = read_body(&mut Reader(body)).ok_or(ProtocolError::Malformed("record of a capture"))?;
        Ok(Some((record, HEADER_BYTES + length)))
    }
}

fn read_body<'a>(body: &mut Reader<'a>) -> Option<Record<'a>> {
    let kind = body.u8()?;
    let (session, at) = (body.number()?, body.number()?);
    let left = |body: &mut Reader<'a>, why| {
        Some(Record::LeftOut(LeftOut { session, at, commands: body.number()?, why }))
    };
    match kind {
        b'O' | b'L' => {
            let (user, database) = (body.string()?, body.string()?);
            Some(Record::Opened(Opened { session, at, user, database, is_late: kind == b'L' }))
        }
        b'A' => {
            let end = known(body)?;
            let (rows, affected, inserted, bytes) = (known(body)?, known(body)?, known(body)?, known(body)?);
            let (error, statement) = (known(body)?, known(body)?);
            let error = error.map(u16::try_from).transpose().ok()?;
            let statement = statement.map(u32::try_from).transpose().ok()?;
            let answer = Answer { rows, affected, inserted, bytes, error, statement };
            Some(Record::Asked(Asked { session, start: at, end, command: body.string()?, answer }))
        }
        b'C' => Some(Record::Closed { session, at }),
        b'E' => Some(Record::Ended { left_out: session, at }),
        b't' => left(body, Why::TooLong),
        b'b' => left(body, Why::Behind),
        b'n' => left(body, Why::NotRepeatable),
        _ => None,
    }
}

/// A number that may not be known, as the protocol writes NULL.
fn put_known(out: &mut Vec<u8>, number: Option<u64>) {
    match number {
        Some(number) => put_number(out, number),
        None => out.push(0xfb),
    }
}

fn known(body: &mut Reader<'_>) -> Option<Option<u64>> {
    if body.0.first() == Some(&0xfb) {
        body.u8()?;
        return Some(None);
    }
    body.number().map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_record_is_read_as_it_was_written_and_a_cut_one_is_not_there_yet(
            numbers in proptest::array::uniform4(any::<u64>()), known in proptest::option::of(any::<u64>()),
            command in proptest::collection::vec(any::<u8>(), 0..300), error in proptest::option::of(any::<u16>()), cut in 0usize..20,
        ) {
            let [session, start, at, commands] = numbers;
            let answer = Answer { rows: known, inserted: known, error, statement: Some(7), ..Answer::default() };
            let records = [
                Record::Opened(Opened { session, at, user: b"app", database: &command, is_late: at % 2 == 0 }),
                Record::Asked(Asked { session, start, end: known, command: &command, answer }),
                Record::LeftOut(LeftOut { session, at, commands, why: Why::Behind }),
                Record::Closed { session, at },
                Record::Ended { left_out: commands, at },
            ];
            let mut out = Vec::new();
            records.iter().for_each(|record| record.write(&mut out));
            let mut rest = &out[..];
            for record in &records {
                let (read, length) = Record::read(rest).unwrap().unwrap();
                prop_assert_eq!(&read, record);
                prop_assert_eq!(Record::read(&rest[..length.saturating_sub(cut + 1)]), Ok(None));
                rest = &rest[length..];
            }
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn any_bytes_are_refused_or_read_and_never_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), changed in 0usize..40) {
            let _ = Record::read(&bytes);
            let mut out = Vec::new();
            Record::Closed { session: 1, at: 2 }.write(&mut out);
            let place = HEADER_BYTES + changed % (out.len() - HEADER_BYTES);
            out[place] ^= 1;
            prop_assert!(Record::read(&out).is_err());
        }
    }
}
