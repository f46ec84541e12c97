//! The interval of a sum of mean squares with positive and negative factors.

use crate::statistics::{CONFIDENCE, chi_square_quantile, fisher_quantile};

/// Share of what an interval leaves out that lies at its lower end. A variance that is zero in truth is left out at that end alone:
/// with seven tenths its interval holds in 96.5 %, and with half in 97.5 %.
const AT_LOWER_END: f64 = 0.7;

/// A mean square with its factor in the sum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Term {
    pub factor: f64,
    pub mean_square: f64,
    pub degrees: f64,
}

impl Term {
    fn size(&self) -> f64 {
        self.factor.abs() * self.mean_square
    }
}

/// The 95 % interval of the sum, which is not below zero, by the modified large sample method (Graybill and Wang, J. Am. Stat. Assoc.
/// 75 (1980) 869; with negative factors Ting, Burdick, Graybill, Jeyaratnam and Lu, J. Stat. Comput. Simul. 35 (1990) 135): exact
/// where one of the mean squares is zero or has many degrees of freedom, and nearly so between, also with two
/// degrees of freedom. Terms of the same sign are taken as independent without the small correction for pairs of them.
pub(super) fn interval(terms: &[Term]) -> (f64, f64) {
    let sum: f64 = terms.iter().map(|term| term.factor * term.mean_square).sum();
    let left_out = 1.0 - CONFIDENCE;
    let (lower, upper) = (left_out * AT_LOWER_END, left_out * (1.0 - AT_LOWER_END));
    let (plus, minus): (Vec<&Term>, Vec<&Term>) = terms.iter().partition(|term| term.factor >= 0.0);
    let low = sum - reach(&minus, &plus, lower, Side::Low);
    let high = sum + reach(&plus, &minus, upper, Side::High);
    (low.max(0.0), high.max(0.0))
}

#[derive(Clone, Copy, PartialEq)]
enum Side {
    Low,
    High,
}

/// How far the sum may lie from the truth to one side: `rising` are the terms whose true mean square may be much larger than it was found,
/// `falling` those whose may be smaller.
fn reach(rising: &[&Term], falling: &[&Term], left_out: f64, side: Side) -> f64 {
    let larger = |term: &Term| term.degrees / chi_square_quantile(left_out, term.degrees) - 1.0;
    let smaller = |term: &Term| 1.0 - term.degrees / chi_square_quantile(1.0 - left_out, term.degrees);
    let square = |terms: &[&Term], by: &dyn Fn(&Term) -> f64| {
        terms.iter().map(|term| (by(term) * term.size()).powi(2)).sum::<f64>()
    };
    let mut variance = square(rising, &larger) + square(falling, &smaller);
    for up in rising {
        for down in falling {
            let (h, g) = (larger(up), smaller(down));
            let cross = match side {
                Side::Low => {
                    let f = fisher_quantile(1.0 - left_out, down.degrees, up.degrees);
                    ((f - 1.0).powi(2) - (g * f).powi(2) - h * h) / f
                }
                Side::High => {
                    let f = fisher_quantile(left_out, up.degrees, down.degrees);
                    ((1.0 - f).powi(2) - (h * f).powi(2) - g * g) / f
                }
            };
            variance += cross * up.size() * down.size();
        }
    }
    variance.max(0.0).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_mean_square_has_the_interval_of_chi_square() {
        let (low, high) = interval(&[Term { factor: 0.5, mean_square: 8.0, degrees: 10.0 }]);
        // Quantiles 0.965 and 0.015 of chi-square with ten degrees of freedom.
        let expected = (40.0 / chi_square_quantile(0.965, 10.0), 40.0 / chi_square_quantile(0.015, 10.0));
        assert!((low - expected.0).abs() < 1e-9 && (high - expected.1).abs() < 1e-9, "{low} {high}");
    }

    #[test]
    fn the_lower_end_is_zero_just_where_the_f_test_finds_nothing() {
        let critical = fisher_quantile(0.965, 4.0, 20.0);
        let low = |ratio: f64| {
            let one = Term { factor: 0.2, mean_square: ratio, degrees: 4.0 };
            interval(&[one, Term { factor: -0.2, mean_square: 1.0, degrees: 20.0 }]).0
        };
        assert_eq!(low(0.999 * critical), 0.0);
        assert!(low(1.001 * critical) > 0.0);
    }

    #[test]
    fn mean_squares_without_any_spread_leave_an_interval_without_width() {
        let none = Term { factor: 1.0, mean_square: 0.0, degrees: 3.0 };
        assert_eq!(interval(&[none, Term { factor: -1.0, ..none }]), (0.0, 0.0));
    }
}
