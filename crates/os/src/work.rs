//! A work is one thing that is asked of a file or a disk.

use crate::Buffer;

/// One thing to be done, at an offset in bytes.
#[derive(Debug)]
pub enum Work {
    /// Fills the buffer.
    Read {
        offset: u64,
        /// As long as what is to be read.
        buffer: Buffer,
    },
    /// Writes the buffer.
    Write {
        offset: u64,
        buffer: Buffer,
        /// It must be on the disk before the answer (FUA).
        durable: bool,
    },
    /// All writes that were answered before must be on the disk before the answer.
    Flush,
    /// The bytes are needed no more; what they read as afterwards is open.
    Trim { offset: u64, bytes: u64 },
    /// The bytes read as zero afterwards.
    Zero {
        offset: u64,
        bytes: u64,
        /// Space may not be given back.
        allocate: bool,
        /// It must be on the disk before the answer (FUA).
        durable: bool,
    },
}

impl Work {
    /// Where and how many bytes; `None` for a flush.
    pub fn range(&self) -> Option<(u64, u64)> {
        match self {
            Self::Read { offset, buffer } | Self::Write { offset, buffer, .. } => {
                Some((*offset, buffer.len() as u64))
            }
            Self::Trim { offset, bytes } | Self::Zero { offset, bytes, .. } => Some((*offset, *bytes)),
            Self::Flush => None,
        }
    }

    pub fn changes(&self) -> bool {
        matches!(self, Self::Write { .. } | Self::Trim { .. } | Self::Zero { .. })
    }

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
