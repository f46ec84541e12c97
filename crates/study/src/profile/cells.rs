//! Cells over their runs.

use super::figures::estimate;
use super::pooled::{CellRuns, Times, record};
use super::{answer, server};
use crate::harness::kinds;
use crate::store::format::{
    AttemptRecord, Caveat, CellRecord, CellSummary, CountsRecord, EstimateRecord, PlanFile, RunFile,
    Severity, TimesRecord, UndisturbedRecord, Verdict,
};
use crate::store::run_name;
use evenkeel_core::disturbance::Disturbance;
use evenkeel_core::statistics::pooled::{Overall, relaxation_by, share_variance};

/// Every cell that has a run, in the order of series and rate.
pub fn summarise(plan: &PlanFile, runs: &[RunFile]) -> Vec<CellSummary> {
    let mut cells: Vec<&CellRecord> = plan.cells.iter().collect();
    cells.sort_by(|a, b| {
        (a.series, a.rate_per_s).partial_cmp(&(b.series, b.rate_per_s)).unwrap_or(a.id.cmp(&b.id))
    });
    let mut all: Vec<OfCell<'_>> =
        cells.into_iter().filter_map(|cell| OfCell::new(cell, runs, memory(plan, runs, cell))).collect();
    for series in 0..plan.series.len() {
        share_variances(all.iter_mut().filter(|cell| cell.cell.series == series).collect());
    }
    let mut summaries: Vec<CellSummary> = all.iter().map(OfCell::summary).collect();
    add_spreads(plan, &mut summaries);
    summaries
}

/// Gives response times of rates without a growing queue the variance from run to run that they share.
fn share_variances(mut cells: Vec<&mut OfCell<'_>>) {
    cells.retain(|cell| !matches!(stability(&cell.runs), Verdict::Unstable | Verdict::Mixed));
    for place in 0..Times::default().len() {
        let mut figures: Vec<_> = cells.iter_mut().filter_map(|cell| cell.times[place].as_mut()).collect();
        share_variance(&mut figures);
    }
}

/// Relaxation time in seconds at the rate of a cell, by what other runs tell of the saturation; `None` where they tell nothing.
fn memory(plan: &PlanFile, runs: &[RunFile], cell: &CellRecord) -> Option<f64> {
    let saturation = answer::saturation_elsewhere(plan, runs, cell)?;
    Some(relaxation_by(saturation, cell.rate_per_s))
}

/// A cell and its runs.
struct OfCell<'a> {
    cell: &'a CellRecord,
    all: Vec<&'a RunFile>,
    /// Those that speak about the server.
    runs: Vec<&'a RunFile>,
    times: Times,
    throughput: Option<EstimateRecord>,
}

impl<'a> OfCell<'a> {
    fn new(cell: &'a CellRecord, runs: &'a [RunFile], memory: Option<f64>) -> Option<Self> {
        let all: Vec<&RunFile> = runs.iter().filter(|run| run.cell == cell.id).collect();
        if all.is_empty() {
            return None;
        }
        let runs = standing(&all);
        let pooled = CellRuns::of(&runs, memory);
        let times = pooled.as_ref().map(CellRuns::times).unwrap_or_default();
        Some(Self { cell, all, runs, times, throughput: pooled.as_ref().and_then(CellRuns::throughput) })
    }

