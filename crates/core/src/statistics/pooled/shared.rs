//! The variance from run to run that the rates of a profile share.

use super::Overall;
use super::variance::Error;

impl Overall {
    /// Variance of the reciprocal from run to run; `None` where runs were too few or too short.
    fn run_variance(&self) -> Option<f64> {
        let error = self.standard_error.filter(|_| self.is_long_enough)?;
        Some(self.n as f64 * (error / self.value.powi(2)).powi(2))
    }
}

/// Bounds one figure, a response time, of several rates by the variance that all of them have together.
///
/// With the response `x_k` of rate `k` over `R_k` runs, its standard error `e_k` and the degrees of freedom `f_k`, a run has the
/// variance `v_k = R_k (e_k / x_k^2)^2` on the scale of the reciprocal. That is about the same at each rate: of M/M/1 queues
/// `1 / x = m - l`, so that a service rate `m` that sways from run to run sways it alike at each arrival rate `l`.
/// Its mean over rates, weighted by `f_k`, has `sum f_k` degrees, where three runs of one rate have two. Rates whose runs were too
/// short for an upper end neither take nor give.
pub fn share_variance(figures: &mut [&mut Overall]) {
    let (mut sum, mut degrees) = (0.0, 0.0);
    for figure in figures.iter() {
        if let Some(variance) = figure.run_variance() {
            sum += (figure.n - 1) as f64 * variance;
            degrees += (figure.n - 1) as f64;
        }
    }
    for figure in figures.iter_mut().filter(|figure| figure.run_variance().is_some()) {
        let relative = (sum / degrees / figure.n as f64).sqrt() * figure.value;
        figure.bounds = Error { relative, degrees }.on_reciprocal_scale(figure.value, true);
        figure.standard_error = Some(relative * figure.value);
        figure.degrees = degrees;
    }
}
