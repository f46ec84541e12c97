//! Flags of `evenkeel profile`.

use crate::config::units;
use crate::server::data::DataArgs;
use crate::server::place::ServerArgs;
use anyhow::Result;
use evenkeel_sense::cpu::CpuOf;
use evenkeel_site::sandbox::CpuSet;
use std::path::PathBuf;

/// Flags of `evenkeel profile`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  evenkeel profile
      a private MariaDB on all CPUs but one, with TPC-W data; ten minutes of runs
  evenkeel profile mysql://bench@db1/tpcw --rate 10..:10 --repeats 20 --duration 180s
      as in the published study; the password comes from EVENKEEL_PASSWORD or ?defaults-file=
  evenkeel profile mysql://app@db1/shop --workload examples/workloads/orders.toml --rate 100,200
      statements of your own at rates that you name
  evenkeel profile --within 10m --until 5%
      until the bounds differ by at most 5 %, for ten minutes at most
  evenkeel profile mysql://app@db1/shop --workload orders.toml --sense-with 'ssh db1 evenkeel sense'
      the server's CPU use as measured on db1; with node_exporter there, use
      --sense-from http://db1:9100/metrics
  evenkeel profile --ebs 10 --set innodb_buffer_pool_size=16M --factor disk-iops=300,none
      is it the disk? the same server with a slow disk and without a limit
  evenkeel profile mysql://app@db1/shop --workload orders.toml --rate 100,200 --name before
      a named study; after the change measure --name after, then `evenkeel compare before after`
  evenkeel profile --resume last
      continue a stopped or killed study

A TIME is written as 500ms, 8s, 10m or 1h.

The first line says what the server carries at least and at most (95 % confidence), and, where other load \
took 5 % of its CPUs or more, what it would carry at least without it. The second line has the rate up to which p95 stays below a time: that of \
--objective, or p95 at the knee, if it has an upper bound there. Beyond the knee, response time grows faster \
than throughput. The third line has the CPU time of a request, the fourth says what is reliable. \
Runs are chosen one by one: for the bounds, and at 0.2 to 0.8 of what the server carries for the curve. Runs whose \
verdict depends on how late the load generator was are left out of the bounds and named.

Without a URL a private server (a sandbox) is started and stopped afterwards; its data is kept and used again.

