//! A buffer is the memory that the bytes of an I/O lie in, aligned as direct I/O wants it.

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
