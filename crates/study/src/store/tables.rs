//! The tables of one run.

use super::error::StoreError;
use super::readers::Table;
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

    pub(crate) fn of(table: &Table) -> Self {
        let columns: Vec<String> = table.names().iter().filter(|name| *name != "at_s").cloned().collect();
        let values: Vec<Vec<Option<f64>>> =
            columns.iter().filter_map(|name| Some(table.column(name)?.collect())).collect();
        let instants = table.column("at_s").into_iter().flatten().enumerate();
        let row = |(at, at_s): (usize, Option<f64>)| {
            Some((at_s?, values.iter().map(|column| column.get(at).copied().flatten()).collect()))
        };
        Self { rows: instants.filter_map(row).collect(), columns }
    }
}

/// What goes beside `run.json`.
#[derive(Debug)]
pub struct RunTables<'a> {
    pub load: &'a LoadResult,
    /// What `sense.csv` has.
    pub sense: Series,
}

impl RunTables<'_> {
    /// Writes them to the unfinished folder of a run.
    pub fn write(&self, dir: &Path) -> Result<(), StoreError> {
        write_text(&dir.join("intervals.csv"), &self.intervals())?;
        write_text(&dir.join("sense.csv"), &self.sense.csv())?;
        write_text(&dir.join("response.csv"), &self.responses())
    }

    /// How often each response time was seen, to 0.1 %.
    fn responses(&self) -> String {
        let mut text = String::from("response_ms,count\n");
        for seen in self.load.response.iter_recorded() {
            let _ = writeln!(text, "{:.6},{}", seen.value_iterated_to() as f64 / 1e6, seen.count_at_value());
        }
        text
    }

    fn intervals(&self) -> String {
        let mut text =
            String::from("start_s,arrivals,completed,lost,responses,response_mean_ms,lag_max_ms,in_flight\n");
        for interval in &self.load.intervals {
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
}

pub(crate) fn write_text(path: &Path, text: &str) -> Result<(), StoreError> {
    fs::write(path, text).map_err(StoreError::io("write", path))
}
