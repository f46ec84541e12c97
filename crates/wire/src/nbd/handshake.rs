//! From the greeting to the choice of an export.

use super::{NAME_MAX, PAYLOAD_MAX, PREFERRED};
use crate::bytes::Reader;
use crate::error::ProtocolError;

const GREETING: u64 = u64::from_be_bytes(*b"NBDMAGIC");
const OPTION: u64 = u64::from_be_bytes(*b"IHAVEOPT");
const REPLY: u64 = 0x0003_e889_0455_65a9;

/// Flags of both sides: options may be answered with errors; no padding behind the answer to the oldest option.
const FIXED: u16 = 1;
const NO_ZEROES: u16 = 1 << 1;

const EXPORT_NAME: u32 = 1;
const ABORT: u32 = 2;
const LIST: u32 = 3;
const STARTTLS: u32 = 5;
const INFO: u32 = 6;
const GO: u32 = 7;

const ACK: u32 = 1;
const SERVER: u32 = 2;
const INFORMS: u32 = 3;
const ERR_UNSUPPORTED: u32 = 1 << 31 | 1;
const ERR_POLICY: u32 = 1 << 31 | 2;
const ERR_INVALID: u32 = 1 << 31 | 3;
const ERR_TLS: u32 = 1 << 31 | 5;
const ERR_UNKNOWN: u32 = 1 << 31 | 6;
const ERR_TOO_BIG: u32 = 1 << 31 | 9;

const INFO_EXPORT: u16 = 0;
const INFO_BLOCK_SIZE: u16 = 3;

/// What an export can do: flags, flush, FUA, trim, zeroes, many connections at once. And: only be read.
const CAN_READ: u16 = 1 | 1 << 2 | 1 << 8;
const CAN_WRITE: u16 = 1 << 3 | 1 << 5 | 1 << 6;
const READ_ONLY: u16 = 1 << 1;

/// The flags that a client answers the greeting with; the head of an option.
const FLAGS_BYTES: usize = 4;
const HEAD_BYTES: usize = 16;
/// Most bytes that an option may carry; a name, and as much again.
const DATA_MAX: usize = 2 * NAME_MAX;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// Its name, not longer than [`NAME_MAX`]. A client that gives none gets the only one there is.
    pub name: String,
    pub bytes: u64,
    /// It may only be read.
    pub read_only: bool,
}

/// How far a handshake has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The input is used up.
    Wants,
    /// An option was answered; there may be more in the input.
    Answered,
    /// The client has chosen a disk, and requests follow.
    Chosen { export: usize },
    /// The client goes on by TLS, once it has the answer.
    Secures,
    /// The client goes, once it has the answer, or cannot be told what is wrong.
    Ended,
}

#[derive(Clone, Copy, Debug)]
enum Due {
    Flags,
    Head,
    Data {
        option: u32,
        length: usize,
    },
    /// What an option carries above the limit goes by unseen.
    Rest {
        option: u32,
        left: usize,
    },
}

/// Whether a client has to use TLS, or does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tls {
    None,
    Required,
    Used,
}

/// A client that has not yet chosen an export. Holds [`NAME_MAX`] bytes twice at most.
#[derive(Debug)]
pub struct Handshake {
    due: Due,
    kept: Vec<u8>,
    tls: Tls,
}

impl Handshake {
    /// As [`Handshake::start`]; nothing is served, and no name told, before the client uses TLS.
    pub fn start_tls(out: &mut Vec<u8>) -> Self {
        Self { tls: Tls::Required, ..Self::start(out) }
    }

    pub fn start(out: &mut Vec<u8>) -> Self {
        out.extend_from_slice(&GREETING.to_be_bytes());
        out.extend_from_slice(&OPTION.to_be_bytes());
        out.extend_from_slice(&(FIXED | NO_ZEROES).to_be_bytes());
        Self { due: Due::Flags, kept: Vec::new(), tls: Tls::None }
    }

    /// Takes input up to the end of an option and writes the answer. An error ends the connection.
    pub fn take(
        &mut self,
        input: &mut &[u8],
        exports: &[Export],
        out: &mut Vec<u8>,
    ) -> Result<Step, ProtocolError> {
        loop {
            let due = self.due;
            let wanted = match due {
                Due::Flags => FLAGS_BYTES,
                Due::Head => HEAD_BYTES,
                Due::Data { length, .. } => length,
                Due::Rest { option, left } => match self.pass(input, option, left) {
                    true => return Ok(refuse(option, ERR_TOO_BIG, "above the limit", out)),
                    false => return Ok(Step::Wants),
                },
            };
            if !self.keep(input, wanted) {
                return Ok(Step::Wants);
            }
            let kept = std::mem::take(&mut self.kept);
            match due {
                Due::Flags => self.flags(&kept)?,
                Due::Data { option, .. } => {
                    self.due = Due::Head;
                    return Ok(self.answer(option, &kept, exports, out));
                }
                _ => self.head(&kept)?,
            }
        }
    }

    pub fn held(&self) -> usize {
        self.kept.capacity()
    }

    /// Whether as many bytes are together now.
    fn keep(&mut self, input: &mut &[u8], wanted: usize) -> bool {
        let (taken, rest) = input.split_at(input.len().min(wanted - self.kept.len()));
        *input = rest;
        self.kept.extend_from_slice(taken);
        self.kept.len() == wanted
    }

