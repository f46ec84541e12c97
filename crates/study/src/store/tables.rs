//! The tables of one run.

use super::error::StoreError;
use evenkeel_lab::load::LoadResult;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// One line of `sense.csv`: an instant of the measured phase, and values in the order of the columns.
#[derive(Clone, Debug, PartialEq)]
pub struct SenseRow {
    /// Seconds from the start of the measured phase.
    pub at_s: f64,
    /// Values; `None` is written as an empty field.
    pub values: Vec<Option<f64>>,
}

/// What goes beside `run.json`.
#[derive(Debug)]
pub struct RunTables<'a> {
    pub load: &'a LoadResult,
    /// Columns of `sense.csv` after `at_s`.
    pub sense_columns: Vec<&'static str>,
    /// Lines of `sense.csv`.
    pub sense: Vec<SenseRow>,
}

impl RunTables<'_> {
    /// Writes them to the unfinished folder of a run.
    pub fn write(&self, dir: &Path) -> Result<(), StoreError> {
        write_text(&dir.join("intervals.csv"), &self.intervals())?;
        write_text(&dir.join("sense.csv"), &self.sense_table())?;
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

    fn sense_table(&self) -> String {
        let mut text = format!("at_s,{}\n", self.sense_columns.join(","));
        for row in &self.sense {
            let _ = write!(text, "{:.3}", row.at_s);
            for value in &row.values {
                let _ = match value {
                    Some(value) => write!(text, ",{value:.6}"),
                    None => write!(text, ","),
                };
            }
            text.push('\n');
        }
        text
    }
}

pub(crate) fn write_text(path: &Path, text: &str) -> Result<(), StoreError> {
    fs::write(path, text).map_err(StoreError::io("write", path))
}
