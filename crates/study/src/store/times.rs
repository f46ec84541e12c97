//! A distribution of times, which in a file is null where nothing was measured.

use serde::{Deserialize, Serialize};

/// A distribution of times, in milliseconds. Without values its times say nothing, least of all zero: [`Self::measured`]
/// keeps that apart, and so do files, where they are null.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "InFile", into = "InFile")]
pub struct TimesRecord {
    pub count: u64,
    /// Mean, in milliseconds.
    pub mean_ms: f64,
    /// Median, in milliseconds.
    pub p50_ms: f64,
    /// 90th percentile, in milliseconds.
    pub p90_ms: f64,
    /// 95th percentile, in milliseconds.
    pub p95_ms: f64,
    /// 99th percentile, in milliseconds.
    pub p99_ms: f64,
    /// 99.9th percentile, in milliseconds.
    pub p999_ms: f64,
    /// Largest value, in milliseconds.
    pub max_ms: f64,
}

impl TimesRecord {
    /// Itself where it has a value.
    pub fn measured(&self) -> Option<&Self> {
        (self.count > 0).then_some(self)
    }

    /// Mean in ms over so many requests, of which those without a value took no such time; `None` of no requests.
    pub fn mean_over_ms(&self, requests: u64) -> Option<f64> {
        (requests > 0).then(|| self.mean_ms * self.count as f64 / requests as f64)
    }
}

#[derive(Serialize, Deserialize)]
struct InFile {
    count: u64,
    mean_ms: Option<f64>,
    p50_ms: Option<f64>,
    p90_ms: Option<f64>,
    p95_ms: Option<f64>,
    p99_ms: Option<f64>,
    p999_ms: Option<f64>,
    max_ms: Option<f64>,
}

impl From<TimesRecord> for InFile {
    fn from(times: TimesRecord) -> Self {
        let of = |value| (times.count > 0).then_some(value);
        Self {
            count: times.count,
            mean_ms: of(times.mean_ms),
            p50_ms: of(times.p50_ms),
            p90_ms: of(times.p90_ms),
            p95_ms: of(times.p95_ms),
            p99_ms: of(times.p99_ms),
            p999_ms: of(times.p999_ms),
            max_ms: of(times.max_ms),
        }
    }
}

impl From<InFile> for TimesRecord {
    fn from(file: InFile) -> Self {
        let of = |value: Option<f64>| value.unwrap_or_default();
        Self {
            count: file.count,
            mean_ms: of(file.mean_ms),
            p50_ms: of(file.p50_ms),
            p90_ms: of(file.p90_ms),
            p95_ms: of(file.p95_ms),
            p99_ms: of(file.p99_ms),
            p999_ms: of(file.p999_ms),
            max_ms: of(file.max_ms),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_nothing_are_null_in_a_file_and_come_back_as_nothing() {
        let text = serde_json::to_string(&TimesRecord::default()).unwrap();
        assert!(text.contains(r#""count":0,"mean_ms":null"#) && !text.contains("0.0"), "{text}");
        assert_eq!(serde_json::from_str::<TimesRecord>(&text).unwrap().measured(), None);
        let some = TimesRecord { count: 3, mean_ms: 1.5, ..TimesRecord::default() };
        let text = serde_json::to_string(&some).unwrap();
        assert_eq!(serde_json::from_str::<TimesRecord>(&text).unwrap(), some);
    }

    #[test]
    fn a_mean_over_all_requests_counts_those_without_a_value() {
        let waits = TimesRecord { count: 2, mean_ms: 30.0, ..TimesRecord::default() };
        assert_eq!((waits.mean_over_ms(4), waits.mean_over_ms(0)), (Some(15.0), None));
        assert_eq!(TimesRecord::default().mean_over_ms(4), Some(0.0));
    }
}
