//! `evenkeel cdr watch`.

mod counts;
mod job;
mod line;
mod round;

use crate::command::Session;
use crate::config::units;
use anyhow::{Context, Result};
use evenkeel_haul::watch::Folder;
use std::path::PathBuf;
use std::process::ExitCode;

/// Flags of `evenkeel cdr watch`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  evenkeel cdr watch incoming mysql://app@db1/calls --layout calls.toml --table calls --by start
  evenkeel cdr watch incoming mysql://app@db1/calls --layout calls.toml --table calls --by start --keep 90d \\
      --metrics 127.0.0.1:9305
  evenkeel cdr watch incoming mysql://app@db1/calls --layout calls.toml --table calls --by start --pattern '*.cdr*' \\
      --done archive --set-aside bad --json
  evenkeel cdr watch incoming sandbox:demo --layout calls.toml --table calls --by start --once --settle 0s

Each file that appears is loaded as by `cdr load`, its records go to day tables as by `cdr dispatch`, and with --keep
day tables that are too old go as by `cdr retire`: a file after the other, by name, and a line for each. A file is taken
once it has not changed for --settle; names that begin with a dot or end with .part or .tmp are left alone. What is done
stands in the database (evenkeel_loads, evenkeel_dispatches), so that a restart, also after a kill, goes on where it was.

A file that cannot be loaded is named once, left or set aside, never deleted, and the next one is taken. A server that is
away is waited for. Of two that watch for the same table one waits while the other goes through a file.

Exit codes: with --once 0 done, 1 a file was refused or records stay in the source; 2 wrong use, or nothing can be done
as things are; 130, 143 stopped by Ctrl-C, SIGTERM.")]
pub struct Args {
    /// Folder in which files appear
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
    /// Server, as mysql://user@host:port/database, sandbox:NAME or sandbox:NAME/DATABASE (there: cdr, unless named)
    #[arg(value_name = "URL")]
    pub target: String,
    #[command(flatten)]
    pub job: job::JobFlags,
    /// Names of the files that are meant
    #[arg(long, value_name = "PATTERN", default_value = "*")]
    pub pattern: String,
    /// How long a file has to stay as it is before it is taken
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub settle: String,
    /// Take what is there and end
    #[arg(long)]
    pub once: bool,
    /// How long a server that is away is waited for; without it as long as it takes
    #[arg(long, value_name = "TIME")]
    pub wait: Option<String>,
    /// Folder for what is refused, with a file for each file that has rejects; TABLE.rejects, unless told otherwise
    #[arg(long, value_name = "DIR")]
    pub rejects: Option<PathBuf>,
    /// Folder of the same file system that files move to once they are done; without it they stay
    #[arg(long, value_name = "DIR")]
    pub done: Option<PathBuf>,
    /// Folder of the same file system that files move to which cannot be loaded; without it they stay
    #[arg(long, value_name = "DIR")]
    pub set_aside: Option<PathBuf>,
    /// Serve /metrics here for Prometheus, as 127.0.0.1:9305
    #[arg(long, value_name = "ADDR")]
    pub metrics: Option<String>,
    /// A line of JSON for each file
    #[arg(long)]
    pub json: bool,
}

/// Watches until it is stopped, or once.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let settle = units::duration(&args.settle).context("--settle")?;
    let wait = args.wait.as_deref().map(|text| units::positive(text, "--wait")).transpose()?;
    let folder = Folder::new(&args.folder, &args.pattern, settle)?;
    let layout = job::read_layout(&args.job)?;
    let target = super::server::target(session, &args.target)?;
    let chain = job::chain(session, args, &layout, &target)?;
    std::fs::create_dir_all(&chain.rejects)
        .with_context(|| format!("making the folder {} for rejects", chain.rejects.display()))?;
    round::Watch::new(session, args, (chain, folder), wait)?.run()
}
