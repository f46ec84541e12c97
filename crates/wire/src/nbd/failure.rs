//! Why a request was not done, in the numbers of the protocol.

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
