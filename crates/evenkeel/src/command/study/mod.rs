//! `evenkeel study`: published studies, made again on this machine, with a page that puts both findings side by side.

mod shares;
mod throttling;

use super::Session;
use crate::failure::WithHint;
use crate::out;
use anyhow::{Result, anyhow};
use std::process::ExitCode;

/// Flags of `evenkeel study`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  evenkeel study --list
  evenkeel study throttling --quick
  evenkeel study throttling --clients 1,4,16,64,256 --repeats 5 --duration 30s
  evenkeel study throttling --resume last
  evenkeel study shares")]
pub struct Args {
    /// Name the studies that there are
    #[arg(long, exclusive = true)]
    list: bool,
    /// Which study
    #[command(subcommand)]
    study: Option<Study>,
}

#[derive(Debug, clap::Subcommand)]
enum Study {
    /// Throughput against the number of clients without control, with the published rule and with ours
    Throttling(Box<throttling::Args>),
    /// Hosts that share storage, by the published law and by ours: on the virtual clock, in real time, with databases
    Shares(Box<shares::Args>),
}

/// Name and content of each.
const STUDIES: [(&str, &str); 2] = [
    (
        "throttling",
        "does throughput fall beyond a peak as clients are added, and does a controller keep it there?",
    ),
    ("shares", "do hosts that share storage get their shares, and does its latency stay at a threshold?"),
];

/// Makes a study, or lists them.
///
/// # Errors
/// Wrong flags, a server that does not start, a disk that is full.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    match &args.study {
        Some(Study::Throttling(args)) => throttling::run(session, args),
        Some(Study::Shares(args)) => shares::run(session, args),
        None if args.list => {
            STUDIES.iter().try_for_each(|(name, words)| out::line(format!("{name:<12}{words}")))?;
            Ok(ExitCode::SUCCESS)
        }
        None => Err(anyhow!("nobody said which study")).hint("`evenkeel study --list` names them"),
    }
}
