use super::variance::{Error, error};
use super::{Bounds, Figure, Pooled};

/// Between these times the odds of being above a percentile the slope of the distribution there is measured.
const ODDS: f64 = 2.0;

/// Fewest independent excursions above a percentile that bound it from below. Of M/M/1 queues at loads of 0.2 to 0.9 the
/// bounds of p50 to p99.9 then held in 98 %, at half as many in 95 %.
const EXCURSIONS_BOUND: f64 = 2.0;

/// Fewest of an interval with two ends up to [`MODERATE`]: they held in 97 %.
const EXCURSIONS_MODERATE: f64 = 4.0;

/// Percentile up to which the above is enough.
const MODERATE: f64 = 0.95;

/// Fewest beyond: there intervals on fewer held in 91 %, and on these in 94 %.
const EXCURSIONS_HIGH: f64 = 16.0;

impl Pooled<'_> {
    /// The response time in ns that this share of all requests of all runs does not exceed, 0.95 for p95, in the open
    /// interval from 0 to 1.
    ///
    /// How far it is off follows from how far the share of requests above it is off in runs and batches, times the slope
    /// of the distribution: a quantile moves by `dx = dp / f(x)`, with the density `f` (David and Nagaraja, Order
    /// Statistics, 3rd ed., chapter 10). Where the runs are too short for that, its lower bound is that of the highest
    /// percentile which they do bound, as no percentile is below a lower one.
    pub fn percentile(&self, quantile: f64) -> Option<Figure> {
        let value = self.spectrum.quantile(quantile)?;
        let error = self.percentile_error(quantile, value);
        let excursions = self.independent() * (1.0 - quantile);
        let bounds = match error {
            None => Bounds::None,
            Some(error) if excursions >= EXCURSIONS_BOUND => {
                let enough = if quantile <= MODERATE { EXCURSIONS_MODERATE } else { EXCURSIONS_HIGH };
                error.on_reciprocal_scale(value, self.is_long_enough() && excursions >= enough)
            }
            Some(_) => self.bound_of_lower(),
        };
        Some(Figure::new(value, self.runs.len(), error, bounds))
    }

    /// The lower bound of the highest percentile that has one by itself.
    fn bound_of_lower(&self) -> Bounds {
        let quantile = 1.0 - EXCURSIONS_BOUND / self.independent();
        let value = self.spectrum.quantile(quantile).filter(|_| quantile > 0.0);
        let error = value.and_then(|value| Some((value, self.percentile_error(quantile, value)?)));
        error.map_or(Bounds::None, |(value, error)| error.on_reciprocal_scale(value, false))
    }

    /// Independent looks at the queue: one in a relaxation time, and no more than requests.
    fn independent(&self) -> f64 {
        (self.relaxations * self.runs.len() as f64).min(self.spectrum.count() as f64)
    }

    fn percentile_error(&self, quantile: f64, value: f64) -> Option<Error> {
        let parts = self.parts(|batch| (batch.spectrum.above(value), batch.spectrum.count() as f64));
        let (error, slope) = (error(&parts)?, self.slope(quantile)?);
        Some(Error { relative: error.relative * slope, ..error })
    }

    /// By how much the logarithm of the percentile rises as that of the share above it falls.
    fn slope(&self, quantile: f64) -> Option<f64> {
        let odds = (1.0 - quantile) / quantile;
        let at = |odds: f64| self.spectrum.quantile(1.0 / (1.0 + odds));
        let (low, high) = (at(odds * ODDS)?, at(odds / ODDS)?);
        let slope = (high / low).ln() / (2.0 * ODDS.ln());
        // ln(odds) rises by 1 / quantile where the logarithm of the share rises by 1.
        Some(slope / quantile).filter(|slope| slope.is_finite() && *slope >= 0.0)
    }
}
