use std::iter::zip;

/// Fewest batches of a run that say something about its requests.
const BATCHES_MIN: usize = 3;
/// Strongest lag-1 correlation of batches that is corrected for; runs with a stronger one are much too short for any.
const CORRELATION_MAX: f64 = 0.9;

/// What requests make of a run's mean, over all runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Requests {
    /// The variance `v` for which a run's mean of `n` requests has the variance `v / n`. Of requests that depend on one another,
    /// as those in a queue, it is many times that of a single request.
    pub variance: f64,
    pub degrees: f64,
}

impl Requests {
    /// From the number of requests and the sum of their response times in each batch of each run; `None` where a run has fewer
    /// than three batches with requests.
    ///
    /// With the residuals `d = sum - mean n` of `b` batches about the mean of their run, `v = b / (b - 1) sum d^2 / sum n` over runs
    /// (Cochran, Sampling Techniques, 3rd ed., chapter 6), times `(1 + r) / (1 - r)` for the lag-1 correlation `r` of the residuals
    /// (Bartlett, J. R. Stat. Soc. 98 (1935) 536), which is raised by what one about an estimated mean is too low (Marriott and
    /// Pope, Biometrika 41 (1954) 390). Batches are neither equally long nor normal, so both errors are those that the residuals
    /// themselves show: `q = sum d^4 / (sum d^2)^2` less `1 / B` of `B` batches is the relative variance of the sum, and
    /// `sum (d d')^2 / (sum d^2)^2` over neighbours is the variance of `r`, which moves `v` by `2 / (1 - r^2)` times as much.
    pub fn of(runs: &[&[(f64, f64)]]) -> Option<Self> {
        let (mut variance, mut requests, mut batches) = (0.0, 0.0, 0.0);
        let (mut squares, mut fourths, mut neighbours, mut pairs) = (0.0, 0.0, 0.0, 0.0);
        for run in runs {
            let run: Vec<(f64, f64)> = run.iter().copied().filter(|(count, _)| *count > 0.0).collect();
            if run.len() < BATCHES_MIN {
                return None;
            }
            let (count, sum) = run.iter().fold((0.0, 0.0), |all, batch| (all.0 + batch.0, all.1 + batch.1));
            let residuals: Vec<f64> = run.iter().map(|batch| batch.1 - sum / count * batch.0).collect();
            let own: f64 = residuals.iter().map(|d| d * d).sum();
            let size = run.len() as f64;
            variance += own * size / (size - 1.0);
            requests += count;
            squares += own;
            fourths += residuals.iter().map(|d| d.powi(4)).sum::<f64>();
            let products = zip(&residuals, &residuals[1..]).map(|(one, next)| one * next);
            pairs += products.clone().map(|product| product * product).sum::<f64>();
            neighbours += products.sum::<f64>();
            batches += size;
        }
        let count = runs.len() as f64;
        let r = if squares > 0.0 { neighbours / squares } else { 0.0 };
        let r = (r + (1.0 + 3.0 * r) * count / batches).clamp(-CORRELATION_MAX, CORRELATION_MAX);
        let spread =
            (fourths / (squares * squares) - 1.0 / batches).max(2.0 / batches) * batches / (batches - count);
        let relative = spread + pairs / (squares * squares) * (2.0 / (1.0 - r * r)).powi(2);
        // Without any variation nothing is uncertain.
        let relative = if squares > 0.0 { relative } else { 2.0 / batches };
        let variance = variance / requests * (1.0 + r) / (1.0 - r);
        (variance.is_finite() && requests > 0.0).then_some(Self { variance, degrees: 2.0 / relative })
    }
}
