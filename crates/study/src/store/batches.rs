//! Batches of a run, as the files have them.

use evenkeel_core::Nanos;
use evenkeel_core::statistics::Spectrum;
use evenkeel_core::statistics::pooled::Batch;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A stretch of the measured phase, a twentieth of it, by scheduled arrival.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BatchRecord {
    pub arrivals: u64,
    /// Those that failed, timed out or were never sent.
    pub lost: u64,
    pub completed: u64,
    /// Sum of their response times; what failed is not in it, what timed out or was never sent at its age.
    pub response_sum_ms: f64,
    /// The same response times as a distribution: pairs `bucket:count` parted by blanks. Bucket `b` below 32 is that
    /// many ns; above, it begins at `(32 + b mod 32) 2^(b div 32 - 1)` ns and is `2^(b div 32 - 1)` ns wide.
    #[serde(serialize_with = "to_text", deserialize_with = "from_text")]
    pub responses: Spectrum,
}

impl From<&Batch> for BatchRecord {
    fn from(batch: &Batch) -> Self {
        Self {
            arrivals: batch.arrivals,
            lost: batch.lost,
            completed: batch.completed,
            response_sum_ms: batch.response_sum.as_millis_f64(),
            responses: batch.spectrum.clone(),
        }
    }
}

impl From<&BatchRecord> for Batch {
    fn from(record: &BatchRecord) -> Self {
        Self {
            arrivals: record.arrivals,
            lost: record.lost,
            completed: record.completed,
            response_sum: Nanos::from_secs_f64(record.response_sum_ms / 1e3),
            spectrum: record.responses.clone(),
        }
    }
}

fn to_text<S: Serializer>(spectrum: &Spectrum, serializer: S) -> Result<S::Ok, S::Error> {
    let pairs: Vec<String> =
        spectrum.pairs().iter().map(|(bucket, count)| format!("{bucket}:{count}")).collect();
    serializer.serialize_str(&pairs.join(" "))
}

fn from_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Spectrum, D::Error> {
    let text = String::deserialize(deserializer)?;
    let pair = |pair: &str| {
        let (bucket, count) = pair.split_once(':')?;
        Some((bucket.parse().ok()?, count.parse().ok()?))
    };
    let pairs: Option<Vec<(u16, u64)>> = text.split_whitespace().map(pair).collect();
    pairs.map(Spectrum::from_pairs).ok_or_else(|| D::Error::custom("responses are pairs of bucket:count"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_comes_back_from_its_file() {
        let batch = Batch {
            arrivals: 7,
            lost: 1,
            completed: 6,
            response_sum: Nanos(123_456_789),
            spectrum: Spectrum::from_pairs([(40, 2), (700, 4)]),
        };
        let text = serde_json::to_string(&BatchRecord::from(&batch)).unwrap();
        assert!(text.contains(r#""responses":"40:2 700:4""#), "{text}");
        let record: BatchRecord = serde_json::from_str(&text).unwrap();
        assert_eq!(Batch::from(&record), batch);
    }

    #[test]
    fn a_broken_distribution_is_an_error() {
        for text in ["40", "40:x", "x:2", "70000:1", "40:-1"] {
            let text = format!(
                r#"{{"arrivals":1,"lost":0,"completed":1,"response_sum_ms":1.0,"responses":"{text}"}}"#
            );
            assert!(serde_json::from_str::<BatchRecord>(&text).is_err(), "{text}");
        }
    }
}
