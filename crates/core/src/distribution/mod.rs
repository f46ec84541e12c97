//! Distributions of parameters: which row, which item, which statement.

mod weighted;
mod zipf;

use crate::random::Random;
pub use weighted::{WeightError, WeightedChoice};
pub use zipf::{Zipf, ZipfError};

/// `NURand(A, x, y) = ((rand(0..A) OR rand(x..y)) mod (y - x + 1)) + x`, where `rand` is uniform over
/// whole numbers with both ends and `OR` works on bits: numbers with many bits set come more often.
///
/// Source: TPC-W, clause on the non-uniform random function (that of TPC-C with `C = 0`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NuRand {
    /// Skew: one less than a power of two.
    pub a: u64,
    pub x: u64,
    pub y: u64,
}

impl NuRand {
    /// The id of a customer among `customers`, with the skew that TPC-W sets for that many: 1023 below
    /// ten thousand, and four times as much (with all bits set) from 10,000, 40,000, 160,000 ... on.
    pub fn customer(customers: u64) -> Self {
        let mut a = 1_023;
        let mut step = 10_000_u64;
        while customers >= step {
            a = 4 * a + 3;
            step = step.saturating_mul(4);
            if step == u64::MAX {
                break;
            }
        }
        Self { a, x: 1, y: customers.max(1) }
    }

    pub fn draw(&self, random: &mut Random) -> u64 {
        let bits = random.uniform(0, self.a) | random.uniform(self.x, self.y);
        match self.y.saturating_sub(self.x).checked_add(1) {
            Some(span) => bits % span + self.x,
            None => bits,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Seed;
    use proptest::prelude::*;

    #[test]
    fn the_skew_follows_the_number_of_customers() {
        let cases = [
            (1, 1_023),
            (9_999, 1_023),
            (10_000, 4_095),
            (28_800, 4_095),
            (40_000, 16_383),
            (160_000, 65_535),
            (639_999, 65_535),
            (640_000, 262_143),
            (2_560_000, 1_048_575),
        ];
        for (customers, a) in cases {
            assert_eq!(NuRand::customer(customers).a, a, "{customers}");
        }
        assert_eq!(NuRand::customer(u64::MAX).y, u64::MAX);
    }

    #[test]
    fn the_frequencies_are_those_of_full_enumeration() {
        let nurand = NuRand { a: 3, x: 1, y: 5 };
        let mut expected = [0.0_f64; 6];
        for i in 0..=3_u64 {
            for j in 1..=5_u64 {
                expected[usize::try_from((i | j) % 5 + 1).unwrap()] += 1.0 / 20.0;
            }
        }
        let mut random = Random::new(Seed(4));
        let mut seen = [0.0_f64; 6];
        for _ in 0..200_000 {
            seen[usize::try_from(nurand.draw(&mut random)).unwrap()] += 1.0 / 200_000.0;
        }
        for (value, (seen, expected)) in seen.iter().zip(expected).enumerate() {
            assert!((seen - expected).abs() < 0.005, "{value}: {seen} {expected}");
        }
    }

    proptest! {
        #[test]
        fn a_draw_stays_within_its_bounds(bits in 0..40_u32, x: u64, span in 0..1_000_000_u64, seed: u64) {
            let x = x.min(u64::MAX - span);
            let nurand = NuRand { a: (1 << bits) - 1, x, y: x + span };
            let value = nurand.draw(&mut Random::new(Seed(seed)));
            prop_assert!((nurand.x..=nurand.y).contains(&value));
        }
    }
}
