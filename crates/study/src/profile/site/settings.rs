//! What was set is read back, so that no level is measured that the server does not have.

use crate::profile::StudyError;
use evenkeel_os::stop::Stop;
use evenkeel_site::server::{Control, Target};
use std::collections::BTreeMap;

/// Refuses a server that has another value than was set. Options that are no variable cannot be read.
pub(super) fn check(
    target: &Target,
    settings: &BTreeMap<String, String>,
    stop: &Stop,
) -> Result<(), StudyError> {
    if settings.is_empty() {
        return Ok(());
    }
    let found = Control::connect_until(target, stop)?.variables()?;
    let differs = settings.iter().find_map(|(name, set)| {
        let found = found.get(&name.to_ascii_lowercase())?;
        (!is_same(set, found)).then(|| (name.clone(), set.clone(), found.clone()))
    });
    match differs {
        Some((name, set, found)) => Err(StudyError::NotSet { name, set, found }),
        None => Ok(()),
    }
}

/// Whether a server shows this for what was set: 64M as 67108864, 1 as ON, a switch as one of all switches.
fn is_same(set: &str, found: &str) -> bool {
    let found: Vec<&str> = found.split(',').collect();
    set.trim_matches(['\'', '"']).split(',').all(|part| found.iter().any(|own| is_one(part.trim(), own)))
}

fn is_one(set: &str, found: &str) -> bool {
    let word = |text: &str| match text.trim_end_matches('/').to_ascii_lowercase().as_str() {
        "on" | "true" | "1" | "yes" => "1".to_owned(),
        "off" | "false" | "0" | "no" => "0".to_owned(),
        other => other.to_owned(),
    };
    word(set) == word(found) || number(set).is_some_and(|set| number(found) == Some(set))
}

/// A number, perhaps with K, M, G or T.
fn number(text: &str) -> Option<f64> {
    let power = "KMGT".find(|unit| text.to_ascii_uppercase().ends_with(unit)).map_or(0, |at| at + 1);
    let digits = if power > 0 { &text[..text.len() - 1] } else { text };
    Some(digits.parse::<f64>().ok()? * 1024_f64.powi(power as i32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_shows_a_setting_in_its_own_way() {
        for (set, found, same) in [
            ("64M", "67108864", true),
            ("64M", "67108865", false),
            ("ON", "1", true),
            ("0", "OFF", true),
            ("0.5", "0.500000", true),
            ("/tmp", "/tmp/", true),
            ("", "", true),
            ("index_merge=off", "index_merge=off,mrr=on", true),
            ("ANSI,TRADITIONAL", "TRADITIONAL", false),
            ("100", "214", false),
        ] {
            assert_eq!(is_same(set, found), same, "{set} {found}");
        }
    }
}
