//! A work is one thing that is asked of a file or a disk; its bytes lie in a buffer, aligned as direct I/O wants it.

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

/// Buffers begin at a multiple of this, which direct I/O on any disk takes.
pub const ALIGNMENT: usize = 4_096;

#[derive(Debug, Default)]
pub struct Buffer {
    bytes: Vec<u8>,
    start: usize,
    length: usize,
}

impl Buffer {
    pub fn zeroed(length: usize) -> Self {
        if length == 0 {
            return Self::default();
        }
        let bytes = vec![0_u8; length + ALIGNMENT];
        let start = bytes.as_ptr().align_offset(ALIGNMENT);
        Self { bytes, start, length }
    }

    /// Another length, up to [`Buffer::capacity`]. What the bytes are is open.
    pub fn set_len(&mut self, length: usize) {
        self.length = length.min(self.capacity());
    }

    /// How long it can be without other memory.
    pub fn capacity(&self) -> usize {
        self.bytes.len().saturating_sub(ALIGNMENT)
    }

    pub fn from_slice(bytes: &[u8]) -> Self {
        let mut buffer = Self::zeroed(bytes.len());
        buffer.as_mut_slice().copy_from_slice(bytes);
        buffer
    }

    pub fn len(&self) -> usize {
        self.length
    }

    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[self.start..self.start + self.length]
    }

    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_and_as_long_as_asked() {
        for length in [0, 1, 512, 4_096, 100_000] {
            let mut buffer = Buffer::zeroed(length);
            assert_eq!((buffer.len(), buffer.as_mut_slice().len()), (length, length));
            assert!(length == 0 || buffer.as_slice().as_ptr().addr().is_multiple_of(ALIGNMENT));
        }
        assert_eq!(Buffer::from_slice(b"abc").as_slice(), b"abc");
    }
}