Exit codes: 0 done; 1 most requests of a rate failed, or none was answered at any rate (the first line says why); \
2 wrong use, no server, or a server that refuses a statement; 3 all runs were made, but no bound is known: the first \
line says why, and more time (--within) or longer runs (--duration) usually help; 130, 143 stopped by Ctrl-C, SIGTERM: \
finished runs are kept (continue with --resume).")]
pub struct Args {
    /// Servers, as mysql://user@host:port/database, sandbox:NAME or sandbox:NAME/DATABASE; several are measured in
    /// turn and compared
    #[arg(value_name = "URL")]
    pub targets: Vec<String>,
    /// TPC-W statement or mix by name, `dvdstore`, or a file of your own (.toml, .sql); `evenkeel explain --list` names them
    #[arg(long, short, value_name = "NAME|FILE", default_value = "tpcw.complex")]
    pub workload: String,
    /// Arrival rates per second: auto:N, FROM..TO:STEP (TO may be left out), or a list [default: chosen run by
    /// run, see --within; with --repeats auto:8]
    #[arg(long, short, value_name = "RATES", allow_hyphen_values = true)]
    pub rate: Option<String>,
    /// Runs of each combination of rate and factors [default with --rate: 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeats: Option<u32>,
    /// Let Evenkeel choose rates and runs, and stop when the bounds differ by at most WIDTH, as 5%. Without --within there is no
    /// time limit
    #[arg(long, value_name = "WIDTH", conflicts_with_all = ["rate", "repeats", "whole_sweep", "retries"])]
    pub until: Option<String>,
    /// Let Evenkeel choose rates and runs, and stop after TIME, setup included; with --until, stop at whichever comes first [default without --until and a list of --rate: 10m for each server at each combination of factors]
    #[arg(long, value_name = "TIME", conflicts_with_all = ["rate", "repeats", "whole_sweep", "retries"])]
    pub within: Option<String>,
    /// Measured time of a run; at low rates longer, for 130 requests [default: 10s; near saturation up to 40s with --rate, or --until alone]
    #[arg(long, short, value_name = "TIME")]
    pub duration: Option<String>,
    /// Load before measuring begins; it starts with few requests, so that a cold cache builds no queue
    #[arg(long, value_name = "TIME", default_value = "3s")]
    pub warm_up: String,
    /// Age at which a request is given up; it then counts with the age it reached
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub timeout: String,
    /// A factor to vary: buffer-pool=20%..100% (of the statement's tables), layout=script,dump (insert, script,
    /// shuffled, load or dump), disk-iops=300,none, disk-rate=20M,none
    #[arg(long, value_name = "NAME=LEVELS")]
    pub factor: Vec<String>,
    /// Seed of arrivals, parameters, order and data; the same seed gives the same requests
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Allow a workload of your own to write or lock on a server given by URL: INSERT, UPDATE, CALL, SELECT ... FOR UPDATE,
    /// stored functions. Private servers do not need it, nor do workloads named without a file
    #[arg(long)]
    pub allow_writes: bool,
    /// Maximum number of connections [default: as many as max_connections and the open-file limit allow, at most 1,000; with a URL a
    /// quarter of the free connections]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub max_sessions: Option<u32>,
    /// Use a new connection for each request instead of a pool
    #[arg(long)]
    pub per_request: bool,
    /// How the network delay is measured: by a small probe about once a second, or by requests=SHARE. Then the server is asked how
    /// long it worked on that share of the requests, which splits their response times into network, waking up and execution
    #[arg(long, value_name = "probe|requests=SHARE", default_value = "probe")]
    pub mu: String,
    /// Objective for the 95th percentile, as 100ms or p95=100ms; the headline then names the highest rate that meets it
    #[arg(long, value_name = "TIME")]
    pub objective: Option<String>,
    /// Measure every rate of a list or of auto:N, also above the rate at which response times do not settle or the
    /// server refuses connections
    #[arg(long)]
    pub whole_sweep: bool,
    /// How often a disturbed run is repeated at most: one with more than 2 % of the CPU time stolen, or more than 5 % used by
    /// others. The least disturbed attempt counts, whatever its response time [default with --rate: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=10))]
    pub retries: Option<u32>,
    /// Do not restart the server (or restore the database) before each run
    #[arg(long)]
    pub no_reset: bool,
    /// Shell command that restarts or restores a server of yours before each run. EVENKEEL_TARGET and EVENKEEL_URL (without
    /// password) in its environment name the server. The command is kept with the study: put no password in it
    #[arg(long, value_name = "COMMAND", conflicts_with = "no_reset")]
    pub reset_command: Option<String>,
    /// Command that reads the machine of a remote server: CPU use, CPU time per request and stolen time come from its output. It
    /// is run by the shell and ends with the study. Once for each URL; kept with the study: put no password in it
    #[arg(long, value_name = "COMMAND", conflicts_with = "sense_from")]
    pub sense_with: Vec<String>,
    /// Page of node_exporter on the machine of a remote server, http://HOST:9100/metrics: CPU use is then that of the whole
    /// machine. Once for each URL
    #[arg(long, value_name = "HTTP-URL")]
    pub sense_from: Vec<String>,
    /// CPUs for the load threads [default with a private server: the last one]
    #[arg(long, value_name = "LIST")]
    pub generator_cpus: Option<String>,
    /// Folder for studies [default: HOME/runs]
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Name of the study, as `compare`, `report` and other commands take it [default: time and workload]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Continue a stopped study with its own flags: its folder, its name or a prefix of it, or `last`. With --repeats it gets more
    /// runs of each cell
    #[arg(long, value_name = "STUDY")]
    pub resume: Option<String>,
    /// Write events as JSON lines to stderr instead of a progress line
    #[arg(long)]
    pub json: bool,
    /// Show all columns, even if the table is wider than 100 characters, and all doubts in full
    #[arg(long)]
    pub wide: bool,
    /// What the private server is like
    #[command(flatten)]
    pub server: ServerArgs,
    /// Private servers to compare, each with its own data
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=16))]
    pub sandboxes: u32,
    /// What data the private server holds
    #[command(flatten)]
    pub data: DataArgs,
}

/// CPUs of a private server, and of its generator: all that this process may use but the last, and the last. One CPU is shared.
pub fn split_cpus() -> (CpuSet, CpuSet) {
    let own: Vec<u32> = CpuOf::Process(std::process::id()).cpus().iter().flat_map(CpuSet::iter).collect();
    let own = if own.is_empty() { vec![0] } else { own };
    let others = own[..(own.len() - 1).max(1)].iter().copied().collect();
    (others, own.last().copied().into_iter().collect())
}

pub fn server_cpus(args: &Args) -> CpuSet {
    args.server.at.cpus.clone().unwrap_or_else(|| split_cpus().0)
}

/// CPUs of the load threads; none where they may run on any.
pub fn generator_cpus(args: &Args) -> Result<Vec<usize>> {
    match &args.generator_cpus {
        Some(text) => Ok(numbers(&units::machine_cpus(text, "--generator-cpus")?)),
        None if args.targets.is_empty() => Ok(numbers(&split_cpus().1)),
        None => Ok(Vec::new()),
    }
}

/// CPUs as the store has them.
pub fn numbers(cpus: &CpuSet) -> Vec<usize> {
    cpus.iter().map(|cpu| cpu as usize).collect()
}
