//! The tables of one run.

use super::error::StoreError;
use super::readers::{INTERVALS, RESPONSES, number, text, unread};
use evenkeel_lab::load::LoadResult;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

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
