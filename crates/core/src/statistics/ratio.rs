//! The ratio of two sets of measurements, with its interval.
//!
//! A ratio is symmetric on the log scale: twice as fast and half as fast lie equally far from the same. So
//! the logarithms are averaged, and the ends of the interval are raised again; the ratio is that of the
//! geometric means.

use super::CONFIDENCE;
use super::mean::{Estimate, Sample};
use super::special::{beta_i, chi_square_quantile, halved};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// Pairs, or measurements of the smaller side.
    pub n: u64,
    pub ratio: f64,
    /// The 95 % interval, lower and upper end; `None` where there are too few measurements to know.
    pub interval: Option<(f64, f64)>,
}

impl Ratio {
    /// Whether the interval leaves out 1, that is whether the two differ.
    pub fn differs(&self) -> bool {
        self.interval.is_some_and(|(low, high)| low > 1.0 || high < 1.0)
    }
}

/// The ratio `a / b` from measurements taken in pairs, one after the other, so that what drifts slowly
/// cancels: Student's t over the logarithms of the ratios of the pairs.
///
/// `None` without a pair, or where a measurement is not above zero and finite.
pub fn paired_ratio(pairs: &[(f64, f64)]) -> Option<Ratio> {
    let logs: Vec<f64> = pairs.iter().map(|&(a, b)| Some(log(a)? - log(b)?)).collect::<Option<_>>()?;
    Estimate::of(&logs).map(raised)
}

/// The ratio of the `numerators` to the `denominators`, measured independently of one another.
///
/// Welch's t over the logarithms: with the variances `v` of the two means, the difference of the means has
/// the variance `v1 + v2` and `(v1 + v2)^2 / (v1^2 / (n1 - 1) + v2^2 / (n2 - 1))` degrees of freedom (Welch,
/// Biometrika 34 (1947) 28). `None` without a measurement on either side, or where one is not above zero and
/// finite.
pub fn unpaired_ratio(numerators: &[f64], denominators: &[f64]) -> Option<Ratio> {
    let estimate =
        |values: &[f64]| values.iter().map(|&value| log(value)).collect::<Option<Sample>>()?.estimate();
    let (a, b) = (estimate(numerators)?, estimate(denominators)?);
    Some(raised(difference(&a, &b, ((a.n - 1) as f64, (b.n - 1) as f64))))
}

/// The ratio of two standard deviations within groups, with the interval that the distribution of Fisher gives to the ratio of variances of normal
/// values. What groups of a side differ by from one another is in none of them.
///
/// `None` where no group of a side has two values, or where those of a side do not differ.
pub fn deviations_ratio(numerators: &[Vec<f64>], denominators: &[Vec<f64>]) -> Option<Ratio> {
    let variance = |groups: &[Vec<f64>]| {
        let (mut squares, mut degrees) = (0.0, 0.0);
        for values in groups.iter().filter(|values| values.len() > 1) {
            let sample: Sample = values.iter().copied().collect();
            let own = values.len() as f64 - 1.0;
            squares += sample.standard_error()?.powi(2) * values.len() as f64 * own;
            degrees += own;
        }
        (squares > 0.0).then(|| (squares / degrees, degrees))
    };
    let ((over, over_degrees), (under, under_degrees)) = (variance(numerators)?, variance(denominators)?);
    let ratio = over / under;
    let beyond = (1.0 - CONFIDENCE) / 2.0;
    let end = |p: f64| (ratio / fisher_quantile(p, over_degrees, under_degrees)).sqrt();
    let n = 1 + over_degrees.min(under_degrees) as u64;
    Some(Ratio { n, ratio: ratio.sqrt(), interval: Some((end(1.0 - beyond), end(beyond))) })
}

fn raised(logs: Estimate) -> Ratio {
    let interval = logs.error.map(|error| (error.low.exp(), error.high.exp()));
    Ratio { n: logs.n, ratio: logs.mean.exp(), interval }
}

fn log(value: f64) -> Option<f64> {
    (value > 0.0 && value.is_finite()).then(|| value.ln())
}

