//! Bytes of the NBD protocol, the server's side: what a client asks for, and answers to it.
//!
//! [`Handshake`] brings a connection from the greeting to the choice of an export, [`RequestReader`] reads the heads of
//! requests in whatever pieces they arrive, [`Head`] is what stands before the bytes of an answer. What a write carries is
//! left to the caller, who knows where it goes. Fixed newstyle with the option GO, and simple replies. TLS is asked for and
//! answered here, and done by the caller.

mod handshake;

use crate::bytes::Reader;
use crate::error::ProtocolError;
pub use handshake::{Export, Handshake, Step};

/// Longest name of an export, in bytes.
pub const NAME_MAX: usize = 4_096;
/// Most bytes that one read or write may carry.
pub const PAYLOAD_MAX: u32 = 32 << 20;
/// The size of I/Os that clients are told to prefer, in bytes.
const PREFERRED: u32 = 4_096;

/// Numbers in the order of the network.
impl Reader<'_> {
    fn be16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    fn be32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    fn be64(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }
}

const REQUEST: u32 = 0x2560_9513;
/// Bytes of a head.
const BYTES: usize = 28;

const READ: u16 = 0;
const WRITE: u16 = 1;
const DISCONNECT: u16 = 2;
const FLUSH: u16 = 3;
const TRIM: u16 = 4;
const WRITE_ZEROES: u16 = 6;

/// It must be on the disk before the answer. Without meaning, but allowed, where nothing is changed.
const DURABLE: u16 = 1;
const NO_HOLE: u16 = 1 << 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Bytes of the disk.
    Read,
    /// As many bytes as the length says follow the head.
    Write {
        /// They must be on the disk before the answer.
        durable: bool,
    },
    Flush,
    /// The bytes are needed no more.
    Trim {
        /// That must be on the disk before the answer.
        durable: bool,
    },
    /// The bytes read as zero afterwards.
    Zero {
        /// They must be on the disk before the answer.
        durable: bool,
        /// Space may not be given back.
        allocate: bool,
    },
    /// Nothing more comes, and no answer is wanted.
    Disconnect,
    /// Nothing that is served, or not in this way.
    Refused {
        /// Bytes that follow the head all the same.
        payload: u32,
    },
}

/// A request without what it carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    pub command: Command,
    /// The client's name for it, which the answer repeats.
    pub cookie: u64,
    pub offset: u64,
    pub length: u32,
}

/// Reads heads of requests in whatever pieces they arrive.
#[derive(Debug, Default)]
pub struct RequestReader {
    kept: [u8; BYTES],
    filled: usize,
}

impl RequestReader {
    /// The next head; `None` where it is not all there yet, and the input is used up. What a write carries is not taken
    /// from the input.
    pub fn take(&mut self, input: &mut &[u8]) -> Result<Option<Request>, ProtocolError> {
        if self.filled == 0
            && let Some((head, rest)) = input.split_first_chunk::<BYTES>()
        {
            *input = rest;
            return read(head).map(Some);
        }
        let count = input.len().min(BYTES - self.filled);
        let (taken, rest) = input.split_at(count);
        *input = rest;
        self.kept[self.filled..self.filled + count].copy_from_slice(taken);
        self.filled += count;
        if self.filled < BYTES {
            return Ok(None);
        }
        self.filled = 0;
        read(&self.kept).map(Some)
    }
}

fn read(head: &[u8; BYTES]) -> Result<Request, ProtocolError> {
    let mut reader = Reader(head);
    let fields = (reader.be32(), reader.be16(), reader.be16(), reader.be64(), reader.be64(), reader.be32());
    let (Some(REQUEST), Some(flags), Some(kind), Some(cookie), Some(offset), Some(length)) = fields else {
        return Err(ProtocolError::Malformed("head of a request"));
    };
    Ok(Request { command: command(kind, flags, length), cookie, offset, length })
}

