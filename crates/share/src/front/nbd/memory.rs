//! Memory for what is asked through sockets: bounded, and used again.

use crate::Buffer;

/// The smallest and the largest buffer that are kept to be used again, and how many bytes of them.
const LEAST: usize = 4 << 10;
const LARGEST: usize = 1 << 20;
const KEPT: usize = 16 << 20;
const SIZES: usize = (LARGEST / LEAST).ilog2() as usize + 1;

/// What a request without bytes is counted with: less than what it takes in the queues of the engine.
const REQUEST: usize = 256;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Held {
    pub bytes: usize,
    /// It is the one that is taken beyond the memory of all.
    beyond: bool,
}

/// Buffers of all connections. One that was used before is not made zero again: whoever fills it fills all of it.
pub(super) struct Memory {
    used: usize,
    most: usize,
    /// The place for one request beyond that is taken.
    beyond: bool,
    free: [Vec<Buffer>; SIZES],
    kept: usize,
    /// Something was given back since this was looked at.
    released: bool,
}

impl Memory {
    /// None used yet, of so many bytes.
    pub fn new(most: usize) -> Self {
        Self { used: 0, most, beyond: false, free: Default::default(), kept: 0, released: false }
    }

    /// Memory that a buffer of this length takes.
    pub fn size(length: usize) -> usize {
        if length > LARGEST { length } else { length.next_power_of_two().max(LEAST) }
    }

    /// A buffer, for a connection that holds so many bytes already; `None` where it has to wait.
    ///
    /// A connection may hold half of what it leaves free, a third of all if it is alone, so that those who send half a
    /// write or take no answers leave something for the others, however many there are. Of those that hold nothing one at a
    /// time has its request beyond that: a large one is neither refused nor does it wait until all others are silent.
    pub fn take(&mut self, length: usize, held: usize) -> Option<(Buffer, Held)> {
        let size = Self::size(length);
        let taken = self.count(size, held)?;
        Some((self.buffer(length, size), taken))
    }

    /// As [`Memory::take`], for a request that needs no buffer.
    pub fn take_none(&mut self, held: usize) -> Option<Held> {
        self.count(REQUEST, held)
    }

    fn count(&mut self, size: usize, held: usize) -> Option<Held> {
        let free = self.most.saturating_sub(self.used);
        let fits = size <= free && 2 * (held + size) <= free - size;
        let beyond = !fits && held == 0 && !self.beyond;
        if !fits && !beyond {
            return None;
        }
        if beyond {
            self.beyond = true;
        } else {
            self.used += size;
        }
        Some(Held { bytes: size, beyond })
    }

    /// Whether more than half is used. With less, who waits for memory holds much itself.
    pub fn is_short(&self) -> bool {
        self.used > self.most / 2
    }

    /// How many bytes to read at most of a connection that holds so many: what has to be kept is memory too.
    pub fn readable(&self, held: usize) -> usize {
        let free = self.most.saturating_sub(self.used);
        (free.saturating_sub(2 * held) / 3).max(LEAST)
    }

    /// Bytes are kept, instead of so many before: they are there already, so that they are not refused.
    pub fn keep(&mut self, bytes: usize, before: usize) {
        self.used = self.used + bytes - before;
        self.released |= bytes < before;
    }

    fn buffer(&mut self, length: usize, size: usize) -> Buffer {
        let used = place(size).and_then(|place| self.free[place].pop());
        self.kept -= if used.is_some() { size } else { 0 };
        let mut buffer = used.unwrap_or_else(|| Buffer::zeroed(size));
        buffer.set_len(length);
        buffer
    }

