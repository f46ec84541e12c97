//! What cells say of an objective, and of rates at which no request was answered at all, which say nothing of what is carried where the
//! server did nothing meanwhile.

use crate::store::format::CellSummary;
use evenkeel_core::bounds::{Carried, Fate, Objective, RUNS_CURVE, Rate};
use evenkeel_core::caveat::threshold::RUNS_MIN_COUNT;
use evenkeel_core::caveat::{UNUSED_THETA_MAX, most_failed};

/// The rate up to which the 95th percentile stays below a time, and its upper bound in ms: of the rates that were
/// carried and have one, as all measured rates below, the highest that meets the objective; without an objective the knee, where the
/// throughput over the mean response time is the largest (Kleinrock, ICC 1979).
pub(super) fn p95(
    cells: &[CellSummary],
    series: usize,
    known: &Carried,
    objective_ms: Option<f64>,
) -> Option<(f64, f64)> {
    let seen_at = known.seen_at?;
    // Two runs do not show that a rate is carried; a higher rate that is carried does.
    let is_carried = |rate: f64| {
        let is_few = |own: &Rate| own.runs < RUNS_MIN_COUNT && rate < seen_at;
        let own = known.rates.iter().find(|own| own.rate == rate && rate <= seen_at);
        own.is_some_and(|own| own.fate == Fate::Carried || is_few(own))
    };
    let carried = |cell: &&CellSummary| {
        cell.series == series && is_carried(cell.rate_per_s) && cell.valid && !cell.lower_bound
    };
    let mut rising: Vec<&CellSummary> = cells.iter().filter(|cell| cell.series == series).collect();
    rising.sort_by(|one, other| one.rate_per_s.total_cmp(&other.rate_per_s));
    let mut slowest = 0.0;
    // "Up to" speaks of every measured rate below: the first without a bound ends it, unless it meets the objective in the mean. Lower
    // rates count by their means, since no server answers a lower load more slowly: their own bounds may be wider for want of runs.
    let meets = |cell: &CellSummary| meets_by_runs(cell, objective_ms.unwrap_or(f64::INFINITY));
    let bounded = rising.iter().map_while(|cell| {
        let high = cell.p95_ms.high.filter(|_| carried(cell));
        if high.is_none() && !meets(cell) {
            return None;
        }
        slowest = f64::max(slowest, cell.p95_ms.mean);
        let weight = objective_ms.map_or(cell.throughput_per_s.mean / cell.tau_ms.mean, |_| cell.rate_per_s);
        Some(high.map(|high| (weight, cell.rate_per_s, high.max(slowest))))
    });
    let bounded = bounded.flatten();
    let fits = bounded.filter(|(_, _, high)| objective_ms.is_none_or(|objective| *high <= objective));
    fits.max_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, rate, high)| (rate, high))
}

/// Whether p95 is within an objective in the mean of the runs, which may be too few to be sure.
pub(super) fn meets_by_runs(cell: &CellSummary, objective_ms: f64) -> bool {
    cell.valid && !cell.lower_bound && cell.p95_ms.n > 0 && cell.p95_ms.mean <= objective_ms
}

/// What the rates with enough runs for an upper bound say of the objective; `None` without one.
pub(super) fn objective(
    objective_ms: Option<f64>,
    cells: &[CellSummary],
    known: &Carried,
    series: usize,
) -> Option<Objective> {
    let wanted = objective_ms?;
    let rate = |cell: &CellSummary| {
        let own = known.rates.iter().find(|own| own.rate == cell.rate_per_s);
        own.filter(|own| own.runs >= RUNS_MIN_COUNT)
    };
    let own = cells.iter().filter(|cell| cell.series == series && rate(cell).is_some());
    let measured: Vec<CellSummary> = own.cloned().collect();
    let met = p95(&measured, series, known, Some(wanted)).map_or(0.0, |(rate, _)| rate);
    let is_open = |own: &Rate| own.fate == Fate::Carried && own.runs < RUNS_CURVE;
    let unsure = |cell: &CellSummary| rate(cell).is_some_and(is_open) && meets_by_runs(cell, wanted);
    let above = |is_unsure: bool| {
        let above = measured.iter().filter(move |cell| cell.rate_per_s > met && unsure(cell) == is_unsure);
        above.map(|cell| cell.rate_per_s)
    };
    let missed = above(false).fold(f64::INFINITY, f64::min);
    Some(Objective { met, unsure: above(true).filter(|rate| *rate < missed).reduce(f64::max), missed })
}

/// What is known where no request was answered at any rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unanswered {
    /// Requests that arrived.
    pub arrivals: u64,
    /// Utilisation of the server in percent at the rate at which it was used most; `None` where it was not seen.
    pub theta_percent: Option<f64>,
}

