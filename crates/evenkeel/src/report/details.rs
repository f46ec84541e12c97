//! What lies beside the records of runs: each second, and how response times are distributed.

use evenkeel_study::store::format::RunFile;
use evenkeel_study::store::{Distribution, IntervalRow, Series, StoreError, StudyFolder};
use std::collections::BTreeMap;
use std::io;

/// A stretch of a run, of a second where the run is not long.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Second {
    /// Its middle, seconds from the start of the measured phase.
    pub at_s: f64,
    /// Completions per second.
    pub throughput_per_s: Option<f64>,
    /// Mean response time of its arrivals, ms; absent without one.
    pub response_ms: Option<f64>,
    /// Requests that have arrived and not ended, at its end.
    pub backlog: Option<f64>,
    /// CPU utilisation, percent.
    pub theta_percent: Option<f64>,
    /// CPU time that the hypervisor took away, percent.
    pub stolen_percent: Option<f64>,
    /// CPU time of the server's CPUs that others used, percent.
    pub others_percent: Option<f64>,
}

/// What lies beside one run; where it cannot be had, why not.
#[derive(Clone, Debug)]
pub struct RunDetails {
    /// The lines of `intervals.csv`.
    pub intervals: Result<Vec<IntervalRow>, String>,
    /// The table of `sense.csv`.
    pub sense: Result<Series, String>,
    /// The distribution of `response.csv`.
    pub response: Result<Distribution, String>,
}

#[derive(Clone, Debug, Default)]
pub struct Details(pub BTreeMap<(u32, u32), RunDetails>);

/// Most stretches that a run is cut into; of longer runs they are several seconds long.
const STRETCHES: f64 = 120.0;

impl Details {
    /// Reads what lies beside these runs. What cannot be read is told in the report, and no reason to have none.
    pub fn read(folder: &StudyFolder, runs: &[RunFile]) -> Self {
        let read = |run: &RunFile| {
            let beside = folder.run_folder(run);
            let details = RunDetails {
                intervals: beside.intervals().map_err(|error| told("intervals.csv", &error)),
                sense: beside.sense().map_err(|error| told("sense.csv", &error)),
                response: beside.response().map_err(|error| told("response.csv", &error)),
            };
            ((run.cell, run.repeat), details)
        };
        Self(runs.iter().map(read).collect())
    }

    pub fn of(&self, run: &RunFile) -> Option<&RunDetails> {
        self.0.get(&(run.cell, run.repeat))
    }
}

/// Without the path, which says more of its owner than a forwarded page should.
fn told(file: &str, error: &StoreError) -> String {
    match error {
        StoreError::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => {
            format!("{file} is missing")
        }
        StoreError::Io { source, .. } => format!("{file} cannot be read: {source}"),
        StoreError::Unread { text, .. } => format!("{file} cannot be read: {text}"),
        _ => format!("{file} cannot be read"),
    }
}

impl RunDetails {
    /// The run second by second, or in stretches of some seconds where it is long.
    pub fn seconds(&self, length_s: f64) -> Vec<Second> {
        let step_s = (length_s / STRETCHES).ceil().max(1.0);
        let count = (length_s / step_s).ceil().max(0.0) as usize;
        let stretch = |number: usize| {
            let (from, until) = (number as f64 * step_s, ((number + 1) as f64 * step_s).min(length_s));
            self.second(from, until)
        };
        (0..count).map(stretch).collect()
    }

    fn second(&self, from: f64, until: f64) -> Second {
        let intervals = self.intervals.as_deref().unwrap_or_default();
        // A thousandth of a second before, as starts are sums of lengths.
        let within = |at: f64| at >= from - 1e-3 && at < until - 1e-3;
        let own: Vec<&IntervalRow> = intervals.iter().filter(|row| within(row.start_s)).collect();
        let responses: f64 = own.iter().map(|row| row.responses).sum();
        let waited: f64 = own.iter().map(|row| row.responses * row.response_mean_ms).sum();
        let completed: f64 = own.iter().map(|row| row.completed).sum();
        let length =
            length_of(intervals).map_or(until - from, |each| (each * own.len() as f64).min(until - from));
        Second {
            at_s: f64::midpoint(from, until),
            throughput_per_s: (!own.is_empty() && length > 0.0).then(|| completed / length),
            response_ms: (responses > 0.0).then(|| waited / responses),
            backlog: own.last().map(|row| row.backlog),
            theta_percent: self.sensed("theta_percent", from, until),
            stolen_percent: self.sensed("steal_percent", from, until),
            others_percent: self.sensed("other_load_percent", from, until),
        }
    }

