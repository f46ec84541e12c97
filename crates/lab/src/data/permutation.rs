//! Numbers in an order that looks random and needs no memory: a table of any size is filled by it.

use evenkeel_core::random::{Random, Seed};

/// Rounds of mixing; four make an order in which neighbours are no longer to be seen.
const ROUNDS: usize = 4;

/// The numbers from 0 up to a length, each once, in an order that its seed fixes.
///
/// A Feistel network permutes the numbers of the smallest even number of bits that holds the length. What it makes of a number is
/// put through it again until it lies below the length, which takes four steps at most in the mean.
#[derive(Clone, Copy, Debug)]
pub(super) struct Permutation {
    length: u64,
    half_bits: u32,
    keys: [u64; ROUNDS],
}

impl Permutation {
    pub(super) fn new(length: u64, seed: Seed) -> Self {
        let mut random = Random::new(seed);
        let bits = (u64::BITS - length.saturating_sub(1).leading_zeros()).max(2);
        Self { length, half_bits: bits.div_ceil(2), keys: [(); ROUNDS].map(|()| random.bits()) }
    }

    /// The number at this place, which must be below the length.
    pub(super) fn at(&self, place: u64) -> u64 {
        let mut number = place;
        loop {
            number = self.mix(number);
            if number < self.length || self.length <= place {
                return number;
            }
        }
    }

    fn mix(&self, number: u64) -> u64 {
        let mask = (1 << self.half_bits) - 1;
        let start = (number >> self.half_bits, number & mask);
        let (high, low) = self.keys.iter().fold(start, |(left, right), key| {
            let mixed = (right ^ key).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            (right, left ^ (mixed >> 32 & mask))
        });
        high << self.half_bits | low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_comes_once_and_neighbours_are_far_apart() {
        for length in [1, 2, 3, 10, 1_000, 10_007] {
            let order = Permutation::new(length, Seed(7));
            let mut numbers: Vec<u64> = (0..length).map(|place| order.at(place)).collect();
            let steps = numbers.windows(2).filter(|pair| pair[1] == pair[0] + 1).count() as u64;
            assert!(steps <= 3 + length / 100, "{steps} of {length} follow each other");
            numbers.sort_unstable();
            assert!(numbers.iter().copied().eq(0..length), "{length}");
        }
    }
}
