//! What is asked of a disk, and the answer.

use super::Buffer;
use std::fmt;
use std::io;

/// One thing to be done, at an offset in bytes.
#[derive(Debug)]
pub enum Work {
    /// Fills the buffer.
    Read {
        /// Where.
        offset: u64,
        /// As long as what is to be read.
        buffer: Buffer,
    },
    /// Writes the buffer.
    Write {
        /// Where.
        offset: u64,
        /// What.
        buffer: Buffer,
        /// It must be on the disk before the answer (FUA).
        durable: bool,
    },
    /// All writes that were answered before must be on the disk before the answer.
    Flush,
    /// The bytes are needed no more; what they read as afterwards is open.
    Trim {
        /// Where.
        offset: u64,
        /// How many.
        bytes: u64,
    },
    /// The bytes read as zero afterwards.
    Zero {
        /// Where.
        offset: u64,
        /// How many.
        bytes: u64,
        /// Space may not be given back.
        allocate: bool,
        /// It must be on the disk before the answer (FUA).
        durable: bool,
    },
    /// Says which parts of a range are holes. A write that was answered before is in none of them.
    Holes {
        /// Where.
        offset: u64,
        /// How many.
        bytes: u64,
        /// As long as the extents of an answer may be; whose form is that of NBD.
        buffer: Buffer,
    },
}

impl Work {
    /// Where and how many bytes; `None` for a flush.
    pub fn range(&self) -> Option<(u64, u64)> {
        match self {
            Self::Read { offset, buffer } | Self::Write { offset, buffer, .. } => {
                Some((*offset, buffer.len() as u64))
            }
            Self::Trim { offset, bytes }
            | Self::Zero { offset, bytes, .. }
            | Self::Holes { offset, bytes, .. } => Some((*offset, *bytes)),
            Self::Flush => None,
        }
    }

    /// Whether it changes the disk.
    pub fn changes(&self) -> bool {
        matches!(self, Self::Write { .. } | Self::Trim { .. } | Self::Zero { .. })
    }

    /// Whether it must be on the disk before the answer.
    pub fn is_durable(&self) -> bool {
        matches!(self, Self::Flush | Self::Write { durable: true, .. } | Self::Zero { durable: true, .. })
    }

    /// Memory that it holds, in bytes.
    pub fn held(&self) -> usize {
        match self {
            Self::Read { buffer, .. } | Self::Write { buffer, .. } => buffer.len(),
            _ => 0,
        }
    }
}

/// An error number of the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errno(pub i32);

impl Errno {
    /// Input or output failed.
    pub const IO: Self = Self(libc::EIO);
    /// Not as the disk is.
    pub const INVALID: Self = Self(libc::EINVAL);
    /// Beyond the end.
    pub const NO_SPACE: Self = Self(libc::ENOSPC);
    /// The disk may not be changed.
    pub const READ_ONLY: Self = Self(libc::EROFS);
    /// The disk is being taken down.
    pub const SHUTDOWN: Self = Self(libc::ESHUTDOWN);
    /// Not possible on this backing.
    pub const UNSUPPORTED: Self = Self(libc::EOPNOTSUPP);
}

/// An I/O at which the storage failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What it was: `read`, `change`, `flush` or `holes`.
    pub what: &'static str,
    /// How it ended.
    pub errno: Errno,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.errno)
    }
}

impl From<io::Error> for Errno {
    fn from(error: io::Error) -> Self {
        error.raw_os_error().map_or(Self::IO, Self)
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", io::Error::from_raw_os_error(self.0))
    }
}

/// The buffer that was read, or has extents; the buffer that was written, to be used again; an empty one for the rest.
pub type Answer = Result<Buffer, Errno>;

/// Where an answer goes.
pub enum Reply {
    /// Called in the thread of the engine; must not wait.
    Call(Box<dyn FnOnce(Answer) + Send>),
    /// To a connection of the NBD front.
    Nbd {
        /// Which.
        connection: u64,
        /// The client's name for it.
        cookie: u64,
    },
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call(_) => f.write_str("Call"),
            Self::Nbd { connection, cookie } => write!(f, "Nbd({connection}, {cookie:#x})"),
        }
    }
}

/// An I/O that a client asks for.
#[derive(Debug)]
pub struct Request {
    /// Place of the disk in the [`Plan`](super::Plan).
    pub disk: usize,
    /// What is to be done.
    pub work: Work,
    /// Where the answer goes.
    pub reply: Reply,
}
