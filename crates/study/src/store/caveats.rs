//! A caveat as it stands in a file and in JSON: that of core, field for field. Core derives no serde, so its form is
//! declared here; the compiler holds the two together.

use evenkeel_core::caveat::{Caveat, Severity};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::collections::BTreeMap;

#[derive(Serialize, Deserialize)]
#[serde(remote = "Severity", rename_all = "lowercase")]
enum SeverityInFile {
    Note,
    Doubt,
    Invalid,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Caveat")]
struct CaveatInFile {
    code: Cow<'static, str>,
    #[serde(with = "SeverityInFile")]
    severity: Severity,
    text: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    evidence: BTreeMap<String, f64>,
}

/// Caveats for [`serde_json::json`]: `[{"code", "severity", "text", "evidence"}]`, as they are stored.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(transparent)]
pub struct Caveats<'a>(#[serde(with = "self")] pub &'a [Caveat]);

/// Writes a list; for `#[serde(with)]`.
pub fn serialize<S: Serializer>(caveats: &[Caveat], out: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct One<'a>(#[serde(with = "CaveatInFile")] &'a Caveat);
    out.collect_seq(caveats.iter().map(One))
}

/// Reads a list; for `#[serde(with)]`.
pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Caveat>, D::Error> {
    #[derive(Deserialize)]
    struct One(#[serde(with = "CaveatInFile")] Caveat);
    Ok(Vec::<One>::deserialize(from)?.into_iter().map(|one| one.0).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_core::Nanos;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct File(#[serde(with = "super")] Vec<Caveat>);

    #[test]
    fn a_caveat_is_stored_with_its_evidence_and_read_back() {
        let late = Caveat::lag(Nanos::from_micros(210), Nanos::from_millis(2), true).unwrap();
        let text = serde_json::to_string(&File(vec![late.clone(), Caveat::not_reset()])).unwrap();
        for part in [
            "\"code\":\"lag-too-large\",\"severity\":\"invalid\",\"text\":\"The generator sent",
            "\"lag_mean_s\":0.00021",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert_eq!(text.matches("evidence").count(), 1, "there is none of what was not counted: {text}");
        assert_eq!(serde_json::from_str::<File>(&text).unwrap(), File(vec![late, Caveat::not_reset()]));
        assert_eq!(serde_json::to_string(&Caveats(&[])).unwrap(), "[]");
    }

    #[test]
    fn a_severity_that_nobody_knows_is_refused() {
        let text = r#"[{"code":"steal","severity":"dire","text":"A neighbour."}]"#;
        assert!(serde_json::from_str::<File>(text).is_err());
    }
}
