//! `evenkeel guard`: a proxy that lets only so many transactions run.

use super::Session;
use crate::config::units;
use crate::failure::WithHint;
use crate::out;
use anyhow::{Context, Result, anyhow};
use evenkeel_core::Nanos;
use evenkeel_gate::admission::Options;
use evenkeel_gate::guard::{Address, BackendTls, ClientTls, Guard, Plan, THREADS_MAX, TenantBy, TlsMode};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Threads by default, where there are as many CPUs as that makes sense for.
const CPUS_PER_THREAD: usize = 4;

/// Flags of `evenkeel guard`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  evenkeel guard --listen 127.0.0.1:3307 --backend 127.0.0.1:3306 --limit 8
  evenkeel guard --listen /run/evenkeel.sock --listen [::]:3307 --backend db1:3306
  evenkeel guard --listen 0.0.0.0:3307 --backend 127.0.0.1:3306 --tls required --tls-cert guard.pem --tls-key guard.key

Compression is negotiated away. Accounts that authenticate by a socket's system user (unix_socket,
auth_socket) are refused on a unix-socket backend.")]
pub struct Args {
    /// Where clients arrive: host:port, or the path of a socket; may be given several times
    #[arg(long, value_name = "ADDR", required = true)]
    pub listen: Vec<String>,
    /// The server: host:port, or the path of its socket
    #[arg(long, value_name = "ADDR")]
    pub backend: String,
    /// Most transactions that run at a time [default: no limit]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: Option<u32>,
    /// Threads that carry connections [default: 1 up to 4 CPUs, then one for each 4]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=THREADS_MAX as i64))]
    pub threads: Option<u16>,
    /// By what clients share the limit
    #[arg(long, value_name = "user|database", default_value = "user", value_parser = ["user", "database"])]
    pub tenants: String,
    /// Most sessions that may wait; others are refused [default: no bound]
    #[arg(long, value_name = "N")]
    pub queue_max: Option<usize>,
    /// Longest wait; then a command is refused [default: no bound]
    #[arg(long, value_name = "TIME")]
    pub wait_max: Option<String>,
    /// A user whose commands never wait; may be given several times
    #[arg(long, value_name = "USER")]
    pub admin: Vec<String>,
    /// TLS towards clients
    #[arg(long, value_name = "MODE", default_value = "preferred", value_parser = MODES)]
    pub tls: String,
    /// Certificate chain to show to clients (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// Key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// TLS towards the server; preferred: where the client has it too and the server offers it
    #[arg(long, value_name = "MODE", default_value = "preferred", value_parser = MODES)]
    pub backend_tls: String,
    /// Authorities that must have signed the server's certificate (PEM)
    #[arg(long, value_name = "FILE")]
    pub backend_tls_ca: Option<PathBuf>,
    /// Time for transactions to end after SIGTERM or Ctrl-C
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub drain: String,
}

const MODES: [&str; 3] = ["disabled", "preferred", "required"];

/// Runs until it is asked to stop.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let drain = units::duration(&args.drain).context("reading --drain")?;
    let guard = Guard::start(plan(args)?).hint("see `evenkeel guard --help`")?;
    if !session.quiet {
        let ports = guard.ports().iter().map(|port| format!(" (port {port})")).collect::<String>();
        out::line(format!("listening at {}{ports}, server {}", args.listen.join(", "), args.backend))?;
    }
    while !session.stop.is_set() && !guard.has_failed() {
        std::thread::sleep(Duration::from_millis(50));
    }
    guard.stop(drain)?;
    Ok(ExitCode::SUCCESS)
}

fn plan(args: &Args) -> Result<Plan> {
    let address = |text: &String| text.parse::<Address>().map_err(|error| anyhow!(error));
    let listen = args.listen.iter().map(address).collect::<Result<Vec<_>>>().context("reading --listen");
    let listen = listen.hint("for example 127.0.0.1:3307, or /run/evenkeel.sock")?;
    let backend = address(&args.backend).context("reading --backend");
    let backend = backend.hint("for example 127.0.0.1:3306, or /run/mysqld/mysqld.sock")?;
    let wait_max = args.wait_max.as_deref().map(units::duration).transpose().context("reading --wait-max")?;
    let options = Options { queue_max: args.queue_max, wait_max, ..Options::default() };
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let identity = args.tls_cert.clone().zip(args.tls_key.clone());
    Ok(Plan {
        listen,
        backend,
        threads: args.threads.map_or(cpus.div_ceil(CPUS_PER_THREAD).min(THREADS_MAX), usize::from),
        limit: args.limit.map_or(usize::MAX, |limit| limit as usize),
        options,
        tenants: if args.tenants == "database" { TenantBy::Database } else { TenantBy::User },
        administrators: args.admin.clone(),
        lend_after: Nanos::from_millis(100),
        client_tls: ClientTls { mode: mode(&args.tls), identity },
        backend_tls: BackendTls { mode: mode(&args.backend_tls), authorities: args.backend_tls_ca.clone() },
    })
}

fn mode(text: &str) -> TlsMode {
    match text {
        "disabled" => TlsMode::Disabled,
        "required" => TlsMode::Required,
        _ => TlsMode::Preferred,
    }
}
