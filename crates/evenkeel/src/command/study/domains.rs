//! `evenkeel study domains`: its settings, and the plan that they make.

use super::keys;
use super::keys::Args;
use crate::command::Session;
use crate::config::units;
use crate::study::published;
use anyhow::{Result, bail};
pub use evenkeel_study::domains::{NAME, QUESTION};
use evenkeel_study::domains::{Setting, parts};
use evenkeel_study::harness::Plan;
use evenkeel_study::published::MachineRecord;
use std::path::PathBuf;

/// The published study of database servers in virtual machines: a server on the host and two in guests, which are domains with memory, a file
/// disk and a network of their own. All three share a CPU, as they did there; the clients run on the others. It needs root, loop devices,
/// iperf3, fio and mariadbd.
#[derive(Debug, clap::Parser)]
#[command(after_help = "\
Examples:
  evenkeel study domains --quick
      about 10 minutes: guests of 128 MB
  evenkeel study domains
      about two hours: guests of 256 MB, three runs of each
  evenkeel study domains parts=starve data=0.2
      only what a busy host leaves its guests")]
pub struct Settings {
    /// Memory of a guest; the host's server has 3.5 times as much, as published [default: 256M; --quick: 128M]
    #[arg(long, value_name = "SIZE", value_parser = memory)]
    memory: Option<u64>,
    /// Data of each server as a multiple of a guest's memory [default: 5; --quick: 2]
    #[arg(long, value_name = "N", value_parser = data)]
    data: Option<f64>,
    /// Length of each network, disk and busy-host measurement [default: 5s; --quick: 1s]
    #[arg(long, value_name = "TIME", value_parser = keys::long)]
    seconds: Option<f64>,
    /// Only these parts: machine, network, disk, flush, load, select, beside, starve
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    parts: Vec<String>,
    /// The mariadbd or mysqld of the servers [default: the system's mariadbd]
    #[arg(long, value_name = "FILE")]
    server_binary: Option<PathBuf>,
    /// Seed of rows and order
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

fn memory(text: &str) -> Result<u64> {
    match units::bytes(text)? {
        little if little < 64 << 20 => bail!("too little for a server, give it 64M or more"),
        bytes => Ok(bytes),
    }
}

fn data(text: &str) -> Result<f64> {
    match text.parse()? {
        times if (0.1..=1_000.0).contains(&times) => Ok(times),
        _ => bail!("not between 0.1 and 1000"),
    }
}

/// The plan that the settings make.
pub fn plan(_: &Session, args: &Args) -> Result<Plan> {
    let of: Settings = keys::read(NAME, &args.settings)?;
    let setting = Setting {
        memory: of.memory.unwrap_or(if args.quick { 128 << 20 } else { 256 << 20 }),
        data: of.data.unwrap_or(if args.quick { 2.0 } else { 5.0 }),
        seconds: of.seconds.unwrap_or(if args.quick { 1.0 } else { 5.0 }),
        place: MachineRecord::here(of.server_binary.as_deref()),
    };
    let all = parts(args.repeats.unwrap_or(if args.quick { 1 } else { 3 }));
    let parts = keys::chosen(&of.parts, all, |part| part.name.as_str(), "")?;
    published::plan(NAME, of.seed, parts, &setting)
}
