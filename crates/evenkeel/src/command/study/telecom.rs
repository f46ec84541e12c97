//! `evenkeel study telecom`: its settings, and the plan that they make.

use super::keys;
use super::keys::Args;
use crate::command::Session;
use crate::failure::WithHint;
use crate::format;
use crate::study::published;
use anyhow::{Context, Result, anyhow};
use clap::value_parser;
use evenkeel_os::free_bytes;
use evenkeel_sense::Machine;
use evenkeel_study::harness::Plan;
use evenkeel_study::telecom::record::{CHANNELS, Setting, parts};
pub use evenkeel_study::telecom::{NAME, QUESTION};

/// As published.
const DAYS: u32 = 3;

/// Synthetic call records of three days on a private server: exported, loaded (InnoDB untuned and tuned, MyISAM, Aria; indexes
/// before and after), cut by a server that is killed, dispatched to a table for each day, and the whole chain with and without
/// separators from the source; and a log of statements with large and small results that 1 to 28 clients send. Every load is audited, record by record. Each figure is shown beside the published one.
#[derive(Debug, clap::Parser)]
#[command(after_help = "\
Examples:
  evenkeel study telecom
      half an hour or more on two cores
  evenkeel study telecom --quick
      a rough look within ten minutes, one run of each
  evenkeel study telecom records=1000000 parts=load,crash
  evenkeel study telecom records=70000000 --repeats 1
      the published size: it takes days, and says how many before it begins")]
pub struct Settings {
    /// Records of a day [default: 100000; --quick: 10000; published: 70000000]
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1_000..=1_000_000_000))]
    records: Option<u64>,
    /// Only these parts: export, load, crash, dispatch, days, replay, mixed, watched; and channels, which needs root and is made only
    /// where it is named
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    parts: Vec<String>,
    /// Seed of records and order
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// The plan that the settings make.
pub fn plan(session: &Session, args: &Args) -> Result<Plan> {
    let of: Settings = keys::read(NAME, &args.settings)?;
    let records = of.records.unwrap_or(if args.quick { 10_000 } else { 100_000 });
    let setting = Setting::here((records, DAYS), of.seed, Machine::read(None).memory_bytes);
    let all = parts(&setting, args.repeats.unwrap_or(if args.quick { 1 } else { 3 }));
    let mut parts = keys::chosen(&of.parts, all, |part| part.name.as_str(), "")?;
    if of.parts.is_empty() {
        parts.retain(|part| part.name != CHANNELS);
    }
    let home = session.home.display();
    std::fs::create_dir_all(&session.home).with_context(|| format!("making {home}"))?;
    let free = free_bytes(&session.home).with_context(|| format!("asking how much room {home} has"))?;
    if free < setting.disk_bytes() {
        let (free, needs) = (format::bytes(free), format::bytes(setting.disk_bytes()));
        let days = format!("{} records of {DAYS} days", format::count(records));
        return Err(anyhow!("{home} has {free} free, and {days} need up to {needs}"))
            .hint("take fewer records, or another --home");
    }
    published::plan(NAME, of.seed, parts, &setting)
}
