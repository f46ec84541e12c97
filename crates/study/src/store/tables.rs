//! The tables and histograms of one run.

use super::error::StoreError;
use evenkeel_lab::load::LoadResult;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::IntervalLogWriterBuilder;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Duration;

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
        let histograms = [
            ("response", &self.load.response),
            ("service", &self.load.service),
            ("first-byte", &self.load.first_byte),
            ("lag", &self.load.lag),
            ("session-wait", &self.load.session_wait),
        ];
        self.write_log(&dir.join("response.hdr"), &histograms)
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

    /// An HdrHistogram interval log with one tag for each time, values in nanoseconds.
    fn write_log(&self, path: &Path, histograms: &[(&str, &Histogram<u64>)]) -> Result<(), StoreError> {
        let failed = |text: String| StoreError::Histogram { path: path.to_owned(), text };
        let mut bytes = Vec::new();
        let mut serializer = V2DeflateSerializer::new();
        let mut log = IntervalLogWriterBuilder::new()
            .add_comment("Evenkeel; values in nanoseconds")
            .begin_log_with(&mut bytes, &mut serializer)
            .map_err(|error| failed(error.to_string()))?;
        for (name, histogram) in histograms {
            let tag = hdrhistogram::serialization::interval_log::Tag::new(name)
                .ok_or_else(|| failed(format!("{name} is not a tag")))?;
            log.write_histogram(histogram, Duration::ZERO, self.load.measured.into(), Some(tag))
                .map_err(|error| failed(format!("{error:?}")))?;
        }
        fs::write(path, &bytes).map_err(StoreError::io("write", path))
    }
}

pub(crate) fn write_text(path: &Path, text: &str) -> Result<(), StoreError> {
    fs::write(path, text).map_err(StoreError::io("write", path))
}
