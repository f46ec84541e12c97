//! `evenkeel drill check`.

use super::common::server;
use crate::command::Session;
use crate::config::units;
use crate::failure::FINDING;
use crate::{format, out};
use anyhow::Result;
use evenkeel_haul::drill::{Risk, check};
use evenkeel_site::server::Control;
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Nothing is changed. What is looked at: accounts that bypass read_only, tables without a primary key or without transactions, settings
with which a power cut loses commits, binary logs that are missing, lie with the data or are removed before the next backup, and a
wait point of semi-synchronous replication that shows what it may lose. The account needs SELECT on the tables to see them. SET GLOBAL
lasts until the next restart: change the option file too.

Examples:
  evenkeel drill check mysql://root@db1
  evenkeel drill check mysql://root@db1 --backup-every 168h --json

Exit codes: 0 nothing was found; 1 something was; 2 wrong use, or a server that does not answer.")]
pub struct Args {
    /// Server, as mysql://user@host:port or sandbox:NAME
    #[arg(value_name = "URL")]
    pub target: String,
    /// Time between two backups
    #[arg(long, value_name = "TIME", default_value = "24h")]
    pub backup_every: String,
    /// Print what was found as JSON
    #[arg(long)]
    pub json: bool,
}

/// Looks, and prints each risk with its fix.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let every = units::positive(&args.backup_every, "--backup-every")?;
    let target = server(session, &args.target)?;
    let mut control = Control::connect_until(&target, &session.stop)?;
    let found = check(&mut control, every.as_secs_f64().ceil() as u64)?;
    out::answer(args.json, &found, || out::write(&text(&found)))?;
    Ok(if found.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(FINDING) })
}

fn text(found: &[Risk]) -> String {
    if found.is_empty() {
        return "no risk was found\n".to_owned();
    }
    let lines: String = found.iter().map(|risk| format!("{}\n  fix: {}\n", risk.risk, risk.fix)).collect();
    format!("{lines}{}\n", format::counted(found.len(), "risk"))
}
