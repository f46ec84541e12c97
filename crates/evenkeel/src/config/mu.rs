//! What stands for the network delay: `probe`, or `requests=5%`.

use super::units;
use crate::failure::WithHint;
use anyhow::{Context, Result, anyhow};
use evenkeel_lab::load::PartsPlan;

const HOW: &str = "write --mu probe, or --mu requests=5% for that share of the requests";

/// Reads the text of `--mu`; `None` where the probe alone stands for it.
pub fn parse(text: &str) -> Result<Option<PartsPlan>> {
    match text.trim().split_once('=') {
        None if text.trim() == "probe" => Ok(None),
        Some(("requests", share)) => {
            let share = units::share(share).context("reading --mu").hint(HOW)?;
            Ok(Some(PartsPlan { share, server_pid: None }))
        }
        _ => Err(anyhow!("--mu {text:?} is neither the probe nor a share of the requests")).hint(HOW),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_the_requests_is_asked_about_and_of_a_probe_none() {
        assert_eq!(parse("probe").unwrap(), None);
        assert_eq!(parse("requests=5%").unwrap().unwrap().share, 0.05);
    }

    #[test]
    fn nonsense_is_refused_with_what_to_write() {
        for text in ["", "requests", "requests=0%", "requests=101%", "probes=5%", "requests=some"] {
            let error = parse(text).unwrap_err();
            assert!(format!("{error:#}").contains("--mu"), "{text}: {error:#}");
        }
    }
}
