//! `evenkeel study telecom`: its settings, and the plan that they make.

use super::flags::Args;
use super::keys;
use crate::command::Session;
use crate::failure::WithHint;
use crate::format;
use crate::study::published;
use anyhow::{Context, Result, anyhow};
use clap::value_parser;
use evenkeel_os::free_bytes;
use evenkeel_sense::Machine;
use evenkeel_study::harness::{Part, Plan};
use evenkeel_study::telecom::parts::parts;
use evenkeel_study::telecom::record::{DEFAULT_RECORDS, MachineRecord, QUICK_RECORDS, Setting};
use evenkeel_study::telecom::time;

pub use evenkeel_study::telecom::{NAME, QUESTION};

/// Numbers of records have ten digits.
const RECORDS_MAX: u64 = 1_000_000_000;
/// As published.
const DAYS: u32 = 3;

/// Synthetic call records of three days on a private server: exported, loaded (InnoDB untuned and tuned, MyISAM, Aria; indexes
/// before and after), cut by a server that is killed, dispatched to a table for each day, and the whole chain with and without
/// separators from the source. Every load is audited, record by record. Each figure is shown beside the published one.
#[derive(Debug, clap::Parser)]
#[command(after_help = "\
Examples:
  evenkeel study telecom
      about 20 minutes on two cores
  evenkeel study telecom --quick
      a rough look within three minutes, one run of each
  evenkeel study telecom records=1000000 parts=load,crash
  evenkeel study telecom records=70000000 --repeats 1
      the published size: it takes days, and says how many before it begins")]
pub struct Settings {
    /// Records of a day [default: 100000; --quick: 10000; published: 70000000]
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1_000..=RECORDS_MAX))]
    records: Option<u64>,
    /// Only these parts: export, load, crash, dispatch, days
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    parts: Vec<String>,
    /// Seed of records and order
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// The plan that the settings make, and how long it takes.
pub fn plan(session: &Session, args: &Args) -> Result<(Plan, String)> {
    let of: Settings = keys::read(NAME, &args.settings)?;
    let records = of.records.unwrap_or(if args.quick { QUICK_RECORDS } else { DEFAULT_RECORDS });
    let setting = Setting {
        records,
        days: DAYS,
        pool_mib: Setting::pool_for(records, Machine::read(None).memory_bytes),
        place: MachineRecord::here(None),
    };
    let all = parts(&setting, args.repeats.unwrap_or(if args.quick { 1 } else { 3 }));
    let parts = keys::chosen(&of.parts, all, |part| part.name.as_str(), "")?;
    check_space(session, &setting)?;
    let plan = published::plan(NAME, of.seed, parts, &setting)?;
    let before = before(&plan, &setting);
    Ok((plan, before))
}

/// How much it will be, and how long it will take.
fn before(plan: &Plan, setting: &Setting) -> String {
    let runs: usize = plan.parts.iter().map(Part::runs).sum();
    let lasts = published::lasts(time::whole_s(setting, &plan.parts));
    format!(
        "{} of {DAYS} days with {} records each: about {lasts} on two cores, and up to {} of disk\n",
        format::counted(runs, "run"),
        format::count(setting.records),
        format::bytes(setting.disk_bytes())
    )
}

/// A disk that fills up in the middle of the night is known in the evening.
fn check_space(session: &Session, setting: &Setting) -> Result<()> {
    std::fs::create_dir_all(&session.home).with_context(|| format!("making {}", session.home.display()))?;
    let doing = || format!("asking how much room {} has", session.home.display());
    let (free, needs) = (free_bytes(&session.home).with_context(doing)?, setting.disk_bytes());
    if free < needs {
        let text = format!(
            "{} has {} free, and {} records of {DAYS} days need up to {}",
            session.home.display(),
            format::bytes(free),
            format::count(setting.records),
            format::bytes(needs)
        );
        return Err(anyhow!(text)).hint("take fewer records, or another --home");
    }
    Ok(())
}
