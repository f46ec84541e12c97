//! Response times and throughput of a cell from the batches of all of its runs.

use crate::store::format::{EstimateRecord, RunFile};
use evenkeel_core::statistics::pooled::{Overall, Pooled, Run};

/// The mean and these percentiles.
const QUANTILES: [Option<f64>; 6] = [None, Some(0.5), Some(0.9), Some(0.95), Some(0.99), Some(0.999)];

pub(super) type Times = [Option<Overall>; QUANTILES.len()];

pub(super) struct CellRuns {
    /// Those with an answer first.
    runs: Vec<Run>,
    answered: usize,
    /// Relaxation time in seconds, as runs of other cells have it.
    memory: Option<f64>,
}

impl CellRuns {
    /// `memory` is the relaxation time in seconds at the rate of the cell, where runs of other cells tell it; it decides whether
    /// response times have an upper end. `None` where a run has no batches.
    pub fn of(runs: &[&RunFile], memory: Option<f64>) -> Option<Self> {
        let (answered, silent): (Vec<&RunFile>, Vec<&RunFile>) =
            runs.iter().partition(|run| run.response.count > 0);
        let all = answered.iter().chain(&silent).map(|run| pooled_run(run));
        Some(Self { runs: all.collect::<Option<_>>()?, answered: answered.len(), memory })
    }

    /// Response times in ns, as [`QUANTILES`] has them, over the runs that have an answer: the others have none, least of all zero.
    pub fn times(&self) -> Times {
        let Some(pooled) = Pooled::of(&self.runs[..self.answered], self.memory) else {
            return Times::default();
        };
        QUANTILES
            .map(|quantile| quantile.map_or_else(|| pooled.tau(), |quantile| pooled.percentile(quantile)))
    }

    /// Completions per second over all runs.
    pub fn throughput(&self) -> Option<EstimateRecord> {
        Pooled::of(&self.runs, self.memory)?.throughput().map(|figure| record(&figure))
    }
}

fn pooled_run(run: &RunFile) -> Option<Run> {
    let completions = (run.throughput_per_s * run.measured_s).round();
    (!run.batches.is_empty()).then(|| Run {
        batches: run.batches.iter().map(Into::into).collect(),
        seconds: run.measured_s,
        completions: completions as u64,
    })
}

/// Relaxation times that a run lasted by its own backlog; `None` where nothing was ever under way.
pub(super) fn relaxations(run: &RunFile) -> Option<f64> {
    let run = [pooled_run(run)?];
    Some(Pooled::of(&run, None)?.relaxations()).filter(|relaxations| relaxations.is_finite())
}

