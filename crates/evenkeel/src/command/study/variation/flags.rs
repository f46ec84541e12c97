//! Flags of `evenkeel study variation`.

use evenkeel_lab::data::Via;
use evenkeel_study::variation::parts::COMPLEX_STATEMENT;
use std::path::PathBuf;

/// Flags of `evenkeel study variation`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  evenkeel study variation --quick
      two private servers, all parts of the published study in short, within 15 minutes on two cores
  evenkeel study variation
  evenkeel study variation --full
      20 runs of 180 s at each rate; the first line says how many hours
  evenkeel study variation sandbox:a sandbox:b --duet --rate 50 --starts 5 --runs 2 --duration 5s
      two servers get the same arrivals at the same instants: why do they differ?
  evenkeel study variation mysql://bench@db1/tpcw mysql://bench@db2/tpcw --rate 20,40 \\
      --reset 'mysql://bench@db1/tpcw=ssh db1 systemctl restart mariadb' \\
      --reset 'mysql://bench@db2/tpcw=ssh db2 systemctl restart mariadb'
  evenkeel study variation mysql://app@db1/shop mysql://app@db2/shop --workload orders.toml --rate 20,40
      why do two servers of your own differ, with your own statements?
  evenkeel study variation --parts rates --mu requests=5%
      the network's part from the server's own times instead of probes
  evenkeel study variation --resume last

Servers that should be alike are started several times, and each start has several runs. The variance is split into servers, \
starts, runs and requests, each with its interval. Then each suspect (network, disk, layout, plan, \
start, stolen CPU time, neighbours) is the cause, not the cause, or undecided, with one sentence of evidence. Without a URL \
private servers are started.

Exit codes: 0 done; 2 wrong use, no server, servers that are not alike, or one that died; 130, 143 stopped by Ctrl-C, SIGTERM: \
finished runs are kept (continue with --resume).")]
pub struct Args {
    /// Servers, as mysql://user@host:port/database or sandbox:NAME; the password comes from EVENKEEL_PASSWORD or ?defaults-file=
    #[arg(value_name = "URL")]
    pub targets: Vec<String>,
    /// Number of private servers, if no URL is given
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=16))]
    pub servers: u32,
    /// A short version within 15 minutes: runs of 3 s, three starts of two runs
    #[arg(long, conflicts_with = "full")]
    pub quick: bool,
    /// The published size: 20 runs of 180 s at ten rates
    #[arg(long)]
    pub full: bool,
    /// Statement or mix of TPC-W of the first part, or a file of your own (.toml, .sql), which the study keeps
    #[arg(long, short, value_name = "NAME|FILE", default_value = COMPLEX_STATEMENT)]
    pub workload: String,
    /// Arrival rates per second; only the first part is then measured [default: --load]
    #[arg(long, short, value_name = "LIST", value_delimiter = ',', conflicts_with = "load", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub rate: Vec<u32>,
    /// Rates in percent of what a private server carries, by a short first look [default: 30,60,85; --full: 10 to 100 by 10]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=200))]
    pub load: Vec<u32>,
    /// Starts of each server [default: 5, in other parts than the first 3; --quick: 3 and 2; --full: 10]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub starts: Option<u32>,
    /// Runs of each start
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub runs: u32,
    /// How the network delay is measured: by a small probe about once a second, or by requests=SHARE: the server reports how long
    /// it worked on that share of the requests (as in profile --mu)
    #[arg(long, value_name = "probe|requests=SHARE", default_value = "probe")]
    pub mu: String,
    /// Measured time of a run [default: 10s; --quick: 3s; --full: 180s]
    #[arg(long, value_name = "TIME")]
    pub duration: Option<String>,
    /// Load before measuring begins [default: 2s; --quick: 1s; --full: 10s]
    #[arg(long, value_name = "TIME")]
    pub warm_up: Option<String>,
    /// Age at which a request is given up; it then counts with the age it reached
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub timeout: String,
    /// Send all servers the same requests at the same instants, so that disturbances of the machine reach all of them alike
    #[arg(long)]
    pub duet: bool,
    /// How to restart a server of your own: its URL, =, and a shell command. EVENKEEL_TARGET and EVENKEEL_URL (without password) in
    /// its environment name the server. The command is kept with the study: put no password in it
    #[arg(long, value_name = "URL=COMMAND")]
    pub reset: Vec<String>,
    /// Let a workload of your own write, lock and call stored functions on servers named by URL, which may have other users
    #[arg(long)]
    pub allow_writes: bool,
    /// Measure servers even if they differ in settings or data
    #[arg(long)]
    pub may_differ: bool,
    /// Only these parts: rates, layout, pool, simple, class, write
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub parts: Vec<String>,
    /// Buffer pool of private servers, percent of the tables that --workload reads
    #[arg(long, value_name = "PERCENT", default_value_t = 20.0)]
    pub pool: f64,
    /// How rows are loaded into private servers: insert, script, aged, shuffled, load, dump
    #[arg(long, value_name = "WAY", default_value = "script")]
    pub via: Via,
    /// TPC-W NUM_EBS of private servers
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub ebs: u32,
    /// TPC-W NUM_ITEMS of private servers
    #[arg(long, value_name = "N", default_value_t = 40_000, value_parser = clap::value_parser!(u32).range(100..=10_000_000))]
    pub items: u32,
    /// A setting of private servers, for example innodb_flush_method=fsync
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// CPUs of private servers [default: all but the last; with --duet: all]
    #[arg(long, value_name = "LIST")]
    pub cpus: Option<String>,
    /// CPUs for the load threads [default with private servers: the last one; with --duet: any]
    #[arg(long, value_name = "LIST")]
    pub generator_cpus: Option<String>,
    /// Seed of arrivals, parameters, order and data
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// The server's program [default: mariadbd in PATH and the usual places]
    #[arg(long, value_name = "FILE")]
    pub server_binary: Option<PathBuf>,
    /// File for the page [default: report.html in the study's folder]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Continue a stopped study: its folder, its name or a prefix of it, or `last`
    #[arg(long, value_name = "STUDY")]
    pub resume: Option<String>,
    /// Results as JSON
    #[arg(long)]
    pub json: bool,
}