impl Unanswered {
    /// From all cells of a study or of a series; `None` where one request was answered, none arrived, or errors say why.
    pub fn of<'a>(cells: impl IntoIterator<Item = &'a CellSummary>) -> Option<Self> {
        let (mut arrivals, mut failed, mut theta_percent) = (0, 0, None::<f64>);
        for cell in cells {
            if cell.counts.completed > 0 {
                return None;
            }
            arrivals += cell.counts.arrivals;
            failed += cell.counts.failed.values().sum::<u64>();
            let theta = (cell.theta_percent.n > 0).then_some(cell.theta_percent.mean);
            theta_percent =
                theta.map_or(theta_percent, |theta| Some(theta_percent.unwrap_or(0.0).max(theta)));
        }
        (arrivals > 0 && !most_failed(failed, arrivals)).then_some(Self { arrivals, theta_percent })
    }

    /// Whether the server was seen to have nothing to do: then it is not overloaded, and no rate was too much for it.
    pub fn is_unused(&self) -> bool {
        self.theta_percent.is_some_and(|theta| theta < UNUSED_THETA_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::format::{CountsRecord, EstimateRecord};
    use evenkeel_core::bounds::{Answer, RunAt};
    use std::collections::BTreeMap;

    fn cell(completed: u64, timed_out: u64, failed: u64, theta: Option<f64>) -> CellSummary {
        let failed_by = BTreeMap::from([(1205, failed)]);
        let arrivals = completed + timed_out + failed;
        let theta_percent = EstimateRecord {
            mean: theta.unwrap_or(0.0),
            n: theta.iter().len() as u32,
            ..EstimateRecord::default()
        };
        let counts =
            CountsRecord { arrivals, completed, timed_out, failed: failed_by, ..CountsRecord::default() };
        CellSummary { counts, theta_percent, ..CellSummary::default() }
    }

    #[test]
    fn one_answer_or_errors_that_say_why_are_not_the_want_of_any_answer() {
        let of = |cells: &[CellSummary]| Unanswered::of(cells);
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[cell(1, 5, 0, None), cell(0, 5, 0, None)]), None);
        assert_eq!(of(&[cell(0, 1, 5, None)]), None);
        let both = of(&[cell(0, 9, 1, Some(2.0)), cell(0, 20, 0, Some(1.0))]);
        assert_eq!(both, Some(Unanswered { arrivals: 30, theta_percent: Some(2.0) }));
        assert!(both.is_some_and(|found| found.is_unused()));
        assert!(!of(&[cell(0, 9, 0, Some(97.0))]).unwrap().is_unused());
        assert!(!of(&[cell(0, 9, 0, None)]).unwrap().is_unused(), "nobody saw it");
    }

    #[test]
    fn an_objective_is_met_up_to_the_highest_rate_that_is_sure_of_it_where_lower_ones_meet_it_in_the_mean() {
        let settled = |rate: f64| RunAt {
            rate,
            seconds: 10.0,
            arrivals: (10.0 * rate) as u64,
            completed: (10.0 * rate) as u64,
            settled: Some(true),
            valid: true,
            ..RunAt::default()
        };
        let rates = [100.0, 200.0, 300.0, 400.0];
        let of = |runs: usize| {
            let runs: Vec<RunAt> = rates.into_iter().flat_map(|rate| vec![settled(rate); runs]).collect();
            Answer::of(&runs).carried
        };
        // Mean and upper end of p95 at each rate, ms.
        let found = |known: &Carried, times: [(f64, Option<f64>); 4]| {
            let cell = |(rate_per_s, (mean, high)): (f64, (f64, Option<f64>))| CellSummary {
                rate_per_s,
                valid: true,
                p95_ms: EstimateRecord { n: 3, mean, high, ..EstimateRecord::default() },
                ..CellSummary::default()
            };
            let cells: Vec<CellSummary> = rates.into_iter().zip(times).map(cell).collect();
            (p95(&cells, 0, known, Some(20.0)), objective(Some(20.0), &cells, known, 0).unwrap())
        };
        let times = [(9.0, Some(12.0)), (11.0, None), (12.0, Some(19.0)), (18.0, None)];
        let (met, next) = found(&of(3), times);
        assert_eq!(met, Some((300.0, 19.0)));
        assert_eq!(next, Objective { met: 300.0, unsure: Some(400.0), missed: f64::INFINITY });
        let (_, next) = found(&of(6), times);
        assert_eq!(next, Objective { met: 300.0, unsure: None, missed: 400.0 }, "six runs are enough");
        let (met, next) =
            found(&of(3), [(9.0, Some(12.0)), (31.0, None), (12.0, Some(19.0)), (30.0, Some(40.0))]);
        assert_eq!(met, Some((100.0, 12.0)), "a lower rate misses it");
        let mut few = of(3);
        few.rates[0] = Rate { runs: 2, fate: Fate::Undecided, ..few.rates[0].clone() };
        let wide = |high| [(9.0, Some(high)), (31.0, None), (32.0, None), (33.0, None)];
        assert_eq!(found(&few, wide(12.0)).0, Some((100.0, 12.0)), "two runs below a rate that is carried");
        few.seen_at = Some(100.0);
        assert_eq!(found(&few, wide(12.0)).0, None, "two runs at the highest rate");
        assert_eq!(next, Objective { met: 100.0, unsure: None, missed: 200.0 });
    }
}
