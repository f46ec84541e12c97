//! `evenkeel study databases`: its settings, and the plan that they make.

use super::keys;
use super::keys::Args;
use crate::command::Session;
use crate::study::published;
use anyhow::{Result, bail};
use clap::value_parser;
use evenkeel_core::share::experiment::Treatment;
use evenkeel_lab::data::dvdstore::Size;
use evenkeel_study::databases::record::Setting;
pub use evenkeel_study::databases::{NAME, QUESTION};
use evenkeel_study::databases::{needs, parts};
use evenkeel_study::harness::Plan;

/// Seconds between two windows.
const PERIOD_S: f64 = 0.5;
const SEED: u64 = 1;

/// Table 7 of the published study of shared storage with real databases: two MariaDB servers with a DVD Store each, on mounted
/// disks of two hosts over one simulated array, shares 1 and 4, threshold 15 ms. Their redo logs are on a second array without
/// limits. Clients order without think time: uncontrolled (each window fixed at its maximum), by the published law (parda), and by
/// ours. Each way starts from a copy of the same data. It needs root, /dev/fuse, loop devices and mariadbd.
#[derive(Debug, clap::Parser)]
#[command(after_help = "\
Examples:
  evenkeel study databases --repeats 3
      three rounds of 8 minutes; each has every way once, in another order
  evenkeel study databases --quick
      two minutes: one max window, a small store, too short for windows to settle")]
pub struct Settings {
    /// What sets the windows: uncontrolled, parda, evenkeel [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    ways: Vec<String>,
    /// Max windows of a host [default: 32,64; --quick: 32]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = value_parser!(u32).range(1..=4_096))]
    most: Vec<u32>,
    /// Closed clients of each store, without think time
    #[arg(long, value_name = "N", default_value_t = 48, value_parser = value_parser!(u32).range(1..=1_000))]
    clients: u32,
    /// Size of each store [default: 200MB; --quick: 100MB]
    #[arg(long, value_name = "SIZE")]
    size: Option<Size>,
    /// Measured time of a run [default: 40s; --quick: 8s]
    #[arg(long, value_name = "TIME", value_parser = keys::long)]
    duration: Option<f64>,
    /// Load before measuring begins [default: half of the measured time]
    #[arg(long, value_name = "TIME", value_parser = keys::time)]
    warm_up: Option<f64>,
}

/// The plan that the settings make.
pub fn plan(_: &Session, args: &Args) -> Result<Plan> {
    let of: Settings = keys::read(NAME, &args.settings)?;
    let duration_s = of.duration.unwrap_or(if args.quick { 8.0 } else { 40.0 });
    if duration_s < 4.0 * PERIOD_S {
        bail!("duration= is {duration_s} s, and with less than {} s windows do not move", 4.0 * PERIOD_S);
    }
    let setting = Setting {
        clients: of.clients,
        warm_up_s: of.warm_up.unwrap_or(duration_s / 2.0),
        duration_s,
        size: of.size.map_or_else(|| Size::new(if args.quick { 100 } else { 200 }), Ok)?.to_string(),
        period_s: PERIOD_S,
    };
    let mut most = match (of.most.as_slice(), args.quick) {
        ([], true) => vec![32],
        ([], false) => vec![32, 64],
        (asked, _) => asked.to_vec(),
    };
    most.sort_unstable();
    most.dedup();
    let ways = keys::chosen(&of.ways, Treatment::ALL.to_vec(), |way| way.name(), "")?;
    needs::check()?;
    let parts = parts(&setting, &most, &ways, args.repeats.unwrap_or(1));
    published::plan(NAME, SEED, parts, &setting)
}
