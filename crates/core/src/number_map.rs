//! Maps by numbers of our own: sessions, statements, digests.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map by numbers of our own.
pub type NumberMap<K, V> = HashMap<K, V, BuildHasherDefault<NumberHasher>>;

/// Odd, and without a pattern: 2^64 / golden ratio.
const FACTOR: u128 = 0x9e37_79b9_7f4a_7c15;

/// Hashes numbers of our own, sessions, statements and digests, by a multiplication whose halves are folded.
///
/// The standard hasher is made to withstand keys that an enemy chooses, at some 200 instructions for each look-up, and
/// a transaction takes ten. Here one multiplication is enough. Whoever could choose keys that collide gains little: the maps
/// are bounded, and an attacker who is logged in has dearer statements to send.
#[derive(Clone, Copy, Debug, Default)]
pub struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn write_u64(&mut self, number: u64) {
        let wide = u128::from(self.0 ^ number) * FACTOR;
        self.0 = (wide >> 64) as u64 ^ wide as u64;
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// What is known by digest, of as many digests as there is room for: what was not used since it was full last makes room.
#[derive(Debug)]
pub struct Recent<V> {
    known: NumberMap<u64, (V, u32)>,
    epoch: u32,
}

impl<V> Default for Recent<V> {
    fn default() -> Self {
        Self { known: NumberMap::default(), epoch: 0 }
    }
}

impl<V> Recent<V> {
    pub const MAX: usize = 4_096;

    pub fn get(&self, digest: u64) -> Option<&V> {
        self.known.get(&digest).map(|(value, _)| value)
    }

    /// Its value, which is used by this; `None` where there is no room, or the digest is 0: not known.
    pub fn used(&mut self, digest: u64, fresh: V) -> Option<&mut V> {
        if digest == 0 {
            return None;
        }
        let (epoch, is_new) = (self.epoch, !self.known.contains_key(&digest));
        if is_new && self.known.len() >= Self::MAX {
            self.known.retain(|_, (_, used)| *used == epoch);
            self.epoch = epoch.wrapping_add(1);
        }
        if is_new && self.known.len() >= Self::MAX {
            return None;
        }
        let (value, used) = self.known.entry(digest).or_insert((fresh, 0));
        *used = self.epoch;
        Some(value)
    }

    pub fn iter(&self) -> impl Iterator<Item = (u64, &V)> {
        self.known.iter().map(|(digest, (value, _))| (*digest, value))
    }

    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.known.values_mut().map(|(value, _)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::hash::BuildHasher;

    /// How many of 128 values of the top bits and of 4,096 of the low bits, which a map uses, come up.
    fn spread(keys: impl Iterator<Item = u64>) -> (usize, usize) {
        let hashes: Vec<u64> =
            keys.map(|key| BuildHasherDefault::<NumberHasher>::default().hash_one(key)).collect();
        let count =
            |part: &dyn Fn(u64) -> u64| hashes.iter().map(|hash| part(*hash)).collect::<HashSet<_>>().len();
        (count(&|hash| hash >> 57), count(&|hash| hash & 4_095))
    }

    #[test]
    fn numbers_in_a_row_and_places_of_sessions_spread_over_the_map() {
        let generations =
            (0..4_096_u64).map(|session| (session << 32) | ((session % 4) << 24) | (session % 64));
        for (top, low) in [spread(0..4_096), spread(generations), spread((0..4_096).map(|n| n << 32))] {
            // By chance 63 % of 4,096 places come up.
            assert!(top == 128 && low > 2_400, "{top} {low}");
        }
    }
}
