//! Flags of the study with databases, and the setting that they make.

use crate::config::units;
use crate::failure::WithHint;
use anyhow::{Context, Result, anyhow, bail};
use evenkeel_core::share::experiment::Treatment;
use evenkeel_lab::data::dvdstore::Size;
use evenkeel_study::databases::parts;
use evenkeel_study::databases::record::Setting;
use evenkeel_study::harness::Part;

/// Seconds between two windows unless said otherwise.
const PERIOD_S: f64 = 0.5;

/// Only with `--databases`.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Databases")]
pub struct Flags {
    /// Table 7 with two real databases: DVD stores on mounted disks over one simulated array (needs root)
    #[arg(long, conflicts_with_all = ["live", "experiments"])]
    pub databases: bool,
    /// Closed clients of each store, without think time
    #[arg(long, value_name = "N", default_value_t = 48, requires = "databases",
          value_parser = clap::value_parser!(u32).range(1..=1_000))]
    clients: u32,
    /// Measured time of a run [default: 40s; --quick: 8s]
    #[arg(long, short, value_name = "TIME", requires = "databases")]
    duration: Option<String>,
    /// Load before measuring begins [default: half of the measured time]
    #[arg(long, value_name = "TIME", requires = "databases")]
    warm_up: Option<String>,
    /// Size of each store [default: 200MB; --quick: 100MB]
    #[arg(long, value_name = "SIZE", requires = "databases")]
    size: Option<Size>,
    /// Number of rounds; each has every way once, in another order
    #[arg(long, value_name = "N", default_value_t = 1, requires = "databases",
          value_parser = clap::value_parser!(u32).range(1..=1_000))]
    rounds: u32,
    /// Max windows of a host [default: 32,64; --quick: 32]
    #[arg(long, value_name = "LIST", value_delimiter = ',', requires = "databases",
          value_parser = clap::value_parser!(u32).range(1..=4_096))]
    most: Vec<u32>,
    /// What sets the windows: uncontrolled, parda, evenkeel [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',', requires = "databases")]
    ways: Vec<String>,
    /// One max window, a small store, seconds instead of a minute: too short for windows to settle
    #[arg(long, requires = "databases")]
    quick: bool,
}

impl Flags {
    /// How the study is made.
    ///
    /// # Errors
    /// Names the flag and what to do.
    pub fn setting(&self, period: Option<&str>) -> Result<(Setting, Vec<Part>)> {
        let period_s = time(period, "--period", PERIOD_S)?;
        if !(0.2..=10.0).contains(&period_s) {
            bail!("--period must be between 200ms and 10s, and is {period_s} s");
        }
        let duration_s = time(self.duration.as_deref(), "--duration", if self.quick { 8.0 } else { 40.0 })?;
        if duration_s < 4.0 * period_s {
            return Err(anyhow!("--duration is {duration_s} s, and a window is set every {period_s} s"))
                .hint("measure at least four periods");
        }
        let size = self.size.map_or_else(|| Size::new(if self.quick { 100 } else { 200 }), Ok)?;
        let setting = Setting {
            clients: self.clients,
            warm_up_s: time(self.warm_up.as_deref(), "--warm-up", duration_s / 2.0)?,
            duration_s,
            size: size.to_string(),
            period_s,
        };
        let parts = parts(&setting, &self.most(), &self.ways()?, self.rounds);
        Ok((setting, parts))
    }

    fn most(&self) -> Vec<u32> {
        let mut most = match (self.most.as_slice(), self.quick) {
            ([], true) => vec![32],
            ([], false) => vec![32, 64],
            (asked, _) => asked.to_vec(),
        };
        most.sort_unstable();
        most.dedup();
        most
    }

    fn ways(&self) -> Result<Vec<Treatment>> {
        let names = Treatment::ALL.map(Treatment::name);
        if let Some(unknown) = self.ways.iter().find(|name| !names.contains(&name.as_str())) {
            return Err(anyhow!("there is no way {unknown:?} to set windows"))
                .hint(format!("they are {}", names.join(", ")));
        }
        let asked = |way: &Treatment| self.ways.is_empty() || self.ways.iter().any(|name| name == way.name());
        Ok(Treatment::ALL.into_iter().filter(asked).collect())
    }
}

fn time(text: Option<&str>, flag: &'static str, default_s: f64) -> Result<f64> {
    let read = text.map(units::duration).transpose().context(flag)?;
    Ok(read.map_or(default_s, |time| time.as_secs_f64()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        flags: Flags,
        #[arg(long)]
        live: bool,
        #[arg(long)]
        experiments: Option<String>,
    }

    fn setting(flags: &[&str]) -> Result<(Setting, Vec<Part>)> {
        let line = Line::try_parse_from([&["x", "--databases"], flags].concat())?;
        line.flags.setting(None)
    }

    #[test]
    fn a_quick_look_is_short_and_small() {
        let runs = |parts: &[Part]| parts.iter().map(Part::runs).sum::<usize>();
        let (whole, parts) = setting(&[]).unwrap();
        assert_eq!((whole.run_s(), whole.size.as_str(), runs(&parts)), (60.0, "200MB", 6));
        let (quick, parts) = setting(&["--quick", "--rounds", "2"]).unwrap();
        assert_eq!((quick.run_s(), quick.size.as_str(), runs(&parts)), (12.0, "100MB", 6));
    }

    #[test]
    fn ways_and_windows_are_those_asked_for_in_their_order() {
        let (_, parts) = setting(&["--ways", "evenkeel,uncontrolled", "--most", "64,16,64"]).unwrap();
        let names: Vec<&str> = parts.iter().map(|part| part.name.as_str()).collect();
        assert_eq!(names, ["most-16", "most-64"]);
        let ways: Vec<&str> = parts[0].factors[0].levels.iter().map(|level| level.name.as_str()).collect();
        assert_eq!(ways, ["uncontrolled", "evenkeel"]);
    }

    #[test]
    fn what_cannot_be_measured_is_refused() {
        for flags in [
            &["--ways", "none"][..],
            &["--duration", "1s"],
            &["--most", "0"],
            &["--size", "x"],
        ] {
            assert!(setting(flags).is_err(), "{flags:?}");
        }
        assert!(Line::try_parse_from(["x", "--rounds", "2"]).is_err(), "only with --databases");
        assert!(Line::try_parse_from(["x", "--databases", "--live"]).is_err());
    }
}
