//! What the model errs by: smoothly along the rates, so that it is known near a measured rate, and unknown far from all.
//!
//! The error of the logarithm is a Gaussian process over the logarithm of the rate, and the level a constant with a flat prior
//! (Kennedy and O'Hagan, J. Royal Statistical Society B 63 (2001) 425; Rasmussen and Williams, Gaussian Processes for Machine Learning,
//! 2006, section 2.7).

/// Logarithm of the factor between rates from which on they say little of one another's error.
const REACH: f64 = 0.7;

/// Level and errors, as the points have them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fit {
    rates: Vec<f64>,
    /// Lower triangle `L` of the covariance `L L'` of the points.
    root: Vec<Vec<f64>>,
    level: f64,
    /// `1' K^-1 1`, the inverse variance of the level.
    weight: f64,
    /// `L^-1 1`, and `L^-1` of what the points are off the level.
    ones: Vec<f64>,
    off: Vec<f64>,
    /// Logarithm of the likelihood of the points, but for a constant.
    pub(super) likelihood: f64,
}

impl Fit {
    /// Of what points are off a model without level, with the variance of each and the deviation of the error; `None` where one is no number.
    pub(super) fn of(rates: Vec<f64>, off: Vec<f64>, noise: Vec<f64>, error: f64) -> Option<Self> {
        let covariance = |i: usize, j: usize| {
            error.powi(2) * near(rates[i], rates[j]) + if i == j { noise[i] } else { 0.0 }
        };
        let root = cholesky(rates.len(), covariance)?;
        let ones = forward(&root, &vec![1.0; rates.len()]);
        let off = forward(&root, &off);
        let weight = dot(&ones, &ones);
        let level = dot(&ones, &off) / weight;
        let off: Vec<f64> = off.iter().zip(&ones).map(|(off, one)| off - level * one).collect();
        let size: f64 = root.iter().enumerate().map(|(i, row)| row[i].ln()).sum();
        let likelihood = -size - 0.5 * (weight.ln() + dot(&off, &off));
        likelihood.is_finite().then_some(Self { rates, root, level, weight, ones, off, likelihood })
    }

    /// Level with the error at a rate, and the variance of both.
    pub(super) fn at(&self, error: f64, rate: f64) -> (f64, f64) {
        let shared: Vec<f64> = self.rates.iter().map(|own| error.powi(2) * near(*own, rate)).collect();
        let shared = forward(&self.root, &shared);
        let unknown = 1.0 - dot(&self.ones, &shared);
        let variance = error.powi(2) - dot(&shared, &shared) + unknown.powi(2) / self.weight;
        (self.level + dot(&shared, &self.off), variance.max(0.0))
    }
}

/// Correlation of the errors at two rates: Matern of order 3/2.
fn near(one: f64, other: f64) -> f64 {
    let apart = 3.0_f64.sqrt() * (one / other).ln().abs() / REACH;
    (1.0 + apart) * (-apart).exp()
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(a, b)| a * b).sum()
}

/// `L` with `L L' = K`; `None` where `K` is not positive definite.
fn cholesky(n: usize, k: impl Fn(usize, usize) -> f64) -> Option<Vec<Vec<f64>>> {
    let mut root: Vec<Vec<f64>> = Vec::with_capacity(n);
    for i in 0..n {
        let mut row: Vec<f64> = Vec::with_capacity(i + 1);
        for j in 0..i {
            let rest = k(i, j) - dot(&row, &root[j][..j]);
            row.push(rest / root[j][j]);
        }
        let rest = k(i, i) - dot(&row, &row);
        (rest > 0.0).then(|| row.push(rest.sqrt()))?;
        root.push(row);
    }
    Some(root)
}

/// `L^-1 b`.
fn forward(root: &[Vec<f64>], b: &[f64]) -> Vec<f64> {
    let mut found: Vec<f64> = Vec::with_capacity(b.len());
    for (row, b) in root.iter().zip(b) {
        let done = dot(&row[..found.len()], &found);
        found.push((b - done) / row[found.len()]);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_known_at_a_point_half_known_between_two_and_unknown_far_away() {
        let fit = Fit::of(vec![100.0, 200.0], vec![0.0, 0.2], vec![1e-6; 2], 0.1).unwrap();
        let [at, between, far] = [200.0, 141.4, 1e6].map(|rate| fit.at(0.1, rate));
        assert!((at.0 - 0.2).abs() < 1e-3 && at.1 < 1e-4, "{at:?}");
        assert!((between.0 - 0.1).abs() < 1e-2 && between.1 < 0.01 && between.1 > at.1, "{between:?}");
        assert!((far.0 - 0.1).abs() < 1e-2 && far.1 > 0.01, "{far:?}");
    }

    #[test]
    fn a_point_that_is_no_number_fits_nothing() {
        assert!(Fit::of(vec![1.0, 2.0], vec![0.0, f64::NEG_INFINITY], vec![0.1; 2], 0.1).is_none());
    }
}
