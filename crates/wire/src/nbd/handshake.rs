//! From the greeting to the choice of an export.

use super::option::{self, Flaw};
use super::{ALLOCATION, ALLOCATION_ID, NAME_MAX, PAYLOAD_MAX, PREFERRED, Reader};
use crate::error::ProtocolError;

const GREETING: u64 = u64::from_be_bytes(*b"NBDMAGIC");
const OPTION: u64 = u64::from_be_bytes(*b"IHAVEOPT");
const REPLY: u64 = 0x0003_e889_0455_65a9;

/// Flags of both sides: options may be answered with errors; no padding behind an old answer.
const FIXED: u16 = 1;
const NO_ZEROES: u16 = 1 << 1;
/// Bytes of that padding.
const PADDING: usize = 124;

const ACK: u32 = 1;
const SERVER: u32 = 2;
const INFO: u32 = 3;
const CONTEXT: u32 = 4;
const ERR_UNSUPPORTED: u32 = 1 << 31 | 1;
const ERR_POLICY: u32 = 1 << 31 | 2;
const ERR_INVALID: u32 = 1 << 31 | 3;
const ERR_TLS: u32 = 1 << 31 | 5;
const ERR_UNKNOWN: u32 = 1 << 31 | 6;
const ERR_TOO_BIG: u32 = 1 << 31 | 9;

const INFO_EXPORT: u16 = 0;
const INFO_BLOCK_SIZE: u16 = 3;

/// What an export can do: flags, flush, FUA, trim, zeroes, many connections at once. And: only be read, in one piece.
const CAN_READ: u16 = 1 | 1 << 2 | 1 << 8;
const CAN_WRITE: u16 = 1 << 3 | 1 << 5 | 1 << 6;
const READ_ONLY: u16 = 1 << 1;
const ONE_PIECE: u16 = 1 << 7;

/// The flags that a client answers the greeting with; the head of an option.
const FLAGS_BYTES: usize = 4;
const HEAD_BYTES: usize = 16;
/// Most bytes that an option may carry; a name, and as many queries again.
const DATA_MAX: usize = 2 * NAME_MAX;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// Its name, not longer than [`NAME_MAX`]. A client that gives none gets the only one there is.
    pub name: String,
    pub bytes: u64,
    /// It may only be read.
    pub read_only: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Agreed {
    /// Answers to reads have structure.
    pub structured: bool,
    /// It may ask which parts of the export are holes.
    pub holes: bool,
}

