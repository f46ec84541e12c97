use super::Margin;
use super::difference::Difference;
use crate::statistics::{CONFIDENCE, normal_tail, standard_error_bound, student_quantile};

/// Confidence of the upper bound of the spread over runs by which further runs are counted: a few runs may agree by chance.
const SPREAD_CONFIDENCE: f64 = 0.7;

/// Share of cases in which as many runs as are asked for are to tell, if the spread is as large as its bound.
const POWER: f64 = 0.8;

/// The true difference is looked for within so many standard errors of the one that was found.
const LIKELY: f64 = 1.3;

/// The true differences that are tried, in parts of [`LIKELY`].
const TRIED: [f64; 5] = [-1.0, -0.5, 0.0, 0.5, 1.0];

/// More runs than these on a side are not counted: it is too many, whatever they are.
const RUNS_MAX: u64 = 10_000;

/// As many as tell whichever of the likely differences is the true one, by an interval of this risk that leaves out 1, or a 95 %
/// interval inside the margin.
pub(super) fn runs_more(found: &Difference, margin: Margin, risk: f64) -> Option<u64> {
    let spread = found.spread.as_ref()?;
    let bound = standard_error_bound(spread.error, spread.degrees, SPREAD_CONFIDENCE);
    let likely = TRIED.map(|part| found.mean.abs() + part * LIKELY * spread.error);
    let enough = |runs: u64| {
        let look = Look {
            // Of so many runs on each side the standard error falls by the root.
            error: bound * (found.runs as f64 / runs as f64).sqrt(),
            degrees: (2 * found.pairs) as f64 * (runs as f64 - 1.0),
            risk,
            margin: margin.log(),
        };
        likely.iter().all(|difference| look.tells(difference.abs()) >= POWER)
    };
    let (mut low, mut high) = (found.runs + 1, RUNS_MAX);
    if !bound.is_finite() || !enough(high) {
        return None;
    }
    while low < high {
        let middle = low.midpoint(high);
        if enough(middle) { high = middle } else { low = middle + 1 }
    }
    Some(low - found.runs)
}

struct Look {
    error: f64,
    degrees: f64,
    risk: f64,
    margin: f64,
}

impl Look {
    /// With which probability it tells a difference by the verdict that is likelier, be it *same* or that they differ.
    fn tells(&self, difference: f64) -> f64 {
        let above = |value: f64| normal_tail((value - difference) / self.error);
        let width = |risk: f64| student_quantile(1.0 - risk / 2.0, self.degrees) * self.error;
        let inside = self.margin - width(1.0 - CONFIDENCE);
        let same = if inside > 0.0 { above(-inside) - above(inside) } else { 0.0 };
        same.max(above(width(self.risk)))
    }
}
