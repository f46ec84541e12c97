use super::chi_square::chi_square_quantile;
use super::special::{beta_i, halved};

/// From this many degrees of freedom on, a variance counts as known exactly.
const DEGREES_EXACT: f64 = 1e9;
/// Natural logarithm of the largest and, negative, of the smallest quantile that is looked for.
const LOGARITHM_MAX: f64 = 300.0;

/// The value that the ratio of two estimates of the same variance stays below with probability `p`, where the upper one has
/// `over` degrees of freedom and the lower one `under`, whole or not.
///
/// Zero and infinite at `p` of 0 and 1; not a number outside or unless both degrees are above zero. Found by halving on the
/// distribution `I_x(over / 2, under / 2)` with `x = over f / (over f + under)` (DLMF 8.17, Abramowitz and Stegun 26.6.2).
pub fn fisher_quantile(p: f64, over: f64, under: f64) -> f64 {
    if !(over > 0.0 && under > 0.0 && (0.0..=1.0).contains(&p)) {
        return f64::NAN;
    }
    if p == 0.0 || p == 1.0 {
        return if p == 0.0 { 0.0 } else { f64::INFINITY };
    }
    match (over > DEGREES_EXACT, under > DEGREES_EXACT) {
        (true, true) => 1.0,
        (false, true) => chi_square_quantile(p, over) / over,
        (true, false) => under / chi_square_quantile(1.0 - p, under),
        (false, false) => {
            let is_below = |logarithm: f64| {
                let odds = over * logarithm.exp() / under;
                // Neither part is the difference of nearly equal numbers.
                beta_i(over / 2.0, under / 2.0, 1.0 / (1.0 + 1.0 / odds), 1.0 / (1.0 + odds)) < p
            };
            halved(-LOGARITHM_MAX, LOGARITHM_MAX, is_below).exp()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_agree_with_the_published_table() {
        let cases = [
            (0.95, 1.0, 1.0, 161.447_6),
            (0.95, 2.0, 5.0, 5.786_135),
            (0.975, 4.0, 10.0, 4.468_342),
            (0.99, 10.0, 3.0, 27.228_73),
            (0.95, 120.0, 120.0, 1.351_886),
            (0.05, 5.0, 2.0, 1.0 / 5.786_135),
        ];
        for (p, over, under, expected) in cases {
            let found = fisher_quantile(p, over, under);
            assert!((found / expected - 1.0).abs() < 1e-5, "{p} {over} {under}: {found} {expected}");
        }
    }

    #[test]
    fn a_variance_that_is_known_exactly_leaves_that_of_the_other() {
        assert!((fisher_quantile(0.95, 10.0, 1e12) - 18.307_038 / 10.0).abs() < 1e-6);
        assert!((fisher_quantile(0.95, 1e12, 10.0) - 10.0 / 3.940_299).abs() < 1e-5);
        assert_eq!(fisher_quantile(0.95, 1e12, 1e12), 1.0);
    }
}
