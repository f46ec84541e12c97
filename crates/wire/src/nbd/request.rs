//! The head of a request: what is to be done, where, and how much.

use super::{PAYLOAD_MAX, Reader};
use crate::error::ProtocolError;

const MAGIC: u32 = 0x2560_9513;
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
    let fields = (reader.u32(), reader.u16(), reader.u16(), reader.u64(), reader.u64(), reader.u32());
    let (Some(MAGIC), Some(flags), Some(kind), Some(cookie), Some(offset), Some(length)) = fields else {
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
