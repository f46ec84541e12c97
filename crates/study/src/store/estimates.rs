//! What `run.json` and `summary.json` have: means, null where nothing was measured, parts of response times, and batches of a run.

use evenkeel_core::Nanos;
use evenkeel_core::statistics::Spectrum;
use evenkeel_core::statistics::pooled::Batch;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A mean with its uncertainty: over runs, or where a run holds it, over what the run took of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "EstimateInFile", into = "EstimateInFile")]
pub struct EstimateRecord {
    pub n: u32,
    /// Mean; says nothing where `n` is zero, and is null in files then.
    pub mean: f64,
    /// Standard error; absent below two.
    pub se: Option<f64>,
    /// Lower end of the 95 % interval. Alone, without an upper end, it is a lower bound, and nothing is known of how much
    /// higher the figure is.
    pub low: Option<f64>,
    /// Upper end of the 95 % interval; absent where only a lower bound is known.
    pub high: Option<f64>,
    /// Degrees of freedom of the standard error; absent where there is none.
    pub degrees: Option<f64>,
}

impl EstimateRecord {
    /// What the figure is at least, where that is all that is known.
    pub fn at_least(&self) -> Option<f64> {
        self.low.filter(|low| self.high.is_none() && low.is_finite())
    }
}

#[derive(Serialize, Deserialize)]
struct EstimateInFile {
    n: u32,
    mean: Option<f64>,
    se: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    degrees: Option<f64>,
}

impl From<EstimateRecord> for EstimateInFile {
    fn from(estimate: EstimateRecord) -> Self {
        let EstimateRecord { n, mean, se, low, high, degrees } = estimate;
        Self { n, mean: (n > 0).then_some(mean), se, low, high, degrees }
    }
}

impl From<EstimateInFile> for EstimateRecord {
    fn from(estimate: EstimateInFile) -> Self {
        let EstimateInFile { n, mean, se, low, high, degrees } = estimate;
        // A mean that is no number is null in JSON.
        Self { n, mean: mean.unwrap_or(if n > 0 { f64::NAN } else { 0.0 }), se, low, high, degrees }
    }
}

/// The parts of the response times of some requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartsRecord {
    /// Share of the requests that was drawn, percent.
    pub share_percent: f64,
    pub drawn: u64,
    /// Of those, requests of which the server told how long it worked.
    pub told: u64,
    /// Means over these; absent where the server told of none.
    pub means: Option<PartMeansRecord>,
    /// What a drawn request took longer than one that was not drawn, ms, with its interval: requests are drawn by chance, so that nothing
    /// but the measuring makes the two differ. Absent where all or none were drawn.
    pub price_ms: Option<EstimateRecord>,
}

/// Parts of the mean response time, ms. The five add up to it; the waking of the server is a part of the network where it is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PartMeansRecord {
    /// Completion - arrival.
    pub response_ms: f64,
    /// What is no statement: dispatch lag, wait for a session, connecting, preparing.
    pub before_ms: f64,
    /// The way, both directions, with the sockets.
    pub network_ms: f64,
    /// From when an answer was there to when the generator's thread read it.
    pub waking_ms: f64,
    /// What the server's thread could have run and waited for a CPU; absent where the server runs elsewhere or does not name its threads.
    pub server_waking_ms: Option<f64>,
    /// What the server says that it worked.
    pub execution_ms: f64,
    /// What the question behind a request took; no part of its response time.
    pub question_ms: f64,
    /// Share of the answers of which the kernel noted when they came in, percent; of the others only the wait of the generator's thread
    /// for a CPU counts as waking.
    pub noted_percent: f64,
}

impl PartMeansRecord {
    /// Response less execution, without what came before: the study's network delay.
    pub fn mu_ms(&self) -> f64 {
        self.network_ms + self.waking_ms + self.server_waking_ms.unwrap_or(0.0)
    }
}

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
    fn a_mean_of_nothing_is_null_in_a_file_and_comes_back_as_nothing() {
        let text = serde_json::to_string(&EstimateRecord::default()).unwrap();
        assert_eq!(text, r#"{"n":0,"mean":null,"se":null,"low":null,"high":null,"degrees":null}"#);
        assert_eq!(serde_json::from_str::<EstimateRecord>(&text).unwrap(), EstimateRecord::default());
        let some = EstimateRecord {
            n: 3,
            mean: 1.5,
            se: Some(0.1),
            degrees: Some(2.0),
            ..EstimateRecord::default()
        };
        let text = serde_json::to_string(&some).unwrap();
        assert_eq!(serde_json::from_str::<EstimateRecord>(&text).unwrap(), some);
    }

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
