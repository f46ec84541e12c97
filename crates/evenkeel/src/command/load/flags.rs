//! Flags of `evenkeel load`.

use std::path::PathBuf;

/// Flags of `evenkeel load`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  evenkeel load sandbox:demo --workload tpcw.shopping --clients 50 --duration 60s
      closed clients (browsers) that think 7 s between two pages, as TPC-W defines
  evenkeel load sandbox:demo --workload tpcw.simple --clients 8 --think 0s
  evenkeel load sandbox:demo --workload tpcw.complex --rate 200
  evenkeel load sandbox:demo --workload dvdstore --clients 32 --think 10s --duration 2m
      closed clients that place orders, with orders per minute; or --rate 20: 20 new orders per second
  evenkeel load sandbox:demo --workload tpcw.complex --rate 200 --request-log requests.csv.zst

Exit codes: 0 done; 1 most requests failed, or none was answered (the first line says
why); 2 wrong use, no server, or it ended during the load; 3 the measurement is not
valid, or no request arrived; 130, 143 stopped by Ctrl-C, SIGTERM, with the figures of
the time measured.")]
pub struct Args {
    /// Server, as mysql://user@host:port/database or sandbox:NAME
    #[arg(value_name = "URL")]
    pub target: String,
    /// TPC-W statement or mix by name, `dvdstore`, or a file of your own (.toml, .sql)
    #[arg(long, short, value_name = "NAME|FILE", default_value = "tpcw.complex")]
    pub workload: String,
    /// How requests arrive
    #[command(flatten)]
    pub arrivals: Arrivals,
    /// Think time of closed clients [default: the mix's own, none for a statement]
    #[arg(long, value_name = "TIME", requires = "clients")]
    pub think: Option<String>,
    /// How long the load is measured
    #[arg(long, short, value_name = "TIME", default_value = "30s")]
    pub duration: String,
    /// Load before measuring begins
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub warm_up: String,
    /// Age at which a request is given up
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub timeout: String,
    /// Allow a workload of your own to write or lock on a server given by URL: INSERT, UPDATE, CALL, SELECT ... FOR UPDATE,
    /// stored functions. Private servers do not need it, nor do workloads named without a file
    #[arg(long)]
    pub allow_writes: bool,
    /// Maximum number of connections; --clients share them if there are fewer [default: one for each of --clients, otherwise as many as
    /// max_connections and the open-file limit allow, at most 1,000; with a URL a quarter of the free connections]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub max_sessions: Option<u32>,
    /// Use a new connection for each request instead of a pool
    #[arg(long)]
    pub per_request: bool,
    /// Send statements as text with their parameters instead of preparing them
    #[arg(long)]
    pub text: bool,
    /// Seed of arrivals and parameters
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// CPUs for the load threads
    #[arg(long, value_name = "LIST")]
    pub generator_cpus: Option<String>,
    /// Poll instead of sleeping: each load thread uses a whole CPU, but has no wake-up delay. Give it CPUs that the server does
    /// not use by --generator-cpus
    #[arg(long)]
    pub busy_poll: bool,
    /// File with one line per request (CSV, compressed with zstd). Times count from the start of the measurement, which --json
    /// gives on CLOCK_MONOTONIC
    #[arg(long, value_name = "FILE")]
    pub request_log: Option<PathBuf>,
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
}

/// How requests arrive.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub struct Arrivals {
    /// Independent (Poisson) arrivals per second
    #[arg(long, value_name = "RATE", allow_hyphen_values = true)]
    pub rate: Option<f64>,
    /// Evenly spaced arrivals per second
    #[arg(long, value_name = "RATE", allow_hyphen_values = true)]
    pub constant: Option<f64>,
    /// Number of closed clients, each of which waits for its answer
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub clients: Option<u32>,
}
