use crate::random::Random;
use std::fmt;

/// Most alternatives: up to here a rank plus one half is exact in the arithmetic used.
const ALTERNATIVES_MAX: u64 = 1 << 40;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZipfError;

impl fmt::Display for ZipfError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "zipf needs 1 to {ALTERNATIVES_MAX} alternatives, and a finite exponent above 0")
    }
}

impl std::error::Error for ZipfError {}

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
