//! Whether arrivals are as random as they claim to be.
//!
//! Each test returns a p-value: the probability of a statistic at least as extreme if the claim holds. Over
//! many seeds, p-values of a true claim are uniform between 0 and 1.

use evenkeel_core::statistics::{Sample, chi_square_tail, normal_tail};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Test {
    pub statistic: f64,
    /// Probability of one at least as extreme if the claim holds.
    pub p_value: f64,
}

/// Kolmogorov-Smirnov: do the values follow the continuous distribution with this distribution function?
/// All its parameters must be known beforehand, not fitted to the values. Sorts the values.
///
/// `D`, the largest distance between the empirical and the claimed distribution function, is compared with
/// the asymptotic distribution of Kolmogorov, `p = 2 sum over j >= 1 of (-1)^(j-1) exp(-2 j^2 x^2)`, at
/// `x = D (sqrt(n) + 0.12 + 0.11 / sqrt(n))`, which is good from n = 5 on (Stephens, J. R. Stat. Soc. B 32
/// (1970) 115). Without values the p-value is 1.
pub fn kolmogorov_smirnov(values: &mut [f64], distribution: impl Fn(f64) -> f64) -> Test {
    values.sort_unstable_by(f64::total_cmp);
    let n = values.len() as f64;
    let distance = |(index, &value): (usize, &f64)| {
        let (claimed, below) = (distribution(value), index as f64);
        (claimed - below / n).max((below + 1.0) / n - claimed)
    };
    let statistic = values.iter().enumerate().map(distance).fold(0.0, f64::max);
    let root = n.sqrt();
    let p_value =
        if values.is_empty() { 1.0 } else { kolmogorov_tail(statistic * (root + 0.12 + 0.11 / root)) };
    Test { statistic, p_value }
}

/// Kolmogorov-Smirnov of gaps between arrivals against the exponential distribution with the *known* rate:
/// `F(x) = 1 - exp(-rate x)`. Gaps in seconds for a rate per second. Sorts the gaps.
pub fn kolmogorov_smirnov_exponential(gaps: &mut [f64], rate: f64) -> Test {
    kolmogorov_smirnov(gaps, |gap| -(-rate * gap).exp_m1())
}

/// Probability that the statistic of Kolmogorov is above `x`.
fn kolmogorov_tail(x: f64) -> f64 {
    // Below 0.2 the series converges slowly and its value is 1 to twelve digits.
    if x < 0.2 {
        return 1.0;
    }
    let sum: f64 = (1..=40)
        .map(|j| {
            let j = f64::from(j);
            let term = (-2.0 * j * j * x * x).exp();
            if j % 2.0 == 1.0 { term } else { -term }
        })
        .sum();
    (2.0 * sum).clamp(0.0, 1.0)
}

/// Index of dispersion: are counts in equal intervals those of a Poisson process? The statistic is
/// variance / mean, 1 for Poisson, 0 for constant arrivals, more for bursts.
///
/// `(n - 1)` times it is nearly chi-square with `n - 1` degrees of freedom where the mean count is five or
/// more; two-sided (Cox and Lewis, The Statistical Analysis of Series of Events, 1966, chapter 6).
/// Fewer than two counts, or none above zero, give a p-value of 1.
pub fn index_of_dispersion(counts: &[u64]) -> Test {
    let sample: Sample = counts.iter().map(|&count| count as f64).collect();
    let (Some(mean), Some(variance)) = (sample.mean(), sample.variance()) else {
        return Test { statistic: 1.0, p_value: 1.0 };
    };
    if mean == 0.0 {
        return Test { statistic: 1.0, p_value: 1.0 };
    }
    let (statistic, degrees) = (variance / mean, (counts.len() - 1) as f64);
    let above = chi_square_tail(degrees * statistic, degrees);
    Test { statistic, p_value: (2.0 * above.min(1.0 - above)).min(1.0) }
}

/// Lag-1 correlation: does a value depend on the one before it? The statistic is
/// `r = sum (x_i - m)(x_i+1 - m) / sum (x_i - m)^2`.
///
/// For independent values, `r` is nearly normal with mean `-1/n` and variance `1/n` (Kendall and Stuart,
/// The Advanced Theory of Statistics, vol. 3, chapter 48); two-sided. Fewer than three values, or values
/// without any variation, give a p-value of 1.
pub fn lag1_correlation(values: &[f64]) -> Test {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    if values.len() < 3 || squares == 0.0 {
        return Test { statistic: 0.0, p_value: 1.0 };
    }
    let products: f64 = values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    let statistic = products / squares;
    let z = (statistic + 1.0 / n) * n.sqrt();
    Test { statistic, p_value: 2.0 * normal_tail(z.abs()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_core::arrivals::{Arrivals, Poisson};
    use evenkeel_core::random::Seed;

    #[test]
    fn the_distribution_of_kolmogorov_agrees_with_the_published_table() {
        let cases = [
            (0.5, 0.9639452437),
            (0.8276, 0.4999584166),
            (1.2238, 0.1000234278),
            (1.3581, 0.04999963043),
            (1.6276, 0.01000153733),
            (1.9495, 0.000999801979),
        ];
        for (x, p) in cases {
            assert!((kolmogorov_tail(x) - p).abs() < 1e-9, "{x}");
        }
    }

    #[test]
    fn poisson_arrivals_are_rejected_as_often_as_they_should_be() {
        let (mut shaped, mut dispersed, mut correlated) = (0, 0, 0);
        for seed in 0..2_000 {
            let mut poisson = Poisson::new(20.0, Seed(seed)).unwrap();
            let instants: Vec<f64> =
                (0..1_000).map(|_| poisson.next_arrival().unwrap().as_secs_f64()).collect();
            let mut counts = [0_u64; 40];
            for second in instants.iter().map(|&instant| instant as usize).filter(|&second| second < 40) {
                counts[second] += 1;
            }
            let mut gaps: Vec<f64> = instants.windows(2).map(|pair| pair[1] - pair[0]).collect();
            dispersed += u32::from(index_of_dispersion(&counts).p_value < 0.05);
            correlated += u32::from(lag1_correlation(&gaps).p_value < 0.05);
            shaped += u32::from(kolmogorov_smirnov_exponential(&mut gaps, 20.0).p_value < 0.05);
        }
        assert!((60..=140).contains(&shaped), "{shaped}");
        assert!((60..=140).contains(&dispersed), "{dispersed}");
        assert!((60..=140).contains(&correlated), "{correlated}");
    }
}
