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
/// With the response `x_k` of rate `k` over `R_k` runs and its standard error `e_k`, a run has the
/// variance `v_k = R_k (e_k / x_k^2)^2` on the scale of the reciprocal. That is about the same at each rate: of M/M/1 queues
/// `1 / x = m - l`, so that a service rate `m` that sways from run to run sways it alike at each arrival rate `l`.
/// Its mean over rates, weighted by `R_k - 1`, has `sum (R_k - 1)` degrees. Rates whose runs were too short for an upper end neither
/// take nor give, and a single rate keeps what its own runs and batches say.
pub fn share_variance(figures: &mut [&mut Overall]) {
    let of_rate = |figure: &&mut Overall| Some(((figure.n - 1) as f64, figure.run_variance()?));
    let rates: Vec<(f64, f64)> = figures.iter().filter_map(of_rate).collect();
    if rates.len() < 2 {
        return;
    }
    let degrees: f64 = rates.iter().map(|(degrees, _)| degrees).sum();
    let sum: f64 = rates.iter().map(|(degrees, variance)| degrees * variance).sum();
    for figure in figures.iter_mut().filter(|figure| figure.run_variance().is_some()) {
        let relative = (sum / degrees / figure.n as f64).sqrt() * figure.value;
        figure.bounds = Error { relative, degrees }.on_reciprocal_scale(figure.value, true);
        figure.standard_error = Some(relative * figure.value);
        figure.degrees = degrees;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::pooled::Bounds;

    fn figure(value: f64, error: f64) -> Overall {
        let standard_error = Some(error);
        Overall { value, n: 3, bounds: Bounds::None, standard_error, degrees: 4.0, is_long_enough: true }
    }

    #[test]
    fn two_rates_have_the_mean_variance_of_both_and_a_single_one_keeps_its_own() {
        // Reciprocals 1 and 1/2 with errors of 0.1 and 0.2: both get the root of 0.025, with four degrees.
        let (mut one, mut other) = (figure(1.0, 0.1), figure(2.0, 0.8));
        let mut short = Overall { is_long_enough: false, ..figure(9.0, 5.0) };
        let before = short;
        share_variance(&mut [&mut one, &mut other, &mut short]);
        assert!((one.standard_error.unwrap() - 0.025_f64.sqrt()).abs() < 1e-12 && one.degrees == 4.0);
        assert!((other.standard_error.unwrap() - 4.0 * 0.025_f64.sqrt()).abs() < 1e-12);
        assert_eq!(short, before);
        let mut alone = figure(1.0, 0.1);
        share_variance(&mut [&mut alone, &mut short]);
        assert_eq!(alone, figure(1.0, 0.1));
    }
}
