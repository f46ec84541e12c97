//! What a larger buffer pool saves: tau of the smallest one less that of each other, at each rate that both were measured at.

use super::cells::to_core;
use super::figures::estimate_record;
use crate::store::format::{CellSummary, EstimateRecord, PlanFile, SeriesRecord, SummaryFile};
use evenkeel_core::statistics::difference;

/// One pool against the smallest, at one rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Reduction {
    /// Index of the series with the larger pool.
    pub series: usize,
    pub smallest: usize,
    /// Arrivals per second.
    pub rate_per_s: f64,
    /// How much less its tau is, ms, with the interval of the difference; below zero where it is more.
    pub less_ms: EstimateRecord,
    /// The same in percent of the smallest pool's tau.
    pub percent: f64,
    /// Whether it is less by so much at least, since the tau of the smallest pool is a lower bound itself.
    pub at_least: bool,
}

/// All of them, by series and rate; none where the buffer pool is no factor.
pub fn reductions(plan: &PlanFile, summary: &SummaryFile) -> Vec<Reduction> {
    of(&plan.series, &summary.cells)
}

fn of(all_series: &[SeriesRecord], cells: &[CellSummary]) -> Vec<Reduction> {
    let mut all = Vec::new();
    for (series, record) in all_series.iter().enumerate() {
        let Some(smallest) = smallest_of(all_series, record).filter(|smallest| *smallest != series) else {
            continue;
        };
        let measured = |wanted: usize| cells.iter().filter(move |cell| cell.series == wanted);
        for cell in measured(series) {
            let beside = measured(smallest).find(|other| other.rate_per_s == cell.rate_per_s);
            all.extend(beside.and_then(|beside| reduction(cell, beside)));
        }
    }
    all.sort_by(|one, other| {
        (one.series, one.rate_per_s)
            .partial_cmp(&(other.series, other.rate_per_s))
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    all
}

/// The series with the smallest pool of those that differ from this one in nothing else.
fn smallest_of(all_series: &[SeriesRecord], own: &SeriesRecord) -> Option<usize> {
    own.pool_bytes?;
    let others = all_series.iter().enumerate().filter(|(_, other)| is_same_but_pool(own, other));
    let sized = others.filter_map(|(series, other)| Some((other.pool_bytes?, series)));
    sized.min().map(|(_, series)| series)
}

fn is_same_but_pool(one: &SeriesRecord, other: &SeriesRecord) -> bool {
    let key = |series: &SeriesRecord| {
        (series.target, series.workload.clone(), series.layout, series.levels.clone())
    };
    key(one) == key(other)
}

/// Nothing where the larger pool's own tau is a lower bound, which may lie anywhere above.
fn reduction(cell: &CellSummary, beside: &CellSummary) -> Option<Reduction> {
    let (own, smallest) = (to_core(&cell.tau_ms)?, to_core(&beside.tau_ms)?);
    if cell.lower_bound {
        return None;
    }
    let degrees = |tau: &EstimateRecord| tau.degrees.unwrap_or(f64::from(tau.n) - 1.0);
    let less = difference(&smallest, &own, (degrees(&beside.tau_ms), degrees(&cell.tau_ms)));
    let mut less_ms = estimate_record(&less);
    if beside.lower_bound {
        less_ms.high = None;
    }
    Some(Reduction {
        series: cell.series,
        smallest: beside.series,
        rate_per_s: cell.rate_per_s,
        percent: 100.0 * less.mean / smallest.mean,
        less_ms,
        at_least: beside.lower_bound,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::format::LayoutRecord;

    fn series(pool_mib: Option<u64>, layout: LayoutRecord) -> SeriesRecord {
        let pool_bytes = pool_mib.map(|mib| mib << 20);
        SeriesRecord { pool_bytes, layout, ..crate::compare::tests::plan("p").series.remove(0) }
    }

    fn cell(series: usize, rate_per_s: f64, tau: f64) -> CellSummary {
        let tau_ms = EstimateRecord {
            n: 3,
            mean: tau,
            se: Some(0.3),
            low: Some(tau - 1.0),
            high: Some(tau + 1.0),
            degrees: Some(2.0),
        };
        CellSummary { series, rate_per_s, tau_ms, ..CellSummary::default() }
    }

    #[test]
    fn each_pool_is_held_against_the_smallest_with_the_interval_of_the_difference() {
        let pools = [Some(40), Some(20), Some(60)].map(|mib| series(mib, LayoutRecord::Load));
        let cells = vec![cell(0, 10.0, 6.0), cell(1, 10.0, 8.0), cell(2, 10.0, 2.0), cell(2, 20.0, 2.0)];
        let found = of(&pools, &cells);
        let told: Vec<(usize, usize, f64, f64)> =
            found.iter().map(|one| (one.series, one.smallest, one.less_ms.mean, one.percent)).collect();
        assert_eq!(told, [(0, 1, 2.0, 25.0), (2, 1, 6.0, 75.0)], "20/s was not measured with the smallest");
        let (low, high) = (found[0].less_ms.low.unwrap(), found[0].less_ms.high.unwrap());
        assert!((low - (2.0 - 1.178)).abs() < 2e-3 && (high - 3.178).abs() < 2e-3, "{low} {high}");
    }

    #[test]
    fn what_differs_in_more_than_the_pool_is_not_compared_and_a_pool_alone_neither() {
        let two = vec![series(Some(20), LayoutRecord::Load), series(Some(40), LayoutRecord::Dump)];
        assert!(of(&two, &[cell(0, 10.0, 8.0), cell(1, 10.0, 6.0)]).is_empty());
        let none = vec![series(None, LayoutRecord::Load), series(None, LayoutRecord::Load)];
        assert!(of(&none, &[cell(0, 10.0, 8.0), cell(1, 10.0, 6.0)]).is_empty());
    }

    #[test]
    fn an_overloaded_smallest_pool_gives_a_lower_bound_and_an_overloaded_larger_one_nothing() {
        let pools = [Some(20), Some(40)].map(|mib| series(mib, LayoutRecord::Load));
        let bound = |cell: CellSummary| CellSummary { lower_bound: true, ..cell };
        let small = of(&pools, &[bound(cell(0, 10.0, 800.0)), cell(1, 10.0, 6.0)]);
        assert!(small[0].at_least && small[0].less_ms.high.is_none() && small[0].less_ms.low.is_some());
        assert!(of(&pools, &[cell(0, 10.0, 8.0), bound(cell(1, 10.0, 6.0))]).is_empty());
    }
}
