//! What stands beside `run.json`, read again: intervals, CPU samples, the distribution of response times.

use super::error::{BESIDE, StoreError};
use super::folder::{attempt_name, read, run_name};
use super::format::RunFile;
use evenkeel_lab::load::LoadResult;
use hdrhistogram::Histogram;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Names of the columns of `intervals.csv` and of `response.csv`.
pub(super) const INTERVALS: &str =
    "start_s,arrivals,completed,lost,responses,response_mean_ms,lag_max_ms,in_flight\n";
pub(super) const RESPONSES: &str = "response_ms,count\n";

/// A line of `intervals.csv`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IntervalRow {
    /// Seconds from the start of the measured phase to its start.
    pub start_s: f64,
    pub completed: f64,
    /// Arrivals that the mean is over: all that have ended, but for those that failed.
    pub responses: f64,
    /// Mean response time of these, ms; zero where there are none.
    pub response_mean_ms: f64,
    /// Arrived and not ended at its end.
    pub backlog: f64,
}

/// How response times are distributed, to 0.1 %.
#[derive(Clone, Debug)]
pub struct Distribution(Histogram<u64>);

impl Distribution {
    /// Of values in milliseconds, each with how often it was seen.
    pub fn of(values: impl IntoIterator<Item = (f64, u64)>) -> Self {
        let mut histogram = empty();
        for (ms, count) in values {
            // It grows by itself, so that nothing is too large to be recorded.
            let _ = histogram.record_n((ms * 1e6).round().max(1.0) as u64, count);
        }
        Self(histogram)
    }

    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The value that `percentile` percent of all do not pass, ms; `None` without values.
    pub fn at_percentile_ms(&self, percentile: f64) -> Option<f64> {
        (self.count() > 0).then(|| self.0.value_at_percentile(percentile) as f64 / 1e6)
    }

    /// This and another as one. Counts that pass the largest number stay there.
    pub fn and(mut self, other: &Self) -> Self {
        // Bounds grow by themselves, so that nothing is too large to be added.
        let _ = self.0.add(&other.0);
        self
    }
}

fn empty() -> Histogram<u64> {
    let mut histogram = Histogram::new(3).unwrap_or_else(|_| unreachable!("three digits are allowed"));
    histogram.auto(true);
    histogram
}

#[derive(Clone, Debug)]
pub struct RunFolder(PathBuf);

impl RunFolder {
    /// What of its files is not there or empty; looks at names and lengths alone.
    pub(super) fn missing(&self) -> Vec<StoreError> {
        let missing = |name: &&str| {
            let path = self.0.join(name);
            match fs::metadata(&path) {
                Ok(file) if file.len() > 0 => None,
                Ok(_) => Some(StoreError::Unread { path, text: "it is empty".into() }),
                Err(source) => Some(StoreError::Io { action: "read", path, source }),
            }
        };
        BESIDE.iter().filter_map(missing).collect()
    }

    /// What of its files cannot be read; looks into each.
    pub(super) fn damage(&self) -> Vec<StoreError> {
        let read = [self.intervals().map(drop), self.sense().map(drop), self.response().map(drop)];
        read.into_iter().filter_map(Result::err).collect()
    }

    /// Reads the rows of `intervals.csv`.
    pub fn intervals(&self) -> Result<Vec<IntervalRow>, StoreError> {
        rows(&self.0.join("intervals.csv"), INTERVALS, |row: [Option<f64>; 8]| {
            let [start_s, _, completed, _, responses, mean_ms, _, backlog] = row;
            Some(IntervalRow {
                start_s: start_s?,
                completed: completed?,
                responses: responses?,
                response_mean_ms: if responses? > 0.0 { mean_ms? } else { 0.0 },
                backlog: backlog?,
            })
        })
    }

    /// Reads `sense.csv` as it is, with its own columns.
    pub fn sense(&self) -> Result<Series, StoreError> {
        Series::read(&self.0.join("sense.csv"))
    }

    /// Reads `response.csv`.
    pub fn response(&self) -> Result<Distribution, StoreError> {
        let row = |[ms, count]: [Option<f64>; 2]| Some((ms?, count? as u64));
        rows(&self.0.join("response.csv"), RESPONSES, row).map(Distribution::of)
    }
}

