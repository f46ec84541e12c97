//! What stands for the network delay: `probe`, or `requests=5%`.

use super::units;
use crate::failure::WithHint;
use anyhow::{Context, Result, anyhow};
use evenkeel_lab::load::{PartsPlan, ToldBy};

const HOW: &str = "write --mu probe, or --mu requests=5% for that share of the requests";

/// Reads the text of `--mu`; `None` where the probe alone stands for it.
pub fn parse(text: &str, told_by: Option<ToldBy>) -> Result<Option<PartsPlan>> {
    let share = match text.trim().split_once('=') {
        None if text.trim() == "probe" => None,
        Some(("requests", share)) => Some(units::share(share).context("reading --mu").hint(HOW)?),
        _ => return Err(anyhow!("--mu {text:?} is neither the probe nor a share of the requests")).hint(HOW),
    };
    match (share, told_by) {
        (None, Some(_)) => Err(anyhow!("--mu-by has no meaning without --mu requests=SHARE")).hint(HOW),
        (None, None) => Ok(None),
        (Some(share), told_by) => {
            Ok(Some(PartsPlan { share, told_by: told_by.unwrap_or(ToldBy::Profiles), server_pid: None }))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_the_requests_is_asked_about_and_of_a_probe_none() {
        assert_eq!(parse("probe", None).unwrap(), None);
        let plan = parse("requests=5%", None).unwrap().unwrap();
        assert_eq!((plan.share, plan.told_by), (0.05, ToldBy::Profiles));
        let plan = parse("requests=100%", Some(ToldBy::PerformanceSchema)).unwrap().unwrap();
        assert_eq!((plan.share, plan.told_by), (1.0, ToldBy::PerformanceSchema));
    }

    #[test]
    fn nonsense_is_refused_with_what_to_write() {
        for text in ["", "requests", "requests=0%", "requests=101%", "probes=5%", "requests=some"] {
            let error = parse(text, None).unwrap_err();
            assert!(format!("{error:#}").contains("--mu"), "{text}: {error:#}");
        }
        assert!(parse("probe", Some(ToldBy::Profiles)).is_err());
    }
}