fn command(kind: u16, flags: u16, length: u32) -> Command {
    let durable = flags & DURABLE != 0;
    let (command, known) = match kind {
        READ => (Command::Read, 0),
        WRITE => (Command::Write { durable }, 0),
        // Flags mean nothing where no answer is given.
        DISCONNECT => return Command::Disconnect,
        FLUSH => (Command::Flush, 0),
        TRIM => (Command::Trim { durable }, 0),
        WRITE_ZEROES => (Command::Zero { durable, allocate: flags & NO_HOLE != 0 }, NO_HOLE),
        _ => return Command::Refused { payload: 0 },
    };
    let carries = matches!(kind, READ | WRITE);
    if flags & !(known | DURABLE) != 0 || carries && length > PAYLOAD_MAX {
        return Command::Refused { payload: if kind == WRITE { length } else { 0 } };
    }
    command
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Failure {
    Permission = 1,
    /// Input or output failed; also whatever has no number of its own.
    Io = 5,
    /// The server has no memory for it.
    Memory = 12,
    /// Not as the protocol or the disk is.
    Invalid = 22,
    NoSpace = 28,
    /// Not possible on this disk.
    Unsupported = 95,
    Shutdown = 108,
}

impl Failure {
    /// What a client is told of an error number of Linux.
    pub fn of_errno(errno: i32) -> Self {
        match errno {
            // EPERM, EACCES, EROFS.
            1 | 13 | 30 => Self::Permission,
            12 => Self::Memory,
            22 => Self::Invalid,
            // EFBIG, ENOSPC, EDQUOT.
            27 | 28 | 122 => Self::NoSpace,
            95 => Self::Unsupported,
            108 => Self::Shutdown,
            _ => Self::Io,
        }
    }

    pub fn code(self) -> u32 {
        self as u32
    }
}

const ANSWER: u32 = 0x6744_6698;

/// The head of an answer, or all of it where it carries no bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head([u8; 16]);

impl Head {
    /// The bytes of a read follow where it was done.
    pub fn new(cookie: u64, result: Result<(), Failure>) -> Self {
        let mut head = [0; 16];
        head[..4].copy_from_slice(&ANSWER.to_be_bytes());
        head[4..8].copy_from_slice(&result.err().map_or(0, Failure::code).to_be_bytes());
        head[8..].copy_from_slice(&cookie.to_be_bytes());
        Self(head)
    }

    pub fn as_slice(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_repeats_the_name_of_its_request() {
        let done = Head::new(0x0102_0304_0506_0708, Ok(()));
        assert_eq!(done.as_slice(), [0x67, 0x44, 0x66, 0x98, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(Head::new(1, Err(Failure::NoSpace)).as_slice()[4..8], [0, 0, 0, 28]);
    }

    #[test]
    fn a_client_is_told_errors_in_the_numbers_of_the_protocol() {
        let cases =
            [(1, 1), (13, 1), (30, 1), (5, 5), (12, 12), (22, 22), (27, 28), (28, 28), (122, 28), (75, 5)];
        for (errno, code) in cases.into_iter().chain([(95, 95), (108, 108), (61, 5), (0, 5), (-3, 5)]) {
            assert_eq!(Failure::of_errno(errno).code(), code, "{errno}");
        }
    }

    #[test]
    fn a_handshake_holds_no_more_than_two_names() {
        for length in [2 * NAME_MAX as u32, u32::MAX] {
            let mut out = Vec::new();
            let mut handshake = Handshake::start(&mut out);
            let head = [&[0, 0, 0, 1][..], b"IHAVEOPT", &[0, 0, 0, 77], &length.to_be_bytes()].concat();
            assert_eq!(handshake.take(&mut &head[..], &[], &mut out), Ok(Step::Wants));
            for _ in 0..2 * NAME_MAX - 1 {
                assert_eq!(handshake.take(&mut &[7][..], &[], &mut out), Ok(Step::Wants));
                assert!(handshake.held() <= 2 * NAME_MAX, "{}", handshake.held());
            }
        }
    }
}
