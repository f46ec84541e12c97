//! A hash table of entries that keeps them sorted.

use super::Entry;

/// Entries whose homes are the first bits of their keys: each stands there or behind it, with no free place between, and in their order.
pub(super) struct Table {
    slots: Vec<Option<Entry>>,
    bits: u32,
    used: usize,
    most_bits: u32,
}

/// Where an entry stands, or would.
pub(super) enum Found {
    Here(Entry),
    /// At this place, nothing with its key does.
    Nowhere(usize),
}

const FIRST_BITS: u32 = 10;

impl Table {
    /// Of `2^most_bits` places at most.
    pub fn new(most_bits: u32) -> Self {
        Self { slots: vec![None; 1 << FIRST_BITS], bits: FIRST_BITS, used: 0, most_bits }
    }

    fn home(&self, entry: &Entry) -> usize {
        (entry.high >> (64 - self.bits)) as usize
    }

    pub fn find(&self, entry: &Entry) -> Found {
        let mut at = self.home(entry);
        loop {
            match self.slots.get(at) {
                Some(Some(known)) if known.key() < entry.key() => at += 1,
                Some(Some(known)) if known.key() == entry.key() => return Found::Here(*known),
                _ => return Found::Nowhere(at),
            }
        }
    }

    /// Puts an entry where [`Table::find`] said that it would be; those behind it move.
    pub fn put(&mut self, at: usize, entry: Entry) {
        let free = self.slots[at.min(self.slots.len())..].iter().position(Option::is_none);
        match free.map(|free| at + free) {
            Some(free) => self.slots.copy_within(at..free, at + 1),
            None => {
                self.slots.push(None);
                let end = self.slots.len() - 1;
                self.slots.copy_within(at..end, at + 1);
            }
        }
        self.slots[at] = Some(entry);
        self.used += 1;
        if self.is_dense() && self.bits < self.most_bits {
            self.grow();
        }
    }

    fn is_dense(&self) -> bool {
        self.used > (1 << self.bits) / 8 * 7
    }

    pub fn is_full(&self) -> bool {
        self.is_dense() && self.bits >= self.most_bits
    }

    pub fn most(&self) -> u64 {
        (1 << self.most_bits) / 8 * 7 + 1
    }

    fn grow(&mut self) {
        let old = std::mem::take(&mut self.slots);
        self.bits += 1;
        self.slots = vec![None; 1 << self.bits];
        let mut next = 0;
        for entry in old.into_iter().flatten() {
            let at = self.home(&entry).max(next);
            if at >= self.slots.len() {
                self.slots.push(None);
            }
            self.slots[at] = Some(entry);
            next = at + 1;
        }
    }

    #[cfg(test)]
    fn entries(&self) -> impl Iterator<Item = Entry> + '_ {
        self.slots.iter().flatten().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Place;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn a_table_finds_what_was_put_into_it_and_stays_sorted(
            keys in proptest::collection::vec((0_u64..3000, 0_u32..3), 0..4000), crowded in any::<bool>(),
        ) {
            let (mut table, mut known) = (Table::new(12), BTreeMap::new());
            for (number, (high, low)) in (0_u64..).zip(keys) {
                // Crowded: all at the end of the table, and beyond it.
                let high = if crowded { u64::MAX - high } else { high << 52 };
                let entry = Entry { high, low, ..Entry::new(b"", b"", Place { input: 0, offset: number }) };
                match table.find(&entry) {
                    Found::Here(found) => prop_assert_eq!(Some(&found), known.get(&entry.key())),
                    Found::Nowhere(at) => {
                        prop_assert!(known.insert(entry.key(), entry).is_none());
                        table.put(at, entry);
                    }
                }
            }
            prop_assert_eq!(table.entries().collect::<Vec<_>>(), known.values().copied().collect::<Vec<_>>());
        }
    }
}
