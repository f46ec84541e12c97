//! `evenkeel study shares`: the published experiments of hosts that share storage, on the virtual clock or in real time.

use super::keys;
use super::keys::Args;
use crate::command::Session;
use crate::study::published;
use anyhow::{Result, bail};
use clap::ArgAction;
use clap::builder::BoolishValueParser;
use evenkeel_core::share::experiment::experiments;
use evenkeel_study::harness::Plan;
pub use evenkeel_study::shares::{NAME, QUESTION};
use evenkeel_study::shares::{PUBLISHED_S, Setting, parts};

/// In real time a window is set so often unless said otherwise: a quarter of the published one, so that two hours become half
/// an hour.
const LIVE_S: f64 = 0.5;

/// The published experiments of hosts that share storage, simulated, so that this machine has no influence on the figures. With
/// live=yes each host is a process, `evenkeel share disk`, with fio as its clients, and all use one simulated array. Periods and
/// all times are then a quarter of the published ones, unless period= is given: half an hour for all.
#[derive(Debug, clap::Parser)]
#[command(after_help = "\
Examples:
  evenkeel study shares
  evenkeel study shares period=500ms seed=7
  evenkeel study shares live=yes experiments=table-3,figure-8")]
pub struct Settings {
    /// In real time, with fio as the clients
    #[arg(long, value_name = "yes|no", default_value = "no", action = ArgAction::Set, value_parser = BoolishValueParser::new())]
    live: bool,
    /// Only these experiments, by name
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    experiments: Vec<String>,
    /// Time from one window to the next [default: 2s, live 500ms]
    #[arg(long, value_name = "TIME", value_parser = keys::time)]
    period: Option<f64>,
    /// Seed of the array and the clients
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// The plan that the settings make.
pub fn plan(_: &Session, args: &Args) -> Result<Plan> {
    let of: Settings = keys::read(NAME, &args.settings)?;
    let (usual_s, least_s) = if of.live { (LIVE_S, 0.2) } else { (PUBLISHED_S, 0.05) };
    let period_s = of.period.unwrap_or(usual_s);
    if !(least_s..=10.0).contains(&period_s) {
        bail!("period= is between {:.0}ms and 10s, not {period_s} s", 1e3 * least_s);
    }
    let setting = Setting { period_s, live: of.live };
    let chosen = keys::chosen(&of.experiments, experiments(), |experiment| experiment.name, "")?;
    published::plan(NAME, of.seed, parts(&chosen, setting), &setting)
}