    /// Mean of the samples of a stretch; each stands for the time up to its instant.
    fn sensed(&self, column: &str, from: f64, until: f64) -> Option<f64> {
        let samples = self.sense.as_ref().ok()?.over_time(column);
        let own: Vec<f64> =
            samples.iter().filter(|(at, _)| *at > from && *at <= until).map(|(_, value)| *value).collect();
        (!own.is_empty()).then(|| own.iter().sum::<f64>() / own.len() as f64)
    }
}

/// Length of an interval: the least distance between starts.
fn length_of(intervals: &[IntervalRow]) -> Option<f64> {
    let distances = intervals.windows(2).map(|pair| pair[1].start_s - pair[0].start_s);
    distances.filter(|distance| *distance > 0.0).min_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn details(step_s: f64, count: usize) -> RunDetails {
        let row = |at: usize| IntervalRow {
            start_s: at as f64 * step_s,
            responses: 2.0,
            completed: 10.0 * step_s,
            response_mean_ms: at as f64,
            backlog: at as f64,
        };
        RunDetails {
            intervals: Ok((0..count).map(row).collect()),
            sense: Ok(Series::parse(
                "at_s,theta_percent,steal_percent,other_load_percent\n0.5,10,1,4\n1.0,20,,6\n1.5,40,3,0\n",
            )
            .unwrap()),
            response: Err("response.csv is missing".to_owned()),
        }
    }

    #[test]
    fn a_second_in_which_all_failed_has_no_response_and_one_in_which_some_did_has_that_of_the_others() {
        let mut found = details(0.5, 4);
        let rows = found.intervals.as_mut().unwrap();
        (rows[0].responses, rows[0].response_mean_ms, rows[1].responses) = (0.0, 0.0, 0.0);
        (rows[2].responses, rows[2].response_mean_ms) = (1.0, 8.0);
        (rows[3].responses, rows[3].response_mean_ms) = (3.0, 4.0);
        let seconds: Vec<_> = found.seconds(2.0).iter().map(|second| second.response_ms).collect();
        assert_eq!(seconds, [None, Some(5.0)]);
    }

    #[test]
    fn intervals_of_any_length_are_summed_to_seconds() {
        for (step_s, count) in [(0.1, 30), (0.25, 12), (1.0, 3)] {
            let seconds = details(step_s, count).seconds(3.0);
            assert_eq!(seconds.len(), 3, "{step_s}");
            for second in &seconds {
                let throughput = second.throughput_per_s.unwrap();
                assert!((throughput - 10.0).abs() < 1e-9, "{step_s}: {throughput}");
            }
            assert_eq!(seconds[2].backlog, Some((count - 1) as f64));
            assert_eq!(
                (seconds[0].at_s, seconds[0].theta_percent, seconds[0].stolen_percent),
                (0.5, Some(15.0), Some(1.0))
            );
            assert_eq!((seconds[0].others_percent, seconds[1].others_percent), (Some(5.0), Some(0.0)));
            assert_eq!((seconds[1].theta_percent, seconds[2].theta_percent), (Some(40.0), None));
        }
    }

    #[test]
    fn the_last_second_of_a_run_that_was_stopped_is_shorter() {
        let seconds = details(0.25, 6).seconds(1.5);
        assert_eq!(seconds.len(), 2);
        assert!((seconds[1].throughput_per_s.unwrap() - 10.0).abs() < 1e-9);
        assert!(details(0.25, 0).seconds(1.5)[0].throughput_per_s.is_none());
    }
}
