//! What a client has asked for and not been answered.

use super::memory::Held;

/// What an answer has to know of its request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    /// The client's name for it.
    pub cookie: u64,
    pub offset: u64,
    pub length: u32,
    pub kind: Kind,
    /// Memory that it was counted with.
    pub held: Held,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Read,
    Holes,
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
}

impl List {
    /// Adds one, and says its number.
    pub fn add(&mut self, asked: Asked) -> u64 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() - 1
        });
        self.places[place] = Some(asked);
        place as u64
    }

    /// Takes the one of this number out.
    pub fn take(&mut self, number: u64) -> Option<Asked> {
        let place = usize::try_from(number).ok()?;
        let asked = self.places.get_mut(place)?.take()?;
        self.free.push(place);
        Some(asked)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }
}
