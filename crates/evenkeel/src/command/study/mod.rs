//! `evenkeel study`: published studies, made again on this machine, with a page that puts both findings side by side.

mod file;
mod program;
pub mod published;
mod shares;
mod throttling;

use super::Session;
use crate::failure::WithHint;
use crate::out;
use anyhow::{Result, anyhow};
use std::path::PathBuf;
use std::process::ExitCode;

/// Flags of `evenkeel study`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "\
Examples:
  evenkeel study --list
      which published studies can be made again here
  evenkeel study examples/studies/setting.toml
      a study of yours: does a setting matter? the file says what is changed, and how often
  evenkeel study --resume last
      go on with the study of a file that was stopped
  evenkeel study throttling --quick
      a published one, roughly
  evenkeel study throttling --clients 1,4,16,64,256 --repeats 5 --duration 30s
  evenkeel study throttling --resume last
  evenkeel study shares

Exit codes: 0 done; 2 wrong use, no server, or one that refuses a statement; 130, 143 stopped by Ctrl-C, SIGTERM, and \
what is finished is kept (go on by --resume). Of the study of a file also, as of a profile, 1 most requests of a rate \
failed, 3 not one bound can be given.")]
pub struct Args {
    /// Name the studies that there are
    #[arg(long, exclusive = true)]
    list: bool,
    /// A study of yours: which factors have which levels, what is asked, and what is compared; examples/studies shows every key
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Go on with the study of a file that was stopped: its folder, its name or the start of it, or `last`
    #[arg(long, value_name = "STUDY", conflicts_with = "file")]
    resume: Option<String>,
    /// Folder for studies of files [default: HOME/runs]
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Findings as JSON
    #[arg(long)]
    json: bool,
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
    let folder = file::Folder { output: args.output.as_ref(), json: args.json };
    if let Some(file) = &args.file {
        return file::start(session, file, &folder);
    }
    if let Some(name) = &args.resume {
        return file::resume(session, name, &folder);
    }
    match &args.study {
        Some(Study::Throttling(args)) => throttling::run(session, args),
        Some(Study::Shares(args)) => shares::run(session, args),
        None if args.list => {
            STUDIES.iter().try_for_each(|(name, words)| out::line(format!("{name:<12}{words}")))?;
            Ok(ExitCode::SUCCESS)
        }
        None => Err(anyhow!("nobody said which study")).hint("name a file of yours (examples/studies has three), or a published one: `evenkeel study --list` names them"),
    }
}
