//! What stands before the bytes of an answer.

use super::{ALLOCATION_ID, Failure};

const SIMPLE: u32 = 0x6744_6698;
const STRUCTURED: u32 = 0x668e_33ef;
/// The flag of the last piece of an answer; ours have one piece.
const DONE: u16 = 1;
const NONE: u16 = 0;
const DATA: u16 = 1;
const EXTENTS: u16 = 5;
const ERROR: u16 = 1 << 15 | 1;

/// The longest: a structured one with an offset.
const BYTES: usize = 28;

/// What is said of an extent: no space is taken by it, and it reads as zeroes.
const HOLE: u32 = 1 | 1 << 1;
/// Bytes of an extent in an answer.
pub const EXTENT_BYTES: usize = 8;

/// So many bytes of a disk that are all a hole or all data, in the form in which an answer carries them.
pub fn extent(bytes: u32, hole: bool) -> [u8; EXTENT_BYTES] {
    let flags = if hole { HOLE } else { 0 };
    (u64::from(bytes) << 32 | u64::from(flags)).to_be_bytes()
}

/// The head of an answer, or all of it where it carries no bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    bytes: [u8; BYTES],
    length: u8,
}

impl Head {
    /// An answer without structure. The bytes of a read follow where it was done.
    pub fn simple(cookie: u64, result: Result<(), Failure>) -> Self {
        let mut head = Self { bytes: [0; BYTES], length: 0 };
        head.put(&SIMPLE.to_be_bytes());
        head.put(&result.err().map_or(0, Failure::code).to_be_bytes());
        head.put(&cookie.to_be_bytes());
        head
    }

    /// An answer to a read where answers have structure: as many bytes from this offset follow where it was done.
    pub fn structured(cookie: u64, offset: u64, result: Result<u32, Failure>) -> Self {
        match result {
            // A piece of data may not be empty.
            Ok(0) => Self::piece(NONE, cookie, 0),
            Ok(length) => {
                let mut head = Self::piece(DATA, cookie, 8 + length);
                head.put(&offset.to_be_bytes());
                head
            }
            Err(failure) => Self::failed(cookie, failure),
        }
    }

    /// An answer to a question for holes: as many bytes of extents follow where they are known.
    pub fn extents(cookie: u64, result: Result<u32, Failure>) -> Self {
        match result {
            Ok(bytes) => {
                let mut head = Self::piece(EXTENTS, cookie, 4 + bytes);
                head.put(&ALLOCATION_ID.to_be_bytes());
                head
            }
            Err(failure) => Self::failed(cookie, failure),
        }
    }

    fn failed(cookie: u64, failure: Failure) -> Self {
        let mut head = Self::piece(ERROR, cookie, 6);
        head.put(&failure.code().to_be_bytes());
        // The error has no text.
        head.put(&0_u16.to_be_bytes());
        head
    }

    fn piece(kind: u16, cookie: u64, length: u32) -> Self {
        let mut head = Self { bytes: [0; BYTES], length: 0 };
        head.put(&STRUCTURED.to_be_bytes());
        head.put(&DONE.to_be_bytes());
        head.put(&kind.to_be_bytes());
        head.put(&cookie.to_be_bytes());
        head.put(&length.to_be_bytes());
        head
    }

    fn put(&mut self, bytes: &[u8]) {
        let from = usize::from(self.length);
        self.bytes[from..from + bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len() as u8;
    }

    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}