/// The lines below these names of columns. Another one, or a line that `row` does not take, is an error.
fn rows<const N: usize, T>(
    path: &Path,
    names: &str,
    row: impl Fn([Option<f64>; N]) -> Option<T>,
) -> Result<Vec<T>, StoreError> {
    let text = text(path)?;
    let fields = |line: &str| row(line.split(',').map(number).collect::<Vec<_>>().try_into().ok()?);
    let lines = text.strip_prefix(names).map(str::lines);
    lines
        .and_then(|lines| lines.map(fields).collect::<Option<Vec<T>>>())
        .ok_or_else(|| unread(path, "a column or a value is missing"))
}

pub(super) fn number(field: &str) -> Option<f64> {
    field.parse().ok().filter(|value: &f64| value.is_finite())
}

pub(super) fn unread(path: &Path, text: &str) -> StoreError {
    StoreError::Unread { path: path.to_owned(), text: text.to_owned() }
}

/// All of a file of lines; one whose last line has no end is cut short.
pub(super) fn text(path: &Path) -> Result<String, StoreError> {
    let text = String::from_utf8(read(path)?).map_err(|_| unread(path, "it is not UTF-8 text"))?;
    if text.is_empty() || text.ends_with('\n') { Ok(text) } else { Err(unread(path, "it is cut short")) }
}

impl super::StudyFolder {
    pub fn run_folder(&self, run: &RunFile) -> RunFolder {
        let name = attempt_name(&run_name(run.cell, run.repeat), run.attempt);
        RunFolder(self.runs_dir().join(name))
    }

    /// A manifest that cannot be read, and files beside `run.json` of any finished run that are not there or empty, by a look at
    /// names alone: for a list of studies.
    pub fn missing(&self) -> Result<Vec<StoreError>, StoreError> {
        let beside = self.finished()?.into_iter().flat_map(|run| RunFolder(run).missing());
        Ok(self.manifest().err().into_iter().chain(beside).collect())
    }

    /// Files beside `run.json` of any finished run that cannot be read: looks into each.
    pub fn damage(&self) -> Result<Vec<StoreError>, StoreError> {
        Ok(self.finished()?.into_iter().flat_map(|run| RunFolder(run).damage()).collect())
    }
}

/// Figures over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Names with unit, as of figures.
    pub columns: Vec<String>,
    /// An instant in seconds from the start, and a value for each column.
    pub rows: Vec<(f64, Vec<Option<f64>>)>,
}

impl Series {
    /// Reads comma-separated figures below a line of names, of which the first is `at_s`; `None` without that. What is no number
    /// is an absent value.
    pub fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let columns = lines.next()?.strip_prefix("at_s,")?.split(',').map(str::to_owned).collect();
        let row = |line: &str| {
            let (at_s, values) = line.split_once(',')?;
            Some((number(at_s)?, values.split(',').map(number).collect()))
        };
        Some(Self { columns, rows: lines.filter_map(row).collect() })
    }

    pub(crate) fn read(path: &Path) -> Result<Self, StoreError> {
        Self::parse(&text(path)?).ok_or_else(|| unread(path, "the header line is missing"))
    }

    /// The values of a column with their instants, without absent ones.
    pub fn over_time(&self, name: &str) -> Vec<(f64, f64)> {
        let Some(place) = self.columns.iter().position(|column| column == name) else { return Vec::new() };
        self.rows.iter().filter_map(|(at_s, values)| Some((*at_s, (*values.get(place)?)?))).collect()
    }

    pub(crate) fn csv(&self) -> String {
        let mut text = format!("at_s,{}\n", self.columns.join(","));
        for (at_s, values) in &self.rows {
            let _ = write!(text, "{at_s}");
            for value in values {
                text.push(',');
                // Writing to a text does not fail.
                let _ = value.map_or(Ok(()), |value| write!(text, "{value}"));
            }
            text.push('\n');
        }
        text
    }
}

/// Writes what goes beside `run.json` to the unfinished folder of a run.
pub fn write_tables(dir: &Path, load: &LoadResult, sense: &Series) -> Result<(), StoreError> {
    write_text(&dir.join("intervals.csv"), &intervals(load))?;
    write_text(&dir.join("sense.csv"), &sense.csv())?;
    write_text(&dir.join("response.csv"), &responses(load))
}

