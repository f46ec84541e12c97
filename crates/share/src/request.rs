//! What is asked of a disk, and the answer.

use evenkeel_os::{Buffer, Work};
use std::fmt;
use std::io;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errno(pub i32);

impl Errno {
    pub const IO: Self = Self(libc::EIO);
    /// The request does not fit the disk.
    pub const INVALID: Self = Self(libc::EINVAL);
    /// The request goes beyond the end of the disk.
    pub const NO_SPACE: Self = Self(libc::ENOSPC);
    /// The disk may not be changed.
    pub const READ_ONLY: Self = Self(libc::EROFS);
    /// The disk is being taken down.
    pub const SHUTDOWN: Self = Self(libc::ESHUTDOWN);
    /// The backing cannot do this.
    pub const UNSUPPORTED: Self = Self(libc::EOPNOTSUPP);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What it was: `read`, `change` or `flush`.
    pub what: &'static str,
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

/// The buffer that was read; the buffer that was written, to be used again; an empty one for the rest.
pub type Answer = Result<Buffer, Errno>;

pub enum Reply {
    /// Called in the thread of the engine; must not wait.
    Call(Box<dyn FnOnce(Answer) + Send>),
    /// To a connection of the NBD front.
    Nbd {
        connection: u64,
        /// The client's own name for the request.
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

#[derive(Debug)]
pub struct Request {
    /// Place of the disk in the [`Plan`](super::Plan).
    pub disk: usize,
    pub work: Work,
    pub reply: Reply,
}

/// Whether a disk of this size takes it.
pub fn check(work: &Work, bytes: u64, read_only: bool) -> Result<(), Errno> {
    if read_only && work.changes() {
        return Err(Errno::READ_ONLY);
    }
    let Some((offset, length)) = work.range() else { return Ok(()) };
    let fits = offset.checked_add(length).is_some_and(|end| end <= bytes);
    match (fits, work) {
        (true, _) => Ok(()),
        (false, Work::Write { .. } | Work::Zero { .. }) => Err(Errno::NO_SPACE),
        (false, _) => Err(Errno::INVALID),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_beyond_the_end_or_changes_a_read_only_disk_is_refused() {
        let read = |offset, length| Work::Read { offset, buffer: Buffer::zeroed(length) };
        let write = |offset, length| Work::Write { offset, buffer: Buffer::zeroed(length), durable: false };
        assert_eq!(check(&read(4_096, 4_096), 8_192, true), Ok(()));
        assert_eq!(check(&read(4_097, 4_096), 8_192, false), Err(Errno::INVALID));
        assert_eq!(check(&read(u64::MAX, 4_096), 8_192, false), Err(Errno::INVALID));
        assert_eq!(check(&write(8_192, 1), 8_192, false), Err(Errno::NO_SPACE));
        assert_eq!(check(&write(0, 1), 8_192, true), Err(Errno::READ_ONLY));
        assert_eq!(check(&Work::Trim { offset: 0, bytes: 9_000 }, 8_192, false), Err(Errno::INVALID));
        assert_eq!(check(&Work::Flush, 8_192, true), Ok(()));
    }
}
