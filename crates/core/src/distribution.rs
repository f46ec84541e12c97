//! Distributions of parameters: which row, which item, which statement.

use crate::random::Random;

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

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("weights must be finite numbers of 0 or more, at least one of them above 0")]
pub struct WeightError;

/// Draws the index of an alternative with a probability proportional to its weight, in constant time.
///
/// Alias method: each of the `n` columns holds its own alternative up to a threshold and one other, the
/// alias, above it. Sources: Walker, ACM TOMS 3 (1977) 253; set up in linear time as by Vose, IEEE
/// Trans. Softw. Eng. 17 (1991) 972.
#[derive(Clone, Debug)]
pub struct WeightedChoice {
    columns: Vec<Column>,
}

#[derive(Clone, Copy, Debug)]
struct Column {
    /// Probability of its own alternative, once the column is chosen.
    own: f64,
    alias: usize,
}

impl WeightedChoice {
    pub fn new(weights: &[f64]) -> Result<Self, WeightError> {
        let sum = check(weights)?;
        let mean = sum / weights.len() as f64;
        let mut columns: Vec<Column> =
            weights.iter().enumerate().map(|(alias, weight)| Column { own: weight / mean, alias }).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) =
            (0..columns.len()).partition(|&index| columns[index].own < 1.0);
        // Each small column is filled up by a large one, which is small itself once it has given enough.
        while let (Some(&giver), Some(taker)) = (large.last(), small.pop()) {
            columns[taker].alias = giver;
            columns[giver].own -= 1.0 - columns[taker].own;
            if columns[giver].own < 1.0 {
                large.pop();
                small.push(giver);
            }
        }
        // What is left over differs from 1 by rounding alone, and is its own alias as far as it was large.
        for index in small.into_iter().chain(large) {
            columns[index].own = 1.0;
        }
        Ok(Self { columns })
    }

    pub fn draw(&self, random: &mut Random) -> usize {
        let place = random.unit() * self.columns.len() as f64;
        let index = place as usize;
        let Column { own, alias } = self.columns[index];
        if place - (index as f64) < own { index } else { alias }
    }
}

fn check(weights: &[f64]) -> Result<f64, WeightError> {
    let sum: f64 = weights.iter().sum();
    let is_fit = weights.iter().all(|weight| *weight >= 0.0) && sum.is_finite() && sum >= 1e-290;
    if is_fit { Ok(sum) } else { Err(WeightError) }
}

/// Most alternatives: up to here a rank plus one half is exact in the arithmetic used.
const ALTERNATIVES_MAX: u64 = 1 << 40;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("zipf needs 1 to {ALTERNATIVES_MAX} alternatives, and a finite exponent above 0")]
pub struct ZipfError;

/// Draws rank `k` of `1..=n` with a probability proportional to `h(k) = k^-s`, in constant time and
/// memory.
///
/// Rejection-inversion: `H(x)`, an integral of `h`, is `(x^(1-s) - 1) / (1 - s)`, or `ln x` at `s = 1`.
/// A number `u` drawn uniformly from `H(3/2) - h(1)` to `H(n + 1/2)` gives the candidate `k`, the
/// whole number nearest to the inverse of `H` at `u`. Since `h` is convex, the stretch of `u` that belongs
/// to `k` is at least `h(k)` long; `k` is taken where `u` lies in the upper `h(k)` of it, so that each rank
/// is accepted with a weight of exactly `h(k)`. Fewer than 1.1 candidates are needed on average.
///
/// Source: Hörmann and Derflinger, Rejection-inversion to generate variates from monotone discrete
/// distributions, ACM TOMACS 6 (1996) 169.
#[derive(Clone, Copy, Debug)]
pub struct Zipf {
    n: u64,
    s: f64,
    /// `H(3/2) - h(1)`.
    low: f64,
    /// `H(n + 1/2)`.
    high: f64,
    /// A candidate no further than this below its rank is accepted without computing `H` again.
    sure: f64,
}

impl Zipf {
    pub fn new(n: u64, s: f64) -> Result<Self, ZipfError> {
        if !(1..=ALTERNATIVES_MAX).contains(&n) || !s.is_finite() || s <= 0.0 {
            return Err(ZipfError);
        }
        Ok(Self {
            n,
            s,
            low: integral(1.5, s) - 1.0,
            high: integral(n as f64 + 0.5, s),
            sure: 2.0 - inverse(integral(2.5, s) - weight(2.0, s), s),
        })
    }

    pub fn draw(&self, random: &mut Random) -> u64 {
        loop {
            let u = self.high + random.unit() * (self.low - self.high);
            let x = inverse(u, self.s);
            // The conversion takes a number below zero, or none at all, as 0.
            let k = ((x + 0.5) as u64).clamp(1, self.n);
            let rank = k as f64;
            if rank - x <= self.sure || u >= integral(rank + 0.5, self.s) - weight(rank, self.s) {
                return k;
            }
        }
    }
}

