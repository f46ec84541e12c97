//! What a client has asked for and not been answered.

use super::memory::Held;

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
