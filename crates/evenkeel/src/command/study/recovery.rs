//! `evenkeel study recovery`: its settings, and the plan that they make.

use super::keys;
use super::keys::Args;
use crate::command::Session;
use crate::study::published;
use anyhow::Result;
use clap::value_parser;
use evenkeel_study::harness::Plan;
use evenkeel_study::published::MachineRecord;
use evenkeel_study::recovery::record::{Setting, parts};
pub use evenkeel_study::recovery::{NAME, QUESTION};
use std::path::PathBuf;

/// Recoveries by each method of backup and failovers by each fault, on private servers, with an account of every acknowledged write;
/// beside what the telecom study found.
#[derive(Debug, clap::Parser)]
#[command(after_help = "\
Examples:
  evenkeel study recovery
      about 25 minutes; a snapshot, a cut network and a full disk need root
  evenkeel study recovery --quick
      a rough look within three minutes, one run of each
  evenkeel study recovery parts=failover --repeats 10")]
pub struct Settings {
    /// Only these parts: recovery, failover
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    parts: Vec<String>,
    /// Writes per second
    #[arg(long, value_name = "N", default_value_t = 200)]
    rate: u32,
    /// Data before the load begins, MiB [default: 64; --quick: 8]
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..=1_000_000))]
    megabytes: Option<u64>,
    /// Server program, as a path; the system's if not given
    #[arg(long, value_name = "FILE")]
    server_binary: Option<PathBuf>,
    /// Seed of writes and instants
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// The plan that the settings make.
pub fn plan(_: &Session, args: &Args) -> Result<Plan> {
    let of: Settings = keys::read(NAME, &args.settings)?;
    let setting = Setting {
        rate: of.rate.max(1).into(),
        megabytes: of.megabytes.unwrap_or(if args.quick { 8 } else { 64 }),
        place: MachineRecord::here(of.server_binary.as_deref()),
    };
    let all = parts(&setting, args.repeats.unwrap_or(if args.quick { 1 } else { 3 }), args.quick);
    let parts = keys::chosen(&of.parts, all, |part| part.name.as_str(), "")?;
    published::plan(NAME, of.seed, parts, &setting)
}
