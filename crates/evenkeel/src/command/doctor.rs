//! `evenkeel doctor`: what this machine allows, and what is lost without it.

use super::Session;
use crate::doctor::{self, Finding};
use crate::out;
use anyhow::Result;
use serde_json::{Value, json};
use std::process::ExitCode;

/// Flags of `evenkeel doctor`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  evenkeel doctor
  sudo evenkeel doctor    as root it may see more: what counts is the user who measures

Each thing is tried as the commands use it, for two seconds in all, and nothing is left behind. A line says what there is, and
where it is less than could be, what is lost without it and what to do. Nothing here is needed by all commands, so that the
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
        true => out::line(serde_json::to_string_pretty(&findings.iter().map(as_json).collect::<Vec<_>>())?)?,
        false => out::write(&doctor::text(&findings))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn as_json(finding: &Finding) -> Value {
    let Finding { name, state, seen, lost, remedy } = finding;
    json!({ "name": name, "state": state.to_string(), "seen": seen, "lost": lost, "remedy": remedy })
}