/// A figure as it is stored.
pub(super) fn record(figure: &Overall) -> EstimateRecord {
    EstimateRecord {
        n: u32::try_from(figure.n).unwrap_or(u32::MAX),
        mean: figure.value,
        se: figure.standard_error,
        low: figure.bounds.low(),
        high: figure.bounds.high(),
        degrees: figure.standard_error.map(|_| figure.degrees),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::store::format::{BatchRecord, CountsRecord, TimesRecord};
    use evenkeel_core::Nanos;
    use evenkeel_core::arrivals::{Arrivals, Poisson};
    use evenkeel_core::random::{Random, Seed};
    use evenkeel_core::statistics::pooled::Batch;
    use evenkeel_core::statistics::{BATCHES, Spectrum, SpectrumCounter};

    /// Mean time that the server works on a request.
    const SERVICE: Nanos = Nanos::from_millis(4);

    /// Runs of a queue (M/M/1), as they are stored.
    pub fn runs(load: f64, seconds: f64, count: u64) -> Vec<RunFile> {
        (0..count).map(|number| stored(&queue(load, seconds, Seed(number)))).collect()
    }

    fn queue(load: f64, seconds: f64, seed: Seed) -> Run {
        let (start, length) = (Nanos::from_secs_f64(seconds / 4.0), Nanos::from_secs_f64(seconds));
        let end = start + length;
        let mut arrivals = Poisson::new(load / SERVICE.as_secs_f64(), seed.child("arrivals")).unwrap();
        let mut random = Random::new(seed.child("service"));
        let (mut free_at, mut completions) = (Nanos::ZERO, 0);
        let mut responses = vec![Vec::new(); BATCHES];
        while let Some(at) = arrivals.next_arrival().filter(|at| *at < end) {
            let done = free_at.max(at) + random.exponential_nanos(SERVICE);
            free_at = done;
            completions += u64::from((start..end).contains(&done));
            if at >= start {
                let place = u128::from((at - start).0) * BATCHES as u128 / u128::from(length.0);
                responses[place as usize].push(done - at);
            }
        }
        Run { batches: responses.iter().map(|responses| batch(responses)).collect(), seconds, completions }
    }

    fn batch(responses: &[Nanos]) -> Batch {
        let (mut counter, count) = (SpectrumCounter::new(), responses.len() as u64);
        responses.iter().for_each(|response| counter.record(response.0));
        let response_sum = responses.iter().fold(Nanos::ZERO, |sum, response| sum + *response);
        Batch { arrivals: count, lost: 0, completed: count, response_sum, spectrum: counter.take() }
    }

    fn stored(run: &Run) -> RunFile {
        let batches: Vec<BatchRecord> = run.batches.iter().map(Into::into).collect();
        let count: u64 = batches.iter().map(|batch| batch.completed).sum();
        let sum_ms: f64 = batches.iter().map(|batch| batch.response_sum_ms).sum();
        let all = Spectrum::merged(run.batches.iter().map(|batch| &batch.spectrum));
        let quantile = |quantile: f64| all.quantile(quantile).unwrap() / 1e6;
        RunFile {
            measured_s: run.seconds,
            throughput_per_s: run.completions as f64 / run.seconds,
            counts: CountsRecord { arrivals: count, completed: count, ..CountsRecord::default() },
            response: TimesRecord {
                count,
                mean_ms: sum_ms / count as f64,
                p50_ms: quantile(0.5),
                p90_ms: quantile(0.9),
                p95_ms: quantile(0.95),
                p99_ms: quantile(0.99),
                p999_ms: quantile(0.999),
                max_ms: quantile(1.0),
            },
            batches,
            ..RunFile::default()
        }
    }

    fn cell(runs: &[RunFile]) -> Option<CellRuns> {
        CellRuns::of(&runs.iter().collect::<Vec<_>>(), None)
    }

    fn time_ms(cell: &CellRuns, place: usize) -> EstimateRecord {
        record(&cell.times()[place].unwrap().scaled(1e-6))
    }

    #[test]
    fn figures_of_stored_runs_are_about_the_theory() {
        let cell = cell(&runs(0.5, 100.0, 4)).unwrap();
        let tau = time_ms(&cell, 0);
        assert!(tau.low.unwrap() < 8.0 && 8.0 < tau.high.unwrap() && tau.n == 4, "{tau:?}");
        assert!(tau.se.unwrap() < 0.5 && tau.degrees.unwrap() >= 3.0, "{tau:?}");
        let throughput = cell.throughput().unwrap();
        assert!(throughput.low.unwrap() < 125.0 && 125.0 < throughput.high.unwrap(), "{throughput:?}");
    }

    #[test]
    fn a_queue_with_a_long_memory_has_a_lower_bound_above_zero_and_no_upper_end() {
        let cell = cell(&runs(0.95, 8.0, 3)).unwrap();
        for place in 1..QUANTILES.len() {
            let figure = time_ms(&cell, place);
            let low = figure.at_least().unwrap_or_else(|| panic!("{place}: {figure:?}"));
            assert!(low > 0.0 && low < figure.mean, "{place}: {figure:?}");
        }
    }

    #[test]
    fn a_run_without_an_answer_counts_in_the_throughput_and_in_no_time() {
        let mut runs = runs(0.5, 20.0, 3);
        let whole = cell(&runs).unwrap().throughput().unwrap();
        runs[1].response = TimesRecord::default();
        runs[1].batches = vec![BatchRecord { arrivals: 9, lost: 9, ..BatchRecord::default() }; 20];
        runs[1].throughput_per_s = 0.0;
        let cell = cell(&runs).unwrap();
        assert_eq!(time_ms(&cell, 0).n, 2);
        let throughput = cell.throughput().unwrap();
        assert!(throughput.n == 3 && throughput.mean < 0.8 * whole.mean, "{throughput:?}");
    }

    #[test]
    fn a_run_knows_how_many_relaxation_times_it_lasted() {
        let [idle, busy] = [0.5, 0.95].map(|load| relaxations(&runs(load, 20.0, 1)[0]).unwrap());
        assert!(idle > 200.0 && busy < 30.0, "{idle} {busy}");
        assert_eq!(relaxations(&RunFile::default()), None);
    }
}
