//! A mean as the files have it: null where nothing was measured.

use super::summary::EstimateRecord;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
pub(super) struct EstimateInFile {
    n: u32,
    mean: Option<f64>,
    se: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_of_nothing_is_null_in_a_file_and_comes_back_as_nothing() {
        let text = serde_json::to_string(&EstimateRecord::default()).unwrap();
        assert_eq!(text, r#"{"n":0,"mean":null,"se":null,"low":null,"high":null}"#);
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
        // Files of earlier versions have a zero there.
        let before = r#"{"n":0,"mean":0.0,"se":null,"low":null,"high":null}"#;
        assert_eq!(serde_json::from_str::<EstimateRecord>(before).unwrap(), EstimateRecord::default());
    }
}