    fn summary(&self) -> CellSummary {
        let (cell, all, runs) = (self.cell, &self.all, &self.runs);
        // A run without a single answer has no response time, least of all zero.
        let answered = |time: fn(&TimesRecord) -> f64| {
            estimate(&runs.iter().filter_map(|run| run.response.measured().map(time)).collect::<Vec<_>>())
        };
        let some = |value: fn(&RunFile) -> Option<f64>| {
            estimate(&runs.iter().filter_map(|run| value(run)).collect::<Vec<_>>())
        };
        let [tau, p50, p90, p95, p99, p999] = self.times;
        let time_ms = |pooled: Option<Overall>, of_run: fn(&TimesRecord) -> f64| {
            pooled.map_or_else(|| answered(of_run), |figure| record(&figure.scaled(1e-6)))
        };
        let mut counts = CountsRecord::default();
        all.iter().for_each(|run| counts.add(&run.counts));
        let pool_reads = some(|run| server::server_measures(run).get("pool_reads_per_request").copied());
        let mut caveats = caveats(runs);
        caveats.extend(left_out(all, runs));
        let mut summary = CellSummary {
            cell: cell.id,
            series: cell.series,
            rate_per_s: cell.rate_per_s,
            runs: u32::try_from(all.len()).unwrap_or(u32::MAX),
            attempts_set_aside: u32::try_from(set_aside(all).len()).unwrap_or(u32::MAX),
            stability: stability(runs),
            lower_bound: runs.iter().any(|run| run.lower_bound),
            tau_ms: time_ms(tau, |times| times.mean_ms),
            p50_ms: time_ms(p50, |times| times.p50_ms),
            p90_ms: time_ms(p90, |times| times.p90_ms),
            p95_ms: time_ms(p95, |times| times.p95_ms),
            p99_ms: time_ms(p99, |times| times.p99_ms),
            p999_ms: time_ms(p999, |times| times.p999_ms),
            throughput_per_s: self
                .throughput
                .clone()
                .unwrap_or_else(|| some(|run| Some(run.throughput_per_s))),
            theta_percent: some(|run| run.theta.as_ref().map(|theta| theta.total_percent)),
            lag_p99_ms: some(|run| Some(run.lag.measured()?.p99_ms)),
            session_wait_ms: some(|run| run.session_wait.mean_over_ms(run.counts.arrivals)),
            pool_reads_per_request: (pool_reads.n > 0).then_some(pool_reads),
            mu_ms: some(|run| run.mu_ms.as_ref().map(|delay| delay.mean)),
            server: server::over_runs(runs),
            target_spread_ms: None,
            counts,
            valid: caveats.iter().all(|caveat| caveat.severity != Severity::Invalid),
            caveats,
            probe_wait_ms: some(|run| run.probe_wait_ms.as_ref().map(|wait| wait.mean)),
            undisturbed: undisturbed(runs),
        };
        raise_bounds(&mut summary);
        summary
    }
}

/// Raises a lower bound of a percentile that lies below the lower end of a lower percentile: no percentile is below that one.
fn raise_bounds(cell: &mut CellSummary) {
    let mut least = f64::NEG_INFINITY;
    for figure in [&mut cell.p50_ms, &mut cell.p90_ms, &mut cell.p95_ms, &mut cell.p99_ms, &mut cell.p999_ms]
    {
        if let Some(low) = figure.at_least() {
            figure.low = Some(low.max(least));
        }
        least = figure.low.filter(|low| low.is_finite()).map_or(least, |low| low.max(least));
    }
}

/// The runs that speak about the server: those in which the generator did not fail. Where it failed in all of them, all, and the
/// cell is not valid.
pub fn standing<'a>(runs: &[&'a RunFile]) -> Vec<&'a RunFile> {
    let some: Vec<&RunFile> = runs.iter().filter(|run| stands(run)).copied().collect();
    if some.is_empty() { runs.to_vec() } else { some }
}

/// Whether a run speaks about the server, because its generator did not fail.
pub fn stands(run: &RunFile) -> bool {
    run.caveats.iter().all(|caveat| caveat.severity != Severity::Invalid)
}

fn left_out(all: &[&RunFile], standing: &[&RunFile]) -> Option<Caveat> {
    let is_left = |run: &&&RunFile| !standing.iter().any(|other| other.repeat == run.repeat);
    let runs: Vec<String> = all.iter().filter(is_left).map(|run| run_name(run.cell, run.repeat)).collect();
    Caveat::runs_left_out(&runs, all.len())
}

/// What the runs brought while nobody disturbed them; a run whose neighbours nobody saw covers nothing.
fn undisturbed(runs: &[&RunFile]) -> Option<UndisturbedRecord> {
    let taus: Vec<f64> = runs.iter().filter_map(|run| run.neighbours.as_ref()?.clear_tau_ms).collect();
    let clear_s: f64 = runs.iter().filter_map(|run| Some(run.neighbours.as_ref()?.clear_s)).sum();
    let measured_s: f64 = runs.iter().map(|run| run.measured_s).sum();
    let coverage_percent = (100.0 * clear_s / measured_s).clamp(0.0, 100.0);
    (!taus.is_empty() && coverage_percent > 0.0)
        .then(|| UndisturbedRecord { tau_ms: estimate(&taus), coverage_percent })
}

