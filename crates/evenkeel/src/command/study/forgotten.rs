//! `evenkeel study forgotten`: its settings, and the plan that they make.

use super::keys;
use super::keys::Args;
use crate::command::Session;
use crate::study::published;
use anyhow::Result;
pub use evenkeel_study::forgotten::{NAME, QUESTION};
use evenkeel_study::forgotten::{Setting, parts};
use evenkeel_study::harness::Plan;
use evenkeel_study::published::MachineRecord;

/// A queue of 1,000 jobs on a private server: its rows move within their index while a transaction is open that somebody forgot, or
/// none, and the index is scanned.
#[derive(Debug, clap::Parser)]
#[command(after_help = "\
Examples:
  evenkeel study forgotten
      five runs of each, about three minutes
  evenkeel study forgotten --quick
      one run of each, half a minute")]
pub struct Settings {
    /// Seed of the order
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// The plan that the settings make.
pub fn plan(_: &Session, args: &Args) -> Result<Plan> {
    let of: Settings = keys::read(NAME, &args.settings)?;
    let repeats = args.repeats.unwrap_or(if args.quick { 1 } else { 5 });
    published::plan(NAME, of.seed, parts(repeats), &Setting { place: MachineRecord::here(None) })
}