/// How far a handshake has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The input is used up.
    Wants,
    /// An option was answered; there may be more in the input.
    Answered,
    /// The client has chosen a disk, and requests follow.
    Chosen { export: usize, agreed: Agreed },
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
    padded: bool,
    fixed: bool,
    structured: bool,
    /// The export about whose holes the client may ask, if it chooses that one.
    holes: Option<usize>,
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
        Self {
            due: Due::Flags,
            kept: Vec::new(),
            padded: true,
            fixed: false,
            structured: false,
            holes: None,
            tls: Tls::None,
        }
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
                    true => return Ok(self.refuse(option, ERR_TOO_BIG, "above the limit", out)),
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
                    return self.answer(option, &kept, exports, out);
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
        let flags = Reader(kept).u32().unwrap_or(u32::MAX);
        if flags & !u32::from(FIXED | NO_ZEROES) != 0 {
            return Err(ProtocolError::Malformed("flags of a client of a disk"));
        }
        self.fixed = flags & u32::from(FIXED) != 0;
        self.padded = flags & u32::from(NO_ZEROES) == 0;
        self.due = Due::Head;
        Ok(())
    }

    fn head(&mut self, kept: &[u8]) -> Result<(), ProtocolError> {
        let mut reader = Reader(kept);
        let (Some(OPTION), Some(option), Some(length)) = (reader.u64(), reader.u32(), reader.u32()) else {
            return Err(ProtocolError::Malformed("option"));
        };
        let length = length as usize;
        // Only what is answered with errors can be refused.
        if !self.fixed && option != option::EXPORT_NAME {
            return Err(ProtocolError::Malformed("option of an old client"));
        }
        if option == option::EXPORT_NAME && length > NAME_MAX {
            return Err(ProtocolError::TooLarge { limit: NAME_MAX });
        }
        let fits = length <= DATA_MAX;
        self.kept = Vec::with_capacity(if fits { length } else { 0 });
        self.due = if fits { Due::Data { option, length } } else { Due::Rest { option, left: length } };
        Ok(())
    }

    fn answer(
        &mut self,
        option: u32,
        data: &[u8],
        exports: &[Export],
        out: &mut Vec<u8>,
    ) -> Result<Step, ProtocolError> {
        Ok(match option {
            option::ABORT => {
                put(out, option, ACK, &[]);
                Step::Ended
            }
            option::STARTTLS => self.secure(data, out),
            // It cannot be told.
            option::EXPORT_NAME if self.tls == Tls::Required => Step::Ended,
            _ if self.tls == Tls::Required => self.refuse(option, ERR_TLS, "TLS is required", out),
            option::EXPORT_NAME => self.choose_at_once(data, exports, out),
            option::INFO | option::GO => self.choose(option, data, exports, out),
            option::LIST_META_CONTEXT | option::SET_META_CONTEXT => self.contexts(option, data, exports, out),
            option::LIST | option::STRUCTURED_REPLY if !data.is_empty() => {
                self.refuse(option, ERR_INVALID, "carries nothing", out)
            }
            option::LIST => {
                for export in exports {
                    let length = (export.name.len() as u32).to_be_bytes();
                    put(out, option, SERVER, &[&length, export.name.as_bytes()]);
                }
                accept(option, out)
            }
            option::STRUCTURED_REPLY => {
                self.structured = true;
                accept(option, out)
            }
            _ => self.refuse(option, ERR_UNSUPPORTED, "not known", out),
        })
    }

    fn secure(&mut self, data: &[u8], out: &mut Vec<u8>) -> Step {
        let option = option::STARTTLS;
        match self.tls {
            Tls::None => self.refuse(option, ERR_POLICY, "no TLS here", out),
            Tls::Used => self.refuse(option, ERR_INVALID, "it is used already", out),
            Tls::Required if !data.is_empty() => self.refuse(option, ERR_INVALID, "carries nothing", out),
            Tls::Required => {
                self.tls = Tls::Used;
                accept(option, out);
                Step::Secures
            }
        }
    }

    /// The oldest option: what is wrong cannot be told.
    fn choose_at_once(&self, name: &[u8], exports: &[Export], out: &mut Vec<u8>) -> Step {
        let Some(export) = find(name, exports) else { return Step::Ended };
        out.extend_from_slice(&exports[export].bytes.to_be_bytes());
        out.extend_from_slice(&self.abilities(&exports[export]).to_be_bytes());
        if self.padded {
            out.extend_from_slice(&[0; PADDING]);
        }
        self.chosen(export)
    }

    fn chosen(&self, export: usize) -> Step {
        let holes = self.holes == Some(export);
        Step::Chosen { export, agreed: Agreed { structured: self.structured, holes } }
    }

    fn choose(&self, option: u32, data: &[u8], exports: &[Export], out: &mut Vec<u8>) -> Step {
        let (name, names) = match option::wanted(data) {
            Ok(wanted) => wanted,
            Err(flaw) => return self.flawed(option, flaw, out),
        };
        let Some(place) = find(name, exports) else { return self.unknown(option, out) };
        let export = &exports[place];
        let (bytes, abilities) = (export.bytes.to_be_bytes(), self.abilities(export).to_be_bytes());
        put(out, option, INFO, &[&INFO_EXPORT.to_be_bytes(), &bytes, &abilities]);
        if names {
            put(out, option, INFO, &[&option::INFO_NAME.to_be_bytes(), export.name.as_bytes()]);
        }
        let [least, preferred, most] = [1, PREFERRED, PAYLOAD_MAX].map(u32::to_be_bytes);
        put(out, option, INFO, &[&INFO_BLOCK_SIZE.to_be_bytes(), &least, &preferred, &most]);
        let step = accept(option, out);
        if option == option::GO {
            return self.chosen(place);
        }
        step
    }

    /// Tells which contexts there are, or takes a client's choice of them. A name that stands for several chooses none.
    fn contexts(&mut self, option: u32, data: &[u8], exports: &[Export], out: &mut Vec<u8>) -> Step {
        let chooses = option == option::SET_META_CONTEXT;
        if chooses {
            // Whatever comes of this choice, the one before is gone.
            self.holes = None;
        }
        let queries = match option::contexts(data) {
            Ok(queries) => queries,
            Err(flaw) => return self.flawed(option, flaw, out),
        };
        if !self.structured {
            return self.refuse(option, ERR_INVALID, "needs structured replies", out);
        }
        let Some(export) = find(queries.export, exports) else { return self.unknown(option, out) };
        if queries.allocation || queries.all && !chooses {
            put(out, option, CONTEXT, &[&ALLOCATION_ID.to_be_bytes(), ALLOCATION.as_bytes()]);
            self.holes = if chooses { Some(export) } else { self.holes };
        }
        accept(option, out)
    }

    fn abilities(&self, export: &Export) -> u16 {
        let changes = if export.read_only { READ_ONLY } else { CAN_WRITE };
        CAN_READ | changes | if self.structured { ONE_PIECE } else { 0 }
    }

    fn unknown(&self, option: u32, out: &mut Vec<u8>) -> Step {
        self.refuse(option, ERR_UNKNOWN, "no disk of that name", out)
    }

    fn flawed(&self, option: u32, flaw: Flaw, out: &mut Vec<u8>) -> Step {
        match flaw {
            Flaw::Malformed => self.refuse(option, ERR_INVALID, "malformed", out),
            Flaw::TooBig => self.refuse(option, ERR_TOO_BIG, "name too long", out),
        }
    }

    fn refuse(&self, option: u32, why: u32, text: &str, out: &mut Vec<u8>) -> Step {
        put(out, option, why, &[text.as_bytes()]);
        Step::Answered
    }
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
