//! `evenkeel profile`: sweep the arrival rate on a server.

use clap::ValueEnum;
use std::path::PathBuf;

/// Which process arrivals follow.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Arrivals {
    /// Independent arrivals
    Poisson,
    /// Evenly spaced arrivals
    Constant,
}

/// How statements travel.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ProtocolName {
    /// Prepared once per session
    Prepared,
    /// Text with the parameters written in
    Text,
}

/// Flags of `evenkeel profile`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  evenkeel profile
      a private MariaDB on all CPUs but one, TPC-W data, rates found by itself
  evenkeel profile mysql://bench@db1/tpcw --rate 10..:10 --repeats 20 --duration 180s
      the study's own settings; the password comes from EVENKEEL_PASSWORD or ?defaults-file=
  evenkeel profile --factor buffer-pool=20%..100% --factor layout=insert,dump --sandboxes 2
      why a profile differs from run to run and from machine to machine
  evenkeel profile --workload examples/workloads/orders.toml mysql://app@db1/shop --rate 100,200,400
  evenkeel profile --resume last
      go on where a stopped or killed study was

Without URL a private server is started (a sandbox) and stopped afterwards; its data is kept and used again.")]
pub struct Args {
    /// Servers, as mysql://user@host:port/database or sandbox:NAME; several are interleaved and compared
    #[arg(value_name = "URL")]
    pub targets: Vec<String>,
    /// TPC-W statement or mix by name, or a TOML file; `evenkeel explain --list` names them
    #[arg(long, short, value_name = "NAME|FILE", default_value = "tpcw.complex")]
    pub workload: String,
    /// Arrival rates per second: auto:N, FROM..TO:STEP (TO may be left out), or a list
    #[arg(long, short, value_name = "RATES", default_value = "auto:8")]
    pub rate: String,
    /// Runs of each cell
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeats: u32,
    /// Measured time of a run
    #[arg(long, short, value_name = "TIME", default_value = "10s")]
    pub duration: String,
    /// Load before measuring begins
    #[arg(long, value_name = "TIME", default_value = "3s")]
    pub warm_up: String,
    /// Age at which a request is given up; it then counts with the age it reached
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub timeout: String,
    /// A further factor: buffer-pool=20%..100% (of the statement's tables) or layout=insert,dump
    #[arg(long, value_name = "NAME=LEVELS")]
    pub factor: Vec<String>,
    /// Seed of arrivals, parameters, order and data; the same seed gives the same requests
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Which process arrivals follow
    #[arg(long, value_enum, default_value_t = Arrivals::Poisson)]
    pub arrivals: Arrivals,
    /// How statements travel
    #[arg(long, value_enum, default_value_t = ProtocolName::Prepared)]
    pub protocol: ProtocolName,
    /// Most connections in the pool
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub max_sessions: u32,
    /// A fresh connection for each request instead of a pool
    #[arg(long)]
    pub per_request: bool,
    /// Objective for the 95th percentile; the headline then names the highest rate that meets it
    #[arg(long, value_name = "TIME")]
    pub objective: Option<String>,
    /// CPU utilisation at which a sweep ends, percent
    #[arg(long, value_name = "PERCENT", default_value_t = 98.0)]
    pub theta_ceiling: f64,
    /// Do not restart the server (or restore the database) before each run
    #[arg(long)]
    pub no_reset: bool,
    /// Shell command that restarts or restores a server of yours before each run
    #[arg(long, value_name = "COMMAND", conflicts_with = "no_reset")]
    pub reset_command: Option<String>,
    /// CPUs for the load threads [default with a private server: the last one]
    #[arg(long, value_name = "LIST")]
    pub generator_cpus: Option<String>,
    /// Keep one line per request (CSV, compressed with zstd)
    #[arg(long)]
    pub request_log: bool,
    /// What the private server is like
    #[command(flatten)]
    pub server: super::sandbox::ServerArgs,
    /// Private servers to compare, each with its own data
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=16))]
    pub sandboxes: u32,
    /// What data the private server holds
    #[command(flatten)]
    pub data: super::data::DataArgs,
    /// Folder for studies [default: HOME/runs]
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Go on with a stopped study: its folder, its name or the start of it, or `last`
    #[arg(long, value_name = "STUDY")]
    pub resume: Option<String>,
    /// Write events as JSON lines to the error stream instead of a progress line
    #[arg(long)]
    pub json: bool,
}