    /// Whether all of it has gone by.
    fn pass(&mut self, input: &mut &[u8], option: u32, left: usize) -> bool {
        let count = input.len().min(left);
        *input = &input[count..];
        self.due = if count == left { Due::Head } else { Due::Rest { option, left: left - count } };
        count == left
    }

    fn flags(&mut self, kept: &[u8]) -> Result<(), ProtocolError> {
        let flags = Reader(kept).be32().unwrap_or(u32::MAX);
        // What is answered with errors can be refused.
        if flags & !u32::from(NO_ZEROES) != u32::from(FIXED) {
            return Err(ProtocolError::Malformed("flags of a client of a disk"));
        }
        self.due = Due::Head;
        Ok(())
    }

    fn head(&mut self, kept: &[u8]) -> Result<(), ProtocolError> {
        let mut reader = Reader(kept);
        let (Some(OPTION), Some(option), Some(length)) = (reader.be64(), reader.be32(), reader.be32()) else {
            return Err(ProtocolError::Malformed("option"));
        };
        let length = length as usize;
        let fits = length <= DATA_MAX;
        self.kept = Vec::with_capacity(if fits { length } else { 0 });
        self.due = if fits { Due::Data { option, length } } else { Due::Rest { option, left: length } };
        Ok(())
    }

    fn answer(&mut self, option: u32, data: &[u8], exports: &[Export], out: &mut Vec<u8>) -> Step {
        match option {
            ABORT => {
                put(out, option, ACK, &[]);
                Step::Ended
            }
            // The oldest way to choose: what is wrong cannot be told.
            EXPORT_NAME => Step::Ended,
            STARTTLS => self.secure(data, out),
            _ if self.tls == Tls::Required => refuse(option, ERR_TLS, "TLS is required", out),
            INFO | GO => choose(option, data, exports, out),
            LIST if !data.is_empty() => refuse(option, ERR_INVALID, "carries nothing", out),
            LIST => {
                for export in exports {
                    let length = (export.name.len() as u32).to_be_bytes();
                    put(out, option, SERVER, &[&length, export.name.as_bytes()]);
                }
                accept(option, out)
            }
            _ => refuse(option, ERR_UNSUPPORTED, "not known", out),
        }
    }

    fn secure(&mut self, data: &[u8], out: &mut Vec<u8>) -> Step {
        match self.tls {
            Tls::None => refuse(STARTTLS, ERR_POLICY, "no TLS here", out),
            Tls::Used => refuse(STARTTLS, ERR_INVALID, "it is used already", out),
            Tls::Required if !data.is_empty() => refuse(STARTTLS, ERR_INVALID, "carries nothing", out),
            Tls::Required => {
                self.tls = Tls::Used;
                accept(STARTTLS, out);
                Step::Secures
            }
        }
    }
}

fn choose(option: u32, data: &[u8], exports: &[Export], out: &mut Vec<u8>) -> Step {
    let Some(name) = wanted(data) else { return refuse(option, ERR_INVALID, "malformed", out) };
    let Some(place) = find(name, exports) else {
        return refuse(option, ERR_UNKNOWN, "no disk of that name", out);
    };
    let export = &exports[place];
    let abilities = CAN_READ | if export.read_only { READ_ONLY } else { CAN_WRITE };
    let (bytes, abilities) = (export.bytes.to_be_bytes(), abilities.to_be_bytes());
    put(out, option, INFORMS, &[&INFO_EXPORT.to_be_bytes(), &bytes, &abilities]);
    let [least, preferred, most] = [1, PREFERRED, PAYLOAD_MAX].map(u32::to_be_bytes);
    put(out, option, INFORMS, &[&INFO_BLOCK_SIZE.to_be_bytes(), &least, &preferred, &most]);
    let step = accept(option, out);
    if option == GO { Step::Chosen { export: place } } else { step }
}

/// The name in what GO and INFO carry. What else is wanted to be known is left open.
fn wanted(data: &[u8]) -> Option<&[u8]> {
    let mut reader = Reader(data);
    let length = usize::try_from(reader.be32()?).ok()?;
    let (name, count) = (reader.take(length)?, reader.be16()?);
    (reader.0.len() == usize::from(count) * 2).then_some(name)
}

fn refuse(option: u32, why: u32, text: &str, out: &mut Vec<u8>) -> Step {
    put(out, option, why, &[text.as_bytes()]);
    Step::Answered
}

fn accept(option: u32, out: &mut Vec<u8>) -> Step {
    put(out, option, ACK, &[]);
    Step::Answered
}

fn find(name: &[u8], exports: &[Export]) -> Option<usize> {
    match (name, exports) {
        ([], [_]) => Some(0),
        _ => exports.iter().position(|export| export.name.as_bytes() == name),
    }
}

fn put(out: &mut Vec<u8>, option: u32, kind: u32, parts: &[&[u8]]) {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    out.extend_from_slice(&REPLY.to_be_bytes());
    for number in [option, kind, length as u32] {
        out.extend_from_slice(&number.to_be_bytes());
    }
    parts.iter().for_each(|part| out.extend_from_slice(part));
}