/// How often each response time was seen, to 0.1 %.
fn responses(load: &LoadResult) -> String {
    let mut text = RESPONSES.to_owned();
    for seen in load.response.iter_recorded() {
        let _ = writeln!(text, "{:.6},{}", seen.value_iterated_to() as f64 / 1e6, seen.count_at_value());
    }
    text
}

fn intervals(load: &LoadResult) -> String {
    let mut text = INTERVALS.to_owned();
    for interval in &load.intervals {
        // Where nothing was answered there is no mean.
        let mean = match interval.responses {
            0 => String::new(),
            responses => format!("{:.6}", interval.response_sum.as_millis_f64() / responses as f64),
        };
        let _ = writeln!(
            text,
            "{},{},{},{},{},{mean},{:.6},{}",
            interval.start.as_secs_f64(),
            interval.arrivals,
            interval.completed,
            interval.lost,
            interval.responses,
            interval.lag_max.as_millis_f64(),
            interval.in_flight
        );
    }
    text
}

pub(crate) fn write_text(path: &Path, text: &str) -> Result<(), StoreError> {
    fs::write(path, text).map_err(StoreError::io("write", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_of_any_length_are_read_and_a_torn_line_is_told() {
        let home = tempfile::tempdir().unwrap();
        let read = |lines: &str| {
            fs::write(home.path().join("intervals.csv"), format!("{INTERVALS}{lines}")).unwrap();
            RunFolder(home.path().to_owned()).intervals()
        };
        assert!(read("0,30,32\n").is_err() && read("0,30,20,10,20,5.9,2.7,0").is_err());
        let rows = read("0,30,20,10,20,5.9,2.7,0\n1,45,0,45,0,,0.07,2\n").unwrap();
        assert_eq!((rows[0].responses, rows[0].response_mean_ms), (20.0, 5.9));
        assert_eq!((rows[1].responses, rows[1].response_mean_ms, rows[1].backlog), (0.0, 0.0, 2.0));
        assert!(read("0,30,20,10,20,,2.7,0\n").is_err(), "a mean is missing");
    }

    #[test]
    fn what_lies_beside_a_run_and_cannot_be_read_is_named() {
        let home = tempfile::tempdir().unwrap();
        let folder = RunFolder(home.path().to_owned());
        let told = folder.response().unwrap_err().to_string();
        assert!(told.contains("response.csv") && folder.intervals().is_err() && folder.sense().is_err());
        for torn in ["", "response_ms\n1.5\n", "response_ms,count\n1.5\n", "response_ms,count\n1.5,12"] {
            fs::write(home.path().join("response.csv"), torn).unwrap();
            assert!(folder.response().unwrap_err().to_string().contains("response.csv"), "{torn}");
        }
    }

    #[test]
    fn a_table_whose_last_line_is_torn_is_named_though_its_names_are_whole() {
        let home = tempfile::tempdir().unwrap();
        let folder = RunFolder(home.path().to_owned());
        let lines = "at_s,theta_percent\n0.500,40.0\n1.500,41.25\n";
        fs::write(home.path().join("sense.csv"), lines).unwrap();
        assert_eq!(folder.sense().unwrap().over_time("theta_percent").len(), 2);
        fs::write(home.path().join("sense.csv"), &lines[..lines.len() - 4]).unwrap();
        let told = folder.sense().unwrap_err().to_string();
        assert!(told.contains("sense.csv") && told.contains("cut short"), "{told}");
    }

    #[test]
    fn a_distribution_of_two_runs_holds_both() {
        let one = Distribution::of([(1.0, 90), (10.0, 10)]);
        let both = one.clone().and(&Distribution::of([(1_000_000.0, 100)]));
        assert_eq!((one.count(), both.count()), (100, 200));
        assert!((one.at_percentile_ms(50.0).unwrap() - 1.0).abs() < 0.01);
        assert!((both.at_percentile_ms(99.0).unwrap() / 1e6 - 1.0).abs() < 0.01);
        assert_eq!(Distribution::of([]).at_percentile_ms(50.0), None);
    }
}
