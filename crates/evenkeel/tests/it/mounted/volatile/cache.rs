//! What a disk keeps in memory.

use evenkeel_core::random::{Random, Seed};
use evenkeel_share::Buffer;
use std::collections::BTreeMap;

/// Bytes that are on the disk together or not at all.
pub(super) const BLOCK: u64 = 4_096;

/// Blocks that are not on the disk, each as a whole.
pub(super) struct Cache {
    /// The blocks by their number, with their age.
    blocks: BTreeMap<u64, (u64, Buffer)>,
    /// Places by age; the least is the oldest.
    ages: BTreeMap<u64, u64>,
    next_age: u64,
    random: Random,
}

impl Cache {
    pub fn new(seed: u64) -> Self {
        let random = Random::new(Seed(seed));
        Self { blocks: BTreeMap::new(), ages: BTreeMap::new(), next_age: 0, random }
    }

    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    /// A block that is to be changed.
    pub fn block(&mut self, place: u64) -> Option<&mut Buffer> {
        self.blocks.get_mut(&place).map(|(_, block)| block)
    }

    pub fn put(&mut self, place: u64, block: Buffer) {
        self.take(place);
        self.blocks.insert(place, (self.next_age, block));
        self.ages.insert(self.next_age, place);
        self.next_age += 1;
    }

    pub fn take(&mut self, place: u64) -> Option<Buffer> {
        let (age, block) = self.blocks.remove(&place)?;
        self.ages.remove(&age);
        Some(block)
    }

    pub fn oldest(&self) -> Option<u64> {
        self.ages.first_key_value().map(|(_, &place)| place)
    }

    /// A block at random, of those that are there.
    pub fn any(&mut self) -> Option<u64> {
        let (&first, &last) = (self.ages.first_key_value()?.0, self.ages.last_key_value()?.0);
        let age = self.random.uniform(first, last);
        self.ages.range(age..).next().map(|(_, &place)| place)
    }

    pub fn coin(&mut self, probability: f64) -> bool {
        self.random.chance(probability)
    }

    /// Copies what is here of a range over what the disk has.
    pub fn overlay(&self, offset: u64, bytes: &mut [u8]) {
        let end = offset + bytes.len() as u64;
        for (&place, (_, block)) in self.blocks.range(offset / BLOCK..end.div_ceil(BLOCK)) {
            let start = place * BLOCK;
            let (from, to) = (offset.max(start), end.min(start + block.len() as u64));
            if from < to {
                bytes[(from - offset) as usize..(to - offset) as usize]
                    .copy_from_slice(&block.as_slice()[(from - start) as usize..(to - start) as usize]);
            }
        }
    }

    /// Forgets blocks that lie wholly in a range and writes zeroes to those that lie partly in it.
    pub fn clear(&mut self, offset: u64, bytes: u64) {
        let end = offset + bytes;
        let touched: Vec<u64> =
            self.blocks.range(offset / BLOCK..end.div_ceil(BLOCK)).map(|(&place, _)| place).collect();
        for place in touched {
            let start = place * BLOCK;
            let Some(block) = self.block(place) else { continue };
            let (from, to) = (offset.max(start), end.min(start + block.len() as u64));
            if to - from == block.len() as u64 {
                self.take(place);
            } else {
                block.as_mut_slice()[(from - start) as usize..(to - start) as usize].fill(0);
            }
        }
    }
}