/// The runs' common verdict, or `mixed`.
fn stability(runs: &[&RunFile]) -> Verdict {
    let first = runs[0].stability;
    if runs.iter().all(|run| run.stability == first) { first } else { Verdict::Mixed }
}

/// The runs' caveats, each code once with its first text and how many runs share it.
fn caveats(runs: &[&RunFile]) -> Vec<Caveat> {
    let several = |(caveat, count): (Caveat, usize)| match runs.len() {
        1 => caveat,
        of => in_runs(caveat, count, of),
    };
    let found = kinds(runs.iter().map(|run| &run.caveats));
    let mut caveats: Vec<Caveat> = found.into_iter().map(several).collect();
    let again = Caveat::measured_again(&set_aside(runs));
    let over_runs = [Caveat::runs(runs.len() as u64), first_differs(runs), again];
    caveats.extend(over_runs.into_iter().flatten());
    caveats
}

/// A run's caveat as that of a cell, of whose runs so many have it.
fn in_runs(caveat: Caveat, count: usize, of: usize) -> Caveat {
    let text = format!("{caveat} (in {count} of {of} runs)");
    Caveat { text, ..caveat }.with("in_runs", count as f64).with("of_runs", of as f64)
}

fn set_aside(runs: &[&RunFile]) -> Vec<Disturbance> {
    runs.iter().flat_map(|run| &run.set_aside).map(AttemptRecord::disturbance).collect()
}

/// Whether the first repeat stands apart from the later ones, as where something warms up over runs. In overload all differ.
fn first_differs(runs: &[&RunFile]) -> Option<Caveat> {
    if runs.iter().any(|run| run.stability == Verdict::Unstable) {
        return None;
    }
    let mut by_repeat = runs.to_vec();
    by_repeat.sort_by_key(|run| run.repeat);
    let taus: Vec<f64> =
        by_repeat.iter().filter_map(|run| Some(run.response.measured()?.mean_ms / 1e3)).collect();
    Caveat::first_repeat(&taus)
}

/// The difference between the largest and the smallest tau of targets, where series differ in the target
/// alone and were measured at the same rate.
fn add_spreads(plan: &PlanFile, cells: &mut [CellSummary]) {
    for index in 0..cells.len() {
        let Some(series) = plan.series.get(cells[index].series) else { continue };
        let taus: Vec<f64> = cells
            .iter()
            .filter(|cell| cell.rate_per_s == cells[index].rate_per_s && cell.tau_ms.n > 0)
            .filter(|cell| plan.series.get(cell.series).is_some_and(|other| other.same_but_target(series)))
            .map(|cell| cell.tau_ms.mean)
            .collect();
        if taus.len() > 1 {
            let largest = taus.iter().copied().fold(f64::MIN, f64::max);
            let smallest = taus.iter().copied().fold(f64::MAX, f64::min);
            cells[index].target_spread_ms = Some(largest - smallest);
        }
    }
}