/// `one - other`, with Welch's interval: the variances add up, and the degrees of freedom are those of Welch and Satterthwaite.
///
/// `degrees` are those of the two standard errors. Without an error on either side there is none of the difference.
pub fn difference(one: &Estimate, other: &Estimate, degrees: (f64, f64)) -> Estimate {
    let errors = one.standard_error().zip(other.standard_error());
    let variances = errors.map(|(one, other)| (one * one, other * other));
    let error = variances.map(|(one, other)| (one + other).sqrt());
    let joint = variances.map_or(1.0, |variances| joint_degrees(variances, degrees));
    Estimate::with_error(one.n.min(other.n), one.mean - other.mean, error, joint)
}

/// Welch's and Satterthwaite's degrees of freedom of the sum of two variances of means. Without any variance the interval has no width,
/// whatever its degrees.
fn joint_degrees((one, other): (f64, f64), degrees: (f64, f64)) -> f64 {
    let joint = (one + other).powi(2) / (one * one / degrees.0 + other * other / degrees.1);
    if joint.is_finite() { joint } else { degrees.0.min(degrees.1) }
}

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
    use crate::random::{Random, Seed};

    #[test]
    fn the_interval_of_a_ratio_of_deviations_holds_the_truth_as_often_as_it_says() {
        let mut random = Random::new(Seed(4));
        let mut held = 0;
        for _ in 0..1_000 {
            let mut values = |deviation: f64, n: usize| -> Vec<f64> {
                (0..n).map(|_| 10.0 + deviation * random.normal()).collect()
            };
            // Another mean of a group is no deviation.
            let apart = values(1.0, 4).iter().map(|value| value + 50.0).collect();
            let ratio = deviations_ratio(&[values(3.0, 4)], &[values(1.0, 4), apart]).unwrap();
            let (low, high) = ratio.interval.unwrap();
            held += u32::from(low <= 3.0 && 3.0 <= high);
        }
        assert!((930..=970).contains(&held), "{held} of 1,000");
        assert_eq!(deviations_ratio(&[vec![1.0]], &[vec![1.0, 2.0]]), None);
        assert_eq!(deviations_ratio(&[vec![1.0, 2.0]], &[vec![1.0, 1.0]]), None);
        assert_eq!(deviations_ratio(&[vec![1.0, 1.0]], &[vec![1.0, 2.0]]), None);
    }

    #[test]
    fn what_has_no_logarithm_has_no_ratio() {
        assert_eq!(paired_ratio(&[]), None);
        assert_eq!(paired_ratio(&[(1.0, 0.0)]), None);
        assert_eq!(unpaired_ratio(&[1.0, -1.0], &[1.0]), None);
        assert_eq!(unpaired_ratio(&[1.0], &[]), None);
    }

    #[test]
    fn pairs_cancel_what_drifts() {
        let pairs: Vec<_> = (1..=10).map(f64::from).map(|drift| (1.1 * drift, drift)).collect();
        let paired = paired_ratio(&pairs).unwrap();
        assert!(paired.differs());
        assert!((paired.ratio - 1.1).abs() < 1e-12);
        let (a, b): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
        assert!(!unpaired_ratio(&a, &b).unwrap().differs());
    }

    #[test]
    fn the_interval_of_a_worked_example() {
        // Welch: se = sqrt(2.5 / 5 + 10 / 5), degrees = 2.5^2 / (0.25 / 4 + 4 / 4), t(0.975, 5.88) = 2.459.
        let one = Estimate::of(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        let other = Estimate::of(&[2.0, 4.0, 6.0, 8.0, 10.0]).unwrap();
        let found = difference(&one, &other, (4.0, 4.0));
        assert_eq!((found.n, found.mean), (5, -3.0));
        assert!((found.standard_error().unwrap() - 2.5_f64.sqrt()).abs() < 1e-12);
        assert!((found.low().unwrap() + 6.888).abs() < 2e-3, "{found:?}");
        assert!((found.high().unwrap() - 0.888).abs() < 2e-3, "{found:?}");
    }

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
