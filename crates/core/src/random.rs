//! Seeded randomness: the same seed gives the same numbers on every machine, for ever.

use crate::time::Nanos;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// A seed, and the way to further seeds: every place that draws has one of its own, named by its
/// path from the seed of the plan, so that adding a draw in one place moves no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Seed(pub u64);

impl Seed {
    /// The seed of the part named `label` (FNV-1a of the label, mixed by SplitMix64).
    pub fn child(self, label: &str) -> Self {
        let hash = label.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Self(split_mix(self.0 ^ split_mix(hash)))
    }

    /// The seed of the part with this number: a row, a repeat, a thread.
    pub fn numbered(self, number: u64) -> Self {
        Self(split_mix(self.0 ^ split_mix(number.wrapping_add(0x9e37_79b9_7f4a_7c15))))
    }
}

/// Output function of SplitMix64 (Steele, Lea and Flood, 2014).
fn split_mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A stream of random numbers (xoshiro256++).
#[derive(Clone, Debug)]
pub struct Random(Xoshiro256PlusPlus);

impl Random {
    pub fn new(seed: Seed) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed.0))
    }

    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in `0 <= x < 1`, with 53 random bits.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Uniform in `low..=high`; `low` where the two are the wrong way round. Unbiased (Lemire, 2019).
    pub fn uniform(&mut self, low: u64, high: u64) -> u64 {
        let span = high.saturating_sub(low).wrapping_add(1);
        if span == 0 {
            return self.bits();
        }
        let mut product = u128::from(self.bits()) * u128::from(span);
        if (product as u64) < span {
            let threshold = span.wrapping_neg() % span;
            while (product as u64) < threshold {
                product = u128::from(self.bits()) * u128::from(span);
            }
        }
        low + (product >> 64) as u64
    }

    pub fn exponential(&mut self, mean: f64) -> f64 {
        // 1 - unit() is in (0, 1], so that the logarithm is finite.
        -mean * (1.0 - self.unit()).ln()
    }

    /// Standard normal (Box and Muller, Ann. Math. Stat. 29 (1958) 610).
    pub fn normal(&mut self) -> f64 {
        let radius = (2.0 * self.exponential(1.0)).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    pub fn exponential_nanos(&mut self, mean: Nanos) -> Nanos {
        Nanos(self.exponential(mean.0 as f64) as u64)
    }

    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_numbers_of_a_seed_never_change() {
        let mut random = Random::new(Seed(42));
        let first: Vec<u64> = (0..3).map(|_| random.bits()).collect();
        assert_eq!(first, [15021278609987233951, 5881210131331364753, 18149643915985481100]);
    }

    #[test]
    fn children_differ_by_label_and_number() {
        let seed = Seed(1);
        assert_ne!(seed.child("arrivals"), seed.child("parameters"));
        assert_ne!(seed.numbered(0), seed.numbered(1));
        assert_eq!(seed.child("arrivals").numbered(3), Seed(1).child("arrivals").numbered(3));
    }

    #[test]
    fn uniform_covers_its_ends_and_nothing_else() {
        let mut random = Random::new(Seed(7));
        let mut seen = [0_u32; 5];
        for _ in 0..5_000 {
            seen[usize::try_from(random.uniform(3, 7) - 3).unwrap()] += 1;
        }
        assert!(seen.iter().all(|&count| (850..1_150).contains(&count)), "{seen:?}");
    }
}