pub fn to_core(record: &EstimateRecord) -> Option<evenkeel_core::statistics::Estimate> {
    use evenkeel_core::statistics::{ErrorBar, Estimate};
    // A lower bound has no upper end, however far one goes.
    let high = record.high.or(record.at_least().map(|_| f64::INFINITY));
    let error = match (record.se, record.low, high) {
        (Some(standard_error), Some(low), Some(high)) => Some(ErrorBar { standard_error, low, high }),
        _ => None,
    };
    (record.n > 0).then(|| Estimate { n: u64::from(record.n), mean: record.mean, error })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::pooled::tests::runs;
    use crate::store::format::NeighboursRecord;

    fn of_cell(cell: &CellRecord, runs: &[RunFile], memory: Option<f64>) -> CellSummary {
        OfCell::new(cell, runs, memory).unwrap().summary()
    }

    fn summary(runs: &[RunFile]) -> CellSummary {
        of_cell(&CellRecord { id: 0, series: 0, rate_per_s: 125.0 }, runs, None)
    }

    fn lower_ends(cell: &CellSummary) -> Vec<f64> {
        let times = [&cell.tau_ms, &cell.p50_ms, &cell.p90_ms, &cell.p95_ms, &cell.p99_ms, &cell.p999_ms];
        times.into_iter().chain([&cell.throughput_per_s]).filter_map(|figure| figure.low).collect()
    }

    #[test]
    fn no_lower_end_is_negative() {
        let mut without_batches = Vec::new();
        for seconds in [1.0, 4.0, 8.0] {
            for load in [0.5, 0.9, 0.98] {
                let mut runs = runs(load, seconds, 3);
                let ends = lower_ends(&summary(&runs));
                // Where a run is too short for a figure it has no lower end at all.
                let least = if seconds < 8.0 || load > 0.9 { 2 } else { 7 };
                assert!(
                    ends.len() >= least && ends.iter().all(|low| *low > 0.0),
                    "{load}, {seconds} s: {ends:?}"
                );
                runs.iter_mut().for_each(|run| run.batches.clear());
                without_batches.extend(lower_ends(&summary(&runs)));
            }
        }
        // These are runs of which the plain interval over runs makes negative times.
        assert!(without_batches.iter().any(|low| *low < 0.0), "{without_batches:?}");
    }

    #[test]
    fn runs_that_were_lucky_with_their_queue_do_not_say_themselves_that_they_were_long_enough() {
        // At a load of 0.8 a run of 8 s lasts 22 relaxation times, and three in ten that see fewer requests under way say 30.
        let lucky = |seeds: u64| {
            let all = runs(0.8, 8.0, seeds);
            all.chunks(3).map(<[RunFile]>::to_vec).find(|three| summary(three).tau_ms.high.is_some()).unwrap()
        };
        let three = lucky(300);
        let cell = CellRecord { id: 0, series: 0, rate_per_s: 200.0 };
        let known = |saturation: f64| of_cell(&cell, &three, Some(relaxation_by(saturation, 200.0)));
        assert!(known(250.0).tau_ms.high.is_none() && known(250.0).p95_ms.high.is_none());
        assert!(known(300.0).tau_ms.high.is_some(), "a server that carries more forgets sooner");
        assert!(known(199.0).tau_ms.high.is_none(), "a queue that only grows has no mean");
    }

    #[test]
    fn other_rates_tell_the_saturation_and_the_own_one_does_not() {
        let cells: Vec<CellRecord> = [(0, 100.0), (1, 200.0), (2, 400.0)]
            .map(|(id, rate_per_s)| CellRecord { id, series: 0, rate_per_s })
            .into();
        let mut plan = crate::compare::tests::plan("plan");
        (plan.cells, plan.probes) = (cells.clone(), Vec::new());
        let run = |cell: u32, rate: f64, completed: f64| RunFile {
            cell,
            measured_s: 10.0,
            throughput_per_s: completed,
            stability: if completed < rate { Verdict::Unstable } else { Verdict::Settled },
            counts: CountsRecord {
                arrivals: (10.0 * rate) as u64,
                completed: (10.0 * completed) as u64,
                ..CountsRecord::default()
            },
            ..RunFile::default()
        };
        let three = |cell: u32, rate: f64, completed: f64| vec![run(cell, rate, completed); 3];
        let known = |runs: &[RunFile], place: usize| answer::saturation_elsewhere(&plan, runs, &cells[place]);
        let carried = [three(0, 100.0, 100.0), three(1, 200.0, 200.0)].concat();
        assert_eq!((known(&carried, 0), known(&carried, 1)), (Some(200.0), None));
        let refused = [carried, three(2, 400.0, 300.0)].concat();
        assert_eq!((known(&refused, 1), known(&refused, 2)), (Some(300.0), None));
    }

    #[test]
    fn no_percentile_is_bounded_below_the_lower_end_of_a_lower_one() {
        let mut bounds = 0;
        for seconds in [2.0, 4.0, 8.0, 20.0, 60.0] {
            for load in [0.5, 0.8, 0.9, 0.95] {
                // Two runs alone, of which a neighbour slowed one down: nothing else leaves bounds as wide.
                let cell = summary(&[runs(load, seconds, 1), runs(load + 0.04, seconds, 1)].concat());
                let figures = [&cell.p50_ms, &cell.p90_ms, &cell.p95_ms, &cell.p99_ms, &cell.p999_ms];
                for (lower, higher) in figures.iter().zip(&figures[1..]) {
                    let (Some(low), Some(bound)) = (lower.low, higher.at_least()) else { continue };
                    bounds += 1;
                    assert!(bound >= low, "{load}, {seconds} s: {lower:?} {higher:?}");
                }
            }
        }
        assert!(bounds > 20, "{bounds}");
    }

    #[test]
    fn a_run_whose_generator_failed_takes_no_part_and_is_named() {
        let mut four = runs(0.5, 20.0, 4);
        for (run, repeat) in four.iter_mut().zip(1..) {
            run.repeat = repeat;
        }
        let good = summary(&four[..3]);
        four[3].response.mean_ms *= 9.0;
        four[3].stability = Verdict::TooShort;
        let late = Caveat::generator(99.0).unwrap();
        four[3].caveats.push(late.clone());
        let cell = summary(&four);
        assert!(cell.valid && cell.runs == 4 && cell.tau_ms == good.tau_ms, "{cell:?}");
        let named = cell.caveats.iter().find(|caveat| caveat.code == "runs-left-out");
        assert!(named.is_some_and(|caveat| caveat.text.ends_with(": c00-r4.")), "{:?}", cell.caveats);
        for run in &mut four {
            run.caveats = vec![late.clone()];
        }
        let none = summary(&four);
        assert!(!none.valid && none.tau_ms.n == 4, "{none:?}");
    }

    #[test]
    fn tau_without_neighbours_covers_the_share_of_all_runs_that_nobody_disturbed() {
        let mut three = runs(0.5, 20.0, 3);
        three.iter_mut().for_each(|run| run.measured_s = 20.0);
        assert_eq!(summary(&three).undisturbed, None, "nobody saw the neighbours");
        for (run, tau_ms) in three.iter_mut().zip([Some(5.0), Some(7.0), None]) {
            let clear_s = if tau_ms.is_some() { 15.0 } else { 0.0 };
            run.neighbours = Some(NeighboursRecord { clear_s, clear_tau_ms: tau_ms, ..Default::default() });
        }
        let found = summary(&three).undisturbed.unwrap();
        assert_eq!((found.tau_ms.n, found.tau_ms.mean, found.coverage_percent), (2, 6.0, 50.0));
    }

    #[test]
    fn a_lower_bound_keeps_its_standard_error_for_the_trust_limit() {
        let cell = summary(&runs(0.95, 8.0, 3));
        let core = to_core(&cell.tau_ms).unwrap();
        assert_eq!((core.standard_error(), core.high()), (cell.tau_ms.se, Some(f64::INFINITY)));
        let single = EstimateRecord { n: 1, mean: 3.0, ..EstimateRecord::default() };
        assert_eq!(to_core(&single).unwrap().error, None);
    }

    #[test]
    fn a_run_that_tells_no_lag_is_not_averaged_in_as_one_without_lag() {
        let times = |count, ms| TimesRecord { count, mean_ms: ms, p99_ms: ms, ..TimesRecord::default() };
        let run = |lag: TimesRecord| RunFile { cell: 1, lag, response: times(9, 5.0), ..RunFile::default() };
        let cell = CellRecord { id: 1, series: 0, rate_per_s: 10.0 };
        let summary = of_cell(&cell, &[run(times(9, 3.0)), run(TimesRecord::default())], None);
        assert_eq!((summary.lag_p99_ms.n, summary.lag_p99_ms.mean), (1, 3.0));
        assert_eq!(summary.session_wait_ms.n, 0, "no request was due");
        let silent = RunFile { cell: 1, ..RunFile::default() };
        let summary = of_cell(&cell, &[silent], None);
        assert_eq!((summary.tau_ms.n, summary.lag_p99_ms.n), (0, 0));
    }
}