/// `h(x) = x^-s`.
fn weight(x: f64, s: f64) -> f64 {
    (-s * x.ln()).exp()
}

/// `H(x)`, in the form that stays exact near `s = 1`.
fn integral(x: f64, s: f64) -> f64 {
    let log = x.ln();
    let exponent = (1.0 - s) * log;
    // (exp(e) - 1) / e, by its series where e is too small to divide by.
    let ratio = if exponent.abs() > 1e-8 { exponent.exp_m1() / exponent } else { 1.0 + exponent / 2.0 };
    ratio * log
}

/// `x` with `H(x) = u`.
fn inverse(u: f64, s: f64) -> f64 {
    // Below -1 only by rounding, where the logarithm has no value.
    let product = (u * (1.0 - s)).max(-1.0);
    let ratio = if product.abs() > 1e-8 { product.ln_1p() / product } else { 1.0 - product / 2.0 };
    (ratio * u).exp()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Seed;
    use crate::statistics::chi_square_tail;
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

    #[test]
    fn weights_that_cannot_be_drawn_from_are_refused() {
        for weights in [&[][..], &[0.0, 0.0], &[1.0, -2.0], &[f64::NAN]] {
            assert_eq!(WeightedChoice::new(weights).err(), Some(WeightError), "{weights:?}");
        }
        assert!(WeightedChoice::new(&[f64::MAX, f64::MAX]).is_err());
    }

    proptest! {
        #[test]
        fn the_table_holds_exactly_the_weights(weights in prop::collection::vec(0.0..1e3_f64, 1..50)) {
            prop_assume!(weights.iter().sum::<f64>() > 1e-3);
            let choice = WeightedChoice::new(&weights).unwrap();
            let mut held = vec![0.0; weights.len()];
            for (index, column) in choice.columns.iter().enumerate() {
                held[index] += column.own / weights.len() as f64;
                held[column.alias] += (1.0 - column.own) / weights.len() as f64;
            }
            let sum: f64 = weights.iter().sum();
            for (held, weight) in held.iter().zip(&weights) {
                prop_assert!((held - weight / sum).abs() < 1e-12, "{held} {}", weight / sum);
            }
        }
    }

    #[test]
    fn unfit_parameters_are_refused() {
        assert_eq!(Zipf::new(0, 1.0).err(), Some(ZipfError));
        assert!(Zipf::new((1 << 40) + 1, 1.0).is_err());
        assert_eq!(Zipf::new(5, 0.0).err(), Some(ZipfError));
        assert!(Zipf::new(5, f64::NAN).is_err());
    }

    #[test]
    fn frequencies_agree_with_the_definition() {
        for s in [0.2, 0.99, 1.0, 1.000_000_000_1, 1.5, 3.0] {
            let n = 30_usize;
            let zipf = Zipf::new(n as u64, s).unwrap();
            let mut random = Random::new(Seed(12));
            let mut seen = vec![0.0; n];
            let draws = 200_000;
            for _ in 0..draws {
                seen[usize::try_from(zipf.draw(&mut random)).unwrap() - 1] += 1.0;
            }
            let total: f64 = (1..=n).map(|k| (k as f64).powf(-s)).sum();
            let chi_square: f64 = (1..=n)
                .map(|k| {
                    let expected = f64::from(draws) * (k as f64).powf(-s) / total;
                    (seen[k - 1] - expected).powi(2) / expected
                })
                .sum();
            let p_value = chi_square_tail(chi_square, n as f64 - 1.0);
            assert!(p_value > 0.001, "s {s}: chi-square {chi_square}, p {p_value}");
        }
    }

    #[test]
    fn a_huge_range_at_exponent_one_is_uniform_in_the_logarithm() {
        let zipf = Zipf::new(1 << 40, 1.0).unwrap();
        let mut random = Random::new(Seed(13));
        let below = (0..50_000).filter(|_| zipf.draw(&mut random) <= 1 << 20).count() as f64 / 50_000.0;
        // Harmonic numbers: (ln 2^20 + 0.5772) / (ln 2^40 + 0.5772).
        assert!((below - 0.510_2).abs() < 0.01, "{below}");
    }

    proptest! {
        #[test]
        fn a_draw_is_a_rank(n in 1..=(1_u64 << 40), s in 1e-3..40.0_f64, seed: u64) {
            let zipf = Zipf::new(n, s).unwrap();
            let mut random = Random::new(Seed(seed));
            for _ in 0..20 {
                prop_assert!((1..=n).contains(&zipf.draw(&mut random)));
            }
        }
    }
}
