//! Memory for what is asked through sockets: bounded, and used again.

use crate::share::Buffer;

/// The smallest and the largest buffer that are kept to be used again, and how many bytes of them.
const LEAST: usize = 4 << 10;
const LARGEST: usize = 1 << 20;
const KEPT: usize = 16 << 20;
const SIZES: usize = (LARGEST / LEAST).ilog2() as usize + 1;

/// Buffers of all connections. One that was used before is not made zero again: whoever fills it fills all of it.
pub(super) struct Memory {
    used: usize,
    most: usize,
    free: [Vec<Buffer>; SIZES],
    kept: usize,
    /// Something was given back since this was looked at.
    released: bool,
}

impl Memory {
    /// None used yet, of so many bytes.
    pub fn new(most: usize) -> Self {
        Self { used: 0, most, free: Default::default(), kept: 0, released: false }
    }

    /// Memory that a buffer of this length takes.
    pub fn size(length: usize) -> usize {
        if length > LARGEST { length } else { length.next_power_of_two().max(LEAST) }
    }

    /// A buffer, for a connection that holds so many bytes already; `None` where it has to wait.
    ///
    /// A connection may hold as much as it leaves free, so that those who take no answers leave something for the others.
    /// Who holds nothing may take the last that there is, and one alone is never too large.
    pub fn take(&mut self, length: usize, held: usize) -> Option<Buffer> {
        let size = Self::size(length);
        let free = self.most.saturating_sub(self.used);
        let fits = self.used == 0 || size <= free && (held == 0 || held + size <= free);
        fits.then(|| {
            self.used += size;
            self.buffer(length, size)
        })
    }

    fn buffer(&mut self, length: usize, size: usize) -> Buffer {
        let used = place(size).and_then(|place| self.free[place].pop());
        self.kept -= if used.is_some() { size } else { 0 };
        let mut buffer = used.unwrap_or_else(|| Buffer::zeroed(size));
        buffer.set_len(length);
        buffer
    }

    /// Takes back a buffer, and the size that it was counted with. They may be apart: an answer without bytes frees
    /// memory too.
    pub fn give(&mut self, buffer: Buffer, size: usize) {
        self.used -= size;
        self.released = true;
        let capacity = buffer.capacity();
        if let Some(place) = place(capacity)
            && self.kept + capacity <= KEPT
        {
            self.kept += capacity;
            self.free[place].push(buffer);
        }
    }

    /// Whether those who had to wait should try again.
    pub fn was_released(&mut self) -> bool {
        std::mem::take(&mut self.released)
    }

    /// Bytes in use.
    #[cfg(test)]
    pub fn used(&self) -> usize {
        self.used
    }
}

/// Where buffers of this size are kept.
fn place(size: usize) -> Option<usize> {
    let kept = size.is_power_of_two() && (LEAST..=LARGEST).contains(&size);
    kept.then(|| (size / LEAST).ilog2() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_takes_no_answers_leaves_memory_for_others() {
        let mut memory = Memory::new(64 << 10);
        let mut held = 0;
        while memory.take(LEAST, held).is_some() {
            held += LEAST;
        }
        assert_eq!(held, 32 << 10);
        assert!(memory.take(16 << 10, 0).is_some(), "another one");
        assert!(memory.take(32 << 10, 0).is_none(), "but not more than there is");
        assert_eq!(memory.used(), 48 << 10);
    }

    #[test]
    fn one_alone_is_never_too_large() {
        let mut memory = Memory::new(LEAST);
        let buffer = memory.take(32 << 20, 0).unwrap();
        assert!(memory.take(1, 0).is_none());
        memory.give(buffer, Memory::size(32 << 20));
        assert!(memory.was_released() && !memory.was_released());
        assert!(memory.take(1, 0).is_some());
    }

    #[test]
    fn a_buffer_is_used_again() {
        let mut memory = Memory::new(1 << 20);
        let buffer = memory.take(5_000, 0).unwrap();
        assert_eq!(buffer.len(), 5_000);
        let address = buffer.as_slice().as_ptr();
        memory.give(buffer, Memory::size(5_000));
        let again = memory.take(8_192, 0).unwrap();
        assert_eq!((again.len(), again.as_slice().as_ptr()), (8_192, address));
        assert_eq!((memory.used(), memory.kept), (8_192, 0));
    }
}
