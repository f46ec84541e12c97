//! `evenkeel doctor`: what this machine allows, and what is lost without it.

use super::Session;
use crate::doctor;
use crate::out;
use anyhow::Result;
use std::process::ExitCode;

/// Flags of `evenkeel doctor`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  evenkeel doctor
  sudo evenkeel doctor    as root it may find more; what counts is the user who measures

Each feature is tried as the commands use it. This takes two seconds in all and leaves nothing behind. A line says what this \
machine has and, if something is missing, what is lost without it and what to do. No feature is needed by all commands, so the \
exit code is 0 whatever is missing.")]
pub struct Args {
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
}

/// Tries everything and says what came of it.
///
/// # Errors
/// Nobody reads what is said.
pub fn run(_session: &Session, args: &Args) -> Result<ExitCode> {
    let findings = doctor::examine();
    match args.json {
        true => out::line(serde_json::to_string_pretty(&findings)?)?,
        false => out::write(&doctor::text(&findings))?,
    }
    Ok(ExitCode::SUCCESS)
}