    /// Takes back a buffer, and what it was counted with. They may be apart: an answer without bytes frees memory too.
    pub fn give(&mut self, buffer: Buffer, held: Held) {
        if held.beyond {
            self.beyond = false;
        } else {
            self.used -= held.bytes;
        }
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

/// Bytes that a request counts for at most: trims and zeroes are not moved one by one.
const COUNTED_MAX: u32 = 1 << 20;

/// Bytes that a request of this length moves, as far as that is work.
pub(super) fn weight(length: u32) -> u64 {
    u64::from(length.min(COUNTED_MAX))
}

/// What an answer has to know of its request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub cookie: u64,
    pub length: u32,
    pub kind: Kind,
    /// Memory that it was counted with.
    pub held: Held,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Read,
    Trim {
        /// A flush follows, and then the answer.
        durable: bool,
    },
    Other,
}

/// Requests by a number of ours: clients may call two by one name.
#[derive(Debug, Default)]
pub(super) struct List {
    places: Vec<Option<Asked>>,
    free: Vec<usize>,
    weight: u64,
}

impl List {
    /// Adds one, and says its number.
    pub fn add(&mut self, asked: Asked) -> u64 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() - 1
        });
        self.weight += weight(asked.length);
        self.places[place] = Some(asked);
        place as u64
    }

    /// Takes the one of this number out.
    pub fn take(&mut self, number: u64) -> Option<Asked> {
        let place = usize::try_from(number).ok()?;
        let asked = self.places.get_mut(place)?.take()?;
        self.free.push(place);
        self.weight -= weight(asked.length);
        Some(asked)
    }

    pub fn weight(&self) -> u64 {
        self.weight
    }

    pub fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }
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
        assert_eq!(held, 20 << 10, "below a third of all");
        assert!(memory.take(8 << 10, 0).is_some(), "another one");
        assert_eq!(memory.used(), 28 << 10);
    }

    #[test]
    fn however_many_take_all_that_they_get_something_is_left_for_the_next_one() {
        let mut memory = Memory::new(64 << 20);
        for _ in 0..15 {
            let mut held = 0;
            while let Some((_, taken)) = memory.take(64 << 10, held) {
                held += taken.bytes;
            }
            assert!(held > 0, "the next one has nothing");
        }
    }

    #[test]
    fn one_request_at_a_time_goes_beyond_the_memory_and_only_of_who_holds_nothing() {
        let mut memory = Memory::new(64 << 20);
        assert!(memory.take(32 << 20, LEAST).is_none(), "it holds something");
        let (buffer, held) = memory.take(32 << 20, 0).unwrap();
        assert_eq!(memory.used(), 0);
        assert!(memory.take(32 << 20, 0).is_none(), "there is one already");
        assert!(memory.take(1 << 20, 0).is_some(), "and it takes nothing from the others");
        memory.give(buffer, held);
        assert!(memory.take(32 << 20, 0).is_some());
    }

    #[test]
    fn one_alone_is_never_too_large() {
        let mut memory = Memory::new(LEAST);
        let (buffer, held) = memory.take(32 << 20, 0).unwrap();
        assert!(memory.take(1, 0).is_none());
        memory.give(buffer, held);
        assert!(memory.was_released() && !memory.was_released());
        assert!(memory.take(1, 0).is_some());
    }

    #[test]
    fn requests_without_bytes_and_what_is_kept_of_a_client_are_memory_too() {
        let mut memory = Memory::new(64 << 10);
        let first = memory.take_none(0).unwrap();
        assert!((memory.used(), first.bytes) == (256, 256) && memory.readable(0) < 64 << 10);
        memory.keep(64 << 10, 0);
        assert_eq!((memory.readable(0), memory.used()), (LEAST, (64 << 10) + 256));
        assert!(memory.take_none(256).is_none() && !memory.was_released());
        memory.keep(1 << 10, 64 << 10);
        assert!(memory.was_released() && memory.take_none(256).is_some());
    }

    #[test]
    fn a_buffer_is_used_again() {
        let mut memory = Memory::new(1 << 20);
        let (buffer, held) = memory.take(5_000, 0).unwrap();
        assert_eq!(buffer.len(), 5_000);
        let address = buffer.as_slice().as_ptr();
        memory.give(buffer, held);
        let (again, _) = memory.take(8_192, 0).unwrap();
        assert_eq!((again.len(), again.as_slice().as_ptr()), (8_192, address));
        assert_eq!((memory.used(), memory.kept), (8_192, 0));
    }
}
